package builtin

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newHistory returns a real call log with calls of three clients.
func newHistory(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Recorder().Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = s.Close()
	})
	now := time.Now().UTC()
	for i, who := range []core.Client{{Token: "ann", Name: "cursor"}, {Token: "bob", Name: "ann"}, {Name: "script"}, {Name: "other"}} {
		for n := range 3 {
			call := &core.Call{
				ID: now.UnixMicro() + int64(10*i+n), At: now, Client: who, Era: core.Modern, Server: "files", Method: "tools/call",
				Name: "read", PublicName: "files__read", Params: json.RawMessage(`{"arguments":{"letter":"of ` + who.Token + who.Name + `"}}`),
				Arguments: core.Span{Start: 13, End: 29 + len(who.Token) + len(who.Name)}, Outcome: core.OutcomeOK, Took: time.Duration(n+1) * time.Millisecond,
			}
			if n == 2 {
				call.Outcome, call.Code, call.Reason = core.OutcomeTimeout, core.CodeTimeout, "too slow"
			}
			if who.Name == "script" && n == 2 {
				call.Server, call.Outcome, call.Code, call.Reason = "", core.OutcomeRejected, core.CodeNotFound, `there is no tool named "a__b": the profile "p" hides it from this client`
			}
			s.Recorder().Record(call, core.Reply{Result: json.RawMessage(`{}`)})
		}
	}
	s.Recorder().Flush(t.Context())
	return s
}

func newTestServer(t *testing.T) *Server {
	return NewServer(Options{
		History: newHistory(t), Version: "1",
		Status: func() []core.ServerStatus {
			return []core.ServerStatus{{ID: "files", State: core.StateFailed, Reason: "exit 3", Command: "/secret/path", Detail: "stderr"}}
		},
		SeesAll: func(token string) bool { return token == "admin" },
	})
}

// ask calls a tool and returns its structured content as text.
func (o *Server) ask(t *testing.T, who core.Client, tool, arguments string) (text string, failed bool) {
	t.Helper()
	call := &core.Call{Method: "tools/call", Name: tool, Client: who, Params: json.RawMessage(arguments), Arguments: core.Span{End: len(arguments)}}
	reply, err := o.Send(t.Context(), call, nil)
	require.NoError(t, err)
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	require.NoError(t, json.Unmarshal(reply.Result, &result), reply.Result)
	assert.Falsef(t, !result.IsError && result.Content[0].Text != string(result.StructuredContent), "%s: text and data differ", tool)
	return result.Content[0].Text, result.IsError
}

type found struct {
	Calls []callSummary
	Next  string
}

func TestClientFindsOnlyItsOwnCalls(t *testing.T) {
	o := newTestServer(t)
	for _, c := range []struct {
		who  core.Client
		want int
		sees string
	}{
		{core.Client{Token: "ann", Name: "cursor"}, 3, "cursor"},
		{core.Client{Token: "ann", Name: "ann"}, 3, "cursor"}, // the token counts, not the declared name
		{core.Client{Token: "bob", Name: "cursor"}, 3, "ann"},
		{core.Client{Name: "script"}, 3, "script"},
		{core.Client{Name: "cursor"}, 0, ""},
		{core.Client{}, 0, ""},
		{core.Client{Token: "nobody"}, 0, ""},
		{core.Client{Token: "admin"}, 12, ""},
		{core.Client{Name: "admin"}, 0, ""},
	} {
		var got found
		text, _ := o.ask(t, c.who, "history_search", `{"limit":100}`)
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		assert.Lenf(t, got.Calls, c.want, "%v %v", c.who, text)
		for _, call := range got.Calls {
			assert.Falsef(t, c.sees != "" && call.Client != c.sees, "%+v finds a call of %q", c.who, call.Client)
		}
	}
	mine, _ := o.ask(t, core.Client{Token: "ann"}, "history_search", `{"text":"letter","outcome":"timeout"}`)
	var got found
	_ = json.Unmarshal([]byte(mine), &got)
	require.Len(t, got.Calls, 1, mine)
	text, failed := o.ask(t, core.Client{Token: "ann"}, "explain", `{"call":"`+got.Calls[0].ID+`"}`)
	if failed || !strings.Contains(text, "did not respond in time") || !strings.Contains(text, "too slow") || !strings.Contains(text, "of anncursor") {
		t.Error(text)
	}
	if text, failed := o.ask(t, core.Client{Token: "bob"}, "explain", `{"call":"`+got.Calls[0].ID+`"}`); !failed || !strings.Contains(text, "no call") {
		t.Errorf("bob reads a call of ann: %s", text)
	}
}

func TestClientIsNotToldThatProfileHidesTool(t *testing.T) {
	o, script := newTestServer(t), core.Client{Name: "script"}
	text, _ := o.ask(t, script, "history_search", `{"outcome":"rejected"}`)
	var got found
	if _ = json.Unmarshal([]byte(text), &got); len(got.Calls) != 1 || got.Calls[0].Reason != `there is no tool named "a__b"` {
		t.Fatal(text)
	}
	if text, _ = o.ask(t, script, "explain", `{"call":"`+got.Calls[0].ID+`"}`); !strings.Contains(text, "no tool named") || strings.Contains(text, "profile") {
		t.Error(text)
	}
	for _, word := range []string{"hides", "tool"} {
		if text, _ = o.ask(t, script, "history_search", `{"text":"`+word+`"}`); strings.Contains(text, "a__b") {
			t.Errorf("%s finds %s", word, text)
		}
	}
}

func TestStatisticsCoverClientsOwnCalls(t *testing.T) {
	o := newTestServer(t)
	text, _ := o.ask(t, core.Client{Token: "ann"}, "analytics_get", `{"hours":1,"server":"files"}`)
	assert.Contains(t, text, `"tools":[{"server":"files","tool":"read","calls":3,"failed":1,"p50Ms":2,"p95Ms":3}]`)
	assert.Contains(t, text, `"complete":true`)
	if text, _ := o.ask(t, core.Client{}, "analytics_get", `{}`); !strings.Contains(text, `"tools":[]`) {
		t.Error(text)
	}
}

func TestStatusAndExplanationShowNoCommandAndNoStderr(t *testing.T) {
	o := newTestServer(t)
	for tool, arguments := range map[string]string{"status": ``, "explain": `{"server":"files"}`} {
		text, failed := o.ask(t, core.Client{}, tool, arguments)
		if failed || !strings.Contains(text, "exit 3") || strings.Contains(text, "secret") || strings.Contains(text, "stderr") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	for _, arguments := range []string{`{}`, `{"server":"nope"}`, `{"call":"x"}`, `{"other":1}`, `[]`} {
		text, failed := o.ask(t, core.Client{}, "explain", arguments)
		assert.Truef(t, failed, "%s: %s", arguments, text)
	}
}

func TestBuiltinToolsAreReadOnly(t *testing.T) {
	o := newTestServer(t)
	c := o.Catalog()
	assert.Len(t, c.Tools, 4)
	for _, item := range c.Tools {
		var tool struct {
			Name        string
			InputSchema map[string]any
			Annotations struct{ ReadOnlyHint, DestructiveHint bool }
		}
		if err := json.Unmarshal(item.Raw, &tool); err != nil || tool.Name != item.Name || !tool.Annotations.ReadOnlyHint || tool.InputSchema["type"] != "object" {
			t.Errorf("%s: %v %s", item.Name, err, item.Raw)
		}
	}
	reply, _ := o.Send(t.Context(), &core.Call{Method: "prompts/get", Name: strconv.Itoa(1)}, nil)
	assert.NotEmpty(t, reply.Error, "it has prompts")
}

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
		require.NoError(t, err)
		var result struct {
			Content []textContent `json:"content"`
			IsError bool          `json:"isError"`
			Data    any           `json:"structuredContent"`
			Meta    struct {
				Error errorDetails `json:"drawbridge/error"`
			} `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal(reply.Result, &result))
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
