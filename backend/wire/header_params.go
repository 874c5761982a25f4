package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// In the modern era, x-mcp-header in the input schema of a tool requires clients to repeat an
// argument in the header Mcp-Param-NAME, so that HTTP intermediaries can route by it.

// HeaderParam is an argument of a tool that is also sent as a header.
type HeaderParam struct {
	Path   []string // property names from the arguments object down
	Header string   // canonical form
}

var paramHeaderKey = []byte(`"x-mcp-header"`)

type headerSchema struct {
	Type       json.RawMessage            `json:"type"`
	Header     json.RawMessage            `json:"x-mcp-header"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// Limits for the schema of one tool.
const (
	maxHeaderParams     = 64
	maxHeaderParamDepth = 16
)

// HeaderParams returns the header parameters in a tool definition. If reason is not "", they
// are invalid and the tool must not be offered.
func HeaderParams(raw []byte) (list []HeaderParam, reason string) {
	if !bytes.Contains(raw, paramHeaderKey) {
		return nil, ""
	}
	var tool struct {
		InputSchema headerSchema `json:"inputSchema"`
	}
	if json.Unmarshal(raw, &tool) != nil {
		return nil, "" // not a schema with properties
	}
	seen := map[string]bool{}
	var walk func(properties map[string]json.RawMessage, path []string) string
	walk = func(properties map[string]json.RawMessage, path []string) string {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			var p headerSchema
			if json.Unmarshal(properties[name], &p) != nil {
				continue
			}
			at := append(path[:len(path):len(path)], name)
			if p.Header != nil {
				var header string
				switch kind := string(p.Type); {
				case kind != `"string"` && kind != `"integer"` && kind != `"boolean"`:
					return fmt.Sprintf("an x-mcp-header at %.100q, which is not a string, integer or boolean", strings.Join(at, "."))
				case json.Unmarshal(p.Header, &header) != nil || !isToken(header):
					return fmt.Sprintf("an x-mcp-header at %.100q that is not a valid header name", strings.Join(at, "."))
				case seen[strings.ToLower(header)]:
					return fmt.Sprintf("the x-mcp-header %.100q twice", header)
				case len(list) == maxHeaderParams:
					return fmt.Sprintf("more than %d x-mcp-header annotations", maxHeaderParams)
				}
				seen[strings.ToLower(header)] = true
				list = append(list, HeaderParam{at, http.CanonicalHeaderKey("Mcp-Param-" + header)})
			}
			if len(p.Properties) > 0 && len(at) < maxHeaderParamDepth {
				if reason := walk(p.Properties, at); reason != "" {
					return reason
				}
			}
		}
		return ""
	}
	if reason := walk(tool.InputSchema.Properties, nil); reason != "" {
		return nil, reason
	}
	return list, ""
}

// isToken reports whether name is a valid part of a header name (RFC 9110, token).
func isToken(name string) bool {
	return name != "" && len(name) <= 200 && strings.IndexFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	}) < 0
}

// Argument returns the argument as text. ok is false if it has no value that a header can hold; null
// counts as absent.
func (p HeaderParam) Argument(arguments json.RawMessage) (text string, ok bool) {
	switch v := p.argument(arguments).(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), true
		}
	}
	return "", false
}

// Matches reports whether a header with the value repeats the argument. An argument that a header
// cannot hold must have none.
func (p HeaderParam) Matches(arguments json.RawMessage, value string) bool {
	want, _ := p.Argument(arguments)
	text, ok := HeaderText(value)
	if number, isNumber := p.argument(arguments).(float64); isNumber && want != "" {
		given, err := strconv.ParseFloat(text, 64)
		return ok && err == nil && given == number
	}
	return ok && text == want
}

// argument returns the decoded argument, or nil.
func (p HeaderParam) argument(value json.RawMessage) any {
	for _, name := range p.Path {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil
		}
		value = object[name]
	}
	var v any
	_ = json.Unmarshal(value, &v)
	return v
}
