package approvals

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/exactjson"
)

// isWebURL reports whether text is an http or https URL without credentials, which is safe to
// open.
func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

// property holds the supported schema keywords of a form field.
type property struct {
	Type  string `json:"type"`
	Enum  []any  `json:"enum"`
	OneOf []struct {
		Const any `json:"const"`
	} `json:"oneOf"`
}

// validateForm validates content against the schema of a form, which is an object with flat
// properties, and returns the invalid fields. Unsupported keywords are left to the server, which
// has to validate the answer anyway.
func validateForm(schema string, content []byte) []core.FieldError {
	var values map[string]any
	if exactjson.Decode(content, &values) != nil || values == nil {
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
		if there && !p.accepts(value) {
			wrong = append(wrong, core.FieldError{Field: "content." + name, Error: "does not match the form"})
		}
	}
	slices.SortFunc(wrong, func(a, b core.FieldError) int { return bytes.Compare([]byte(a.Field), []byte(b.Field)) })
	return wrong
}

func (p property) accepts(value any) bool {
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
