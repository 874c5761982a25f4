package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/google/go-cmp/cmp"
)

// What HAR writes is read back as a cassette. What was cut or redacted is not served.
func TestExportedArchiveIsImportedAsACassette(t *testing.T) {
	var entries []string
	add := func(server, method, name, arguments, result, failure string, outcome core.Outcome) {
		n := int64(len(entries))
		r := &store.Record{Call: core.Call{ID: n, At: time.UnixMicro(n), Server: server, Method: method, Name: name, Outcome: outcome, Took: 5 * time.Millisecond, Queued: 2 * time.Millisecond},
			Arguments: []byte(arguments), Result: []byte(result), Error: []byte(failure)}
		text, err := json.Marshal(newHAREntry(r))
		if err != nil {
			t.Fatal(err)
		}
		entries = append([]string{string(text)}, entries...) // newest first, as HAR writes them
	}
	add("files", "tools/call", "read/one", `{"n":9007199254740993}`, `{"text":"<é>"}`, "", core.OutcomeOK)
	add("files", "tools/call", "read/one", `{}`, `{"isError":true}`, "", core.OutcomeToolError)
	add("files", "tools/call", "read/one", `{"bad":1}`, "", `{"code":-32602,"message":"bad"}`, core.OutcomeProtocolError)
	add("files", "prompts/get", "ask", `{"a":"b"}`, `{"messages":[]}`, "", core.OutcomeOK)
	add("files", "resources/read", "file:///a b?c#d", `{"uri":"file:///a b?c#d"}`, `{"contents":[]}`, "", core.OutcomeOK)
	add("files", "tools/call", "secret", `{}`, `{"key":"`+redact.Mark+`"}`, "", core.OutcomeOK)
	add("files", "tools/call", "long", `{}`, `{"text":"abc`, "", core.OutcomeOK)
	add("files", "tools/call", "picture", `{}`, `{"data":"[9`+redact.CutMark+`00]"}`, "", core.OutcomeOK)
	add("files", "tools/call", "upload", `{"data":"[9`+redact.CutMark+`00]"}`, `{}`, "", core.OutcomeOK)
	add("files", "tools/call", "cut", `{"text":"abc`, `{}`, "", core.OutcomeOK)
	add("files", "tools/call", "slow", `{}`, "", "", core.OutcomeTimeout)
	add("files", "sampling/createMessage", "", `{}`, `{}`, "", core.OutcomeOK)
	add("git", "tools/call", "log", `{}`, `{}`, "", core.OutcomeOK)
	for _, account := range []string{"", "default", "work"} { // of the time before the server had accounts, and later
		add("hub", "tools/call", "whoami", `{}`, `{"account":"`+account+`"}`, "", core.OutcomeOK)
		entries[0] = strings.Replace(entries[0], `"workspace":""`, `"workspace":"","account":"`+account+`"`, 1)
	}
	file := `{"log":{"version":"1.2","creator":{"name":"Drawbridge","version":""},"entries":[` + strings.Join(entries, ",") + `]}}`

	rec, err := cassette.ReadHAR(strings.NewReader(file), "files", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []cassette.Call{
		{Tool: "read/one", Arguments: `{"n":9007199254740993}`, Result: `{"text":"<é>"}`, TookMs: 3},
		{Tool: "read/one", Arguments: `{}`, Result: `{"isError":true}`, TookMs: 3},
		{Tool: "read/one", Arguments: `{"bad":1}`, Error: `{"code":-32602,"message":"bad"}`, TookMs: 3},
		{Prompt: "ask", Arguments: `{"a":"b"}`, Result: `{"messages":[]}`, TookMs: 3},
		{Resource: "file:///a b?c#d", Result: `{"contents":[]}`, TookMs: 3},
		{Tool: "secret", Arguments: `{}`, Unavailable: cassette.Redacted, TookMs: 3},
		{Tool: "long", Arguments: `{}`, Unavailable: cassette.Truncated, TookMs: 3},
		{Tool: "picture", Arguments: `{}`, Unavailable: cassette.Truncated, TookMs: 3},
	}
	if d := cmp.Diff(want, rec.Calls); d != "" {
		t.Error(d)
	}
	if rec.End != (cassette.End{Calls: 8, Unavailable: 3, Skipped: 3}) || len(rec.Tools) != 4 || len(rec.Prompts) != 1 || len(rec.Resources) != 1 {
		t.Errorf("%+v %s", rec.End, rec.Tools)
	}
	var written bytes.Buffer
	if err := rec.Write(&written); err != nil {
		t.Fatal(err)
	}
	if again, err := cassette.Read(&written); err != nil || len(again.Calls) != 8 {
		t.Errorf("the cassette cannot be read: %v", err)
	}
	for account, want := range map[string][]string{"default": {`{"account":""}`, `{"account":"default"}`}, "work": {`{"account":"work"}`}} {
		rec, err := cassette.ReadHAR(strings.NewReader(file), "hub", account)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range rec.Calls {
			got = append(got, c.Result)
		}
		if !slices.Equal(got, want) {
			t.Errorf("account %s: %q, want %q", account, got, want)
		}
	}
	for name, c := range map[string]struct{ text, server, account, want string }{
		"several servers":  {file, "", "", "calls to several servers: choose one of files, git, hub with --server"},
		"several accounts": {file, "hub", "", "used several accounts of the server: choose one of default, work with --account"},
		"unknown account":  {file, "hub", "home", `no call used account "home" of the server; the accounts used are default, work`},
		"unknown server":   {file, "x", "", `no calls to server "x", only to files, git, hub`},
		"truncated":        {file[:len(file)/2], "", "", "not valid JSON at byte"},
		"wrong type":       {`{"log":{"entries":5}}`, "", "", "not an HTTP Archive"},
		"of a browser":     {`{"log":{"creator":{"name":"WebInspector"},"entries":[]}}`, "", "", "not an HTTP Archive written by Drawbridge"},
		"empty":            {`{"log":{"creator":{"name":"Drawbridge"},"entries":[]}}`, "", "", "no calls to tools"},
		"other address":    {`{"log":{"creator":{"name":"Drawbridge"},"entries":[{"request":{"url":"file:///etc/passwd"}},{"request":{"url":"mcp://x/%zz"}},{"request":{"url":"mcp:///tools/call/x"}}]}}`, "", "", "no calls to tools"},
		"deep":             {`{"log":` + strings.Repeat("[", 100_000), "", "", "not valid JSON"},
	} {
		if _, err := cassette.ReadHAR(strings.NewReader(c.text), c.server, c.account); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
