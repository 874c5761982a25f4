package gateway

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// ToolFailure describes the error result of a tool.
type ToolFailure struct {
	Text      string          // the message, followed by the suffix
	Code      string          // the tool's own code, or ""
	Retriable *bool           // nil if unknown
	Cause     json.RawMessage // the whole structuredContent, or nil

	suffix string // the end of Text, such as " (code=E_TIMEOUT retriable=false)", or ""
}

// excerptLength is the length in characters of the excerpt of a raw result without a message.
const excerptLength = 2000

// FailureOf extracts the message of an error result: structuredContent.message, else a string
// structuredContent.error, else error.message, else detail, else the text content, else an excerpt
// of the raw result. A suffix such as (code=E_TIMEOUT retriable=false) is appended.
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
		f.Text = joinText(r.Content)
	}
	if f.Text == "" && f.Cause != nil {
		f.Text = truncate(f.Cause)
	}
	if f.Text == "" {
		f.Text = truncate(result)
	}
	f.Code = firstScalar(r.Fields, nested, "code", "errorCode", "statusCode")
	f.Retriable = parseFlag(firstScalar(r.Fields, nested, "retriable", "retryable"))
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

func joinText(content []json.RawMessage) string {
	var parts []string
	for _, raw := range content {
		var c struct{ Type, Text string }
		if json.Unmarshal(raw, &c) == nil && c.Type == "text" && strings.TrimSpace(c.Text) != "" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// firstScalar returns the first of the named members that is a string, number or boolean, in the
// structured content or in its error object.
func firstScalar(fields, nested map[string]json.RawMessage, names ...string) string {
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

// parseFlag parses a boolean in any of the notations that servers use.
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

func truncate(raw []byte) string {
	text := strings.ToValidUTF8(string(raw), "\ufffd")
	if utf8.RuneCountInString(text) <= excerptLength {
		return text
	}
	return string([]rune(text)[:excerptLength]) + "…"
}
