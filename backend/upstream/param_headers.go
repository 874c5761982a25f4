package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// In the modern era, x-mcp-header in the input schema of a tool requires clients to repeat an
// argument in the header Mcp-Param-NAME, so that HTTP intermediaries can route by it.

// headerParam is an argument of a tool that is also sent as a header.
type headerParam struct {
	path   []string // property names from the arguments object down
	header string   // canonical form
}

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

// parseHeaderParams returns the header parameters in a tool definition. If reason is not "", they
// are invalid and the tool must not be offered.
func parseHeaderParams(raw []byte) (list []headerParam, reason string) {
	if !strings.Contains(string(raw), "x-mcp-header") {
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
				list = append(list, headerParam{at, http.CanonicalHeaderKey("Mcp-Param-" + header)})
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

// paramHeaders returns the Mcp-Param headers of a call, or nil.
func (c *Conn) paramHeaders(call *core.Call) http.Header {
	all := c.headerParams.Load()
	if all == nil || call.Method != "tools/call" {
		return nil
	}
	p, err := wire.ScanParams(call.Params)
	if err != nil {
		return nil
	}
	name, _ := wire.Unquote(wire.Bytes(call.Params, p.Name))
	list := (*all)[name]
	if len(list) == 0 {
		return nil
	}
	var params struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(call.Params, &params) != nil {
		return nil
	}
	header := http.Header{}
	for _, b := range list {
		if text, ok := headerArgument(params.Arguments, b.path); ok {
			header[b.header] = []string{wire.HeaderValue(text)}
		}
	}
	return header
}

// headerArgument returns the argument at path as a header value. null counts as absent.
func headerArgument(value json.RawMessage, path []string) (string, bool) {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return "", false
		}
		var there bool
		if value, there = object[name]; !there {
			return "", false
		}
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
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
