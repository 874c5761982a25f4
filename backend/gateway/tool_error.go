package gateway

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// ToolFailure is what a failed tool says of itself.
type ToolFailure struct {
	Text      string          // one text, with what kind of failure it is at its end
	Code      string          // the tool's own, or ""
	Retriable *bool           // nil when it says nothing
	Cause     json.RawMessage // the whole structuredContent, or nil

	suffix string // the end of Text that says what kind of failure it is, or ""
}

// excerptLength is how many characters of a raw result stand for a text that is not there.
const excerptLength = 2000

// FailureOf reads a tool result that is an error. Its sentence is what the structured
// content says: message, else a string error, else error.message, else detail; without
// one it is the text, and only where there is neither, the beginning of the raw result.
// Then comes a suffix such as (code=E_TIMEOUT retriable=false).
func FailureOf(result []byte) ToolFailure {
	var r struct {
		Content           []json.RawMessage          `json:"content"`
		StructuredContent json.RawMessage            `json:"structuredContent"`
		Fields            map[string]json.RawMessage `json:"-"`
	}
	_ = json.Unmarshal(result, &r)
	var f ToolFailure
	if s := r.StructuredContent; len(s) > 0 && string(s) != "null" {
		f.Cause = s
	}
	nested := map[string]json.RawMessage{}
	_ = json.Unmarshal(f.Cause, &r.Fields)
	_ = json.Unmarshal(r.Fields["error"], &nested)
	for _, candidate := range []json.RawMessage{r.Fields["message"], r.Fields["error"], nested["message"], r.Fields["detail"]} {
		if f.Text == "" {
			_ = json.Unmarshal(candidate, &f.Text)
			f.Text = strings.TrimSpace(f.Text)
		}
	}
	if f.Text == "" {
		f.Text = textOf(r.Content)
	}
	if f.Text == "" && f.Cause != nil {
		f.Text = excerpt(f.Cause)
	}
	if f.Text == "" {
		f.Text = excerpt(result)
	}
	f.Code = firstWord(r.Fields, nested, "code", "errorCode", "statusCode")
	f.Retriable = parseFlag(firstWord(r.Fields, nested, "retriable", "retryable"))
	var suffix []string
	if f.Code != "" {
		suffix = append(suffix, "code="+f.Code)
	}
	if f.Retriable != nil {
		suffix = append(suffix, "retriable="+map[bool]string{true: "true", false: "false"}[*f.Retriable])
	}
	if len(suffix) > 0 {
		f.suffix = " (" + strings.Join(suffix, " ") + ")"
		f.Text += f.suffix
	}
	return f
}

func textOf(content []json.RawMessage) string {
	var parts []string
	for _, raw := range content {
		var c struct{ Type, Text string }
		if json.Unmarshal(raw, &c) == nil && c.Type == "text" && strings.TrimSpace(c.Text) != "" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// firstWord is the first of names that is a text, a number or a boolean, in the
// structured content or in its error.
func firstWord(fields, nested map[string]json.RawMessage, names ...string) string {
	for _, from := range []map[string]json.RawMessage{fields, nested} {
		for _, name := range names {
			raw := from[name]
			if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
				continue
			}
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			if text = strings.TrimSpace(text); text != "" && len(text) <= 100 {
				return text
			}
		}
	}
	return ""
}

// parseFlag reads a flag as servers write it: true, "true", 1.
func parseFlag(word string) *bool {
	yes := false
	switch strings.ToLower(word) {
	case "true", "1", "yes":
		yes = true
	case "false", "0", "no":
	default:
		return nil
	}
	return &yes
}

func excerpt(raw []byte) string {
	text := strings.ToValidUTF8(string(raw), "\ufffd")
	if utf8.RuneCountInString(text) <= excerptLength {
		return text
	}
	return string([]rune(text)[:excerptLength]) + "…"
}
