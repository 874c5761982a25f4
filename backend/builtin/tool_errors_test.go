package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The built-in tools report a caller's mistake like every other error: a sentence that names the
// field, with the code at its end, and the same in _meta.
func TestBuiltinToolsRefuseInDocumentedShape(t *testing.T) {
	t.Parallel()
	o := NewServer(Options{History: noHistory{core.Errorf(core.CodeNotFound, "there is no such call")}, Status: func() []core.ServerStatus { return nil }})
	for _, c := range []struct {
		tool, arguments string
		code            core.Code
		field, why      string
	}{
		{"history_search", `{"text":"` + strings.Repeat("é", 1001) + `"}`, core.CodeValidation, "text", "is 1001 characters long; the maximum is 1000"},
		{"history_search", `{"limit":"ten"}`, core.CodeValidation, "limit", "must be integer, not string"},
		{"history_search", `{"limit":1.5}`, core.CodeValidation, "limit", "must be integer, not number"},
		{"history_search", `{"limit":99999999999999999999}`, core.CodeValidation, "limit", "must be integer, not a number that is too large"},
		{"history_search", `{"server":["secret"]}`, core.CodeValidation, "server", "must be string, not array"},
		{"history_search", `{"outcome":"well"}`, core.CodeValidation, "outcome", `must be one of ["ok" "tool_error"`},
		{"history_search", `{"before":"secret"}`, core.CodeValidation, "before", "is not the value of 'next' from a previous page"},
		{"status", `{"deep":1}`, core.CodeValidation, "deep", "is not a known property"},
		{"status", `[1]`, core.CodeValidation, "arguments", "must be an object, not array"},
		{"explain", `{}`, core.CodeValidation, "server", "is missing: specify a server or a call"},
		{"explain", `{"call":"7"}`, core.CodeNotFound, "", ""},
	} {
		call := &core.Call{Method: "tools/call", Name: c.tool, Client: core.Client{Token: "a"}, Params: []byte(c.arguments), Arguments: core.Span{End: len(c.arguments)}}
		reply, err := o.Send(t.Context(), call, nil)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Content []textContent `json:"content"`
			IsError bool          `json:"isError"`
			Data    any           `json:"structuredContent"`
			Meta    struct {
				Error errorDetails `json:"drawbridge/error"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(reply.Result, &result); err != nil {
			t.Fatal(err)
		}
		said, about := result.Content[0].Text, result.Meta.Error
		fits := result.IsError && result.Data == nil && about.Code == c.code && strings.HasSuffix(said, " (code="+string(c.code)+")") &&
			strings.Contains(said, about.Message) && !strings.Contains(said, "secret")
		if c.field != "" {
			fits = fits && len(about.Errors) == 1 && about.Errors[0].Field == c.field && strings.HasPrefix(about.Errors[0].Error, c.why) &&
				strings.Contains(said, c.field+" "+c.why)
		}
		if !fits {
			t.Errorf("%s %s: %s", c.tool, c.arguments[:min(len(c.arguments), 40)], reply.Result)
		}
	}
}
