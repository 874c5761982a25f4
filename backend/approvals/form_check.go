package approvals

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// id makes an item's id: its time, made distinct, so that a stale page never answers
// a question of a later run. It must be called with b.mu held.
func (b *Inbox) id(at time.Time) string {
	b.last++
	return strconv.FormatInt(at.UnixMicro(), 36) + "-" + strconv.Itoa(b.last)
}

// webAddress reports whether the user may be sent there: nothing but the web.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

// property is what we understand of one field of a form.
type property struct {
	Type  string `json:"type"`
	Enum  []any  `json:"enum"`
	OneOf []struct {
		Const any `json:"const"`
	} `json:"oneOf"`
}

// check says what of content does not fit the form. A form is an object of flat
// properties; what we do not understand of a schema is left to the server, which has
// to check the answer anyway.
func check(schema string, content []byte) []core.FieldError {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var values map[string]any
	if decoder.Decode(&values) != nil || values == nil || decoder.More() {
		return []core.FieldError{{Field: "content", Error: "must be an object"}}
	}
	var form struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if json.Unmarshal([]byte(schema), &form) != nil {
		return nil
	}
	var wrong []core.FieldError
	for _, name := range form.Required {
		if _, there := values[name]; !there {
			wrong = append(wrong, core.FieldError{Field: "content." + name, Error: "is required"})
		}
	}
	for name, p := range form.Properties {
		value, there := values[name]
		if there && !p.takes(value) {
			wrong = append(wrong, core.FieldError{Field: "content." + name, Error: "does not fit the form"})
		}
	}
	slices.SortFunc(wrong, func(a, b core.FieldError) int { return bytes.Compare([]byte(a.Field), []byte(b.Field)) })
	return wrong
}

func (p property) takes(value any) bool {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch p.Type {
	case "string":
		if !isText {
			return false
		}
	case "number":
		return isNumber
	case "integer":
		whole, err := number.Float64()
		return isNumber && err == nil && whole == float64(int64(whole))
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	}
	if len(p.Enum) > 0 {
		return slices.ContainsFunc(p.Enum, func(e any) bool { return e == any(text) })
	}
	if len(p.OneOf) > 0 {
		for _, option := range p.OneOf {
			if option.Const == any(text) {
				return true
			}
		}
		return false
	}
	return true
}
