package cassette

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const header = `{"cassette":1,"server":"files","tools":[{"name":"read","inputSchema":{"type":"object"}}]}` + "\n"

func TestRecordedCallsAreServedInOrderThenTheLast(t *testing.T) {
	c, err := Read(strings.NewReader(header +
		`{"tool":"read","arguments":"{\"a\":1,\"b\":\"<x>\"}","result":"{ \"n\":1.0, \"t\":\"<\\u00e9>\" }"}` + "\n" +
		`{"tool":"read","arguments":"{\"b\":\"<x>\",\"a\":1}","result":"{\"n\":2}"}` + "\n" +
		`{"tool":"../../etc/passwd","arguments":"","error":"{\"code\":-1,\"message\":\"no\"}"}` + "\n" +
		`{"tool":"read","arguments":"{\"secret\":1}","unavailable":"it contains redacted secrets"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ sent, want string }{
		{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `"protocolVersion":"2025-06-18"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, `{"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}}`},
		{`{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"b":"<x>", "a":1}}}`, `{"jsonrpc":"2.0","id":1,"result":{ "n":1.0, "t":"<\u00e9>" }}`},
		{`{"id":2,"method":"tools/call","params":{"name":"read","arguments":{"a":1,"b":"<x>"}}}`, `"result":{"n":2}`},
		{`{"id":3,"method":"tools/call","params":{"name":"read","arguments":{"a":1,"b":"<x>"}}}`, `"result":{"n":2}`},
		{`{"id":4,"method":"tools/call","params":{"name":"read","arguments":{"a":2}}}`, `has no call of \"read\" with these arguments`},
		{`{"id":5,"method":"tools/call","params":{"name":"read","arguments":{"secret":1}}}`, `it contains redacted secrets`},
		{`{"id":6,"method":"tools/call","params":{"name":"../../etc/passwd"}}`, `"error":{"code":-1,"message":"no"}`},
		{`{"id":7,"method":"tools/call","params":{"name":5}}`, `"id":7,"error":{"code":-32602`},
		{`{"id":8,"method":"prompts/list"}`, `-32601`},
		{`{"id":9,`, `"id":null,"error":{"code":-32700`},
	} {
		var out bytes.Buffer
		if err := c.Serve(strings.NewReader(m.sent+"\n"), &out); err != nil || !strings.Contains(out.String(), m.want) || (m.want == "") != (out.Len() == 0) {
			t.Errorf("%s: %v %s, want %s", m.sent, err, out.String(), m.want)
		}
	}
}

func TestInvalidCassettesAreRefusedWithTheirLine(t *testing.T) {
	call := `{"tool":"read","arguments":"{}","result":"{}"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "line 1: the file is empty"},
		"no cassette":       {`{"server":"x"}`, "line 1: not a cassette of version 1"},
		"newer":             {`{"cassette":2,"server":"x","tools":[]}`, "line 1: not a cassette"},
		"tool without name": {`{"cassette":1,"server":"x","tools":[{}]}`, "line 1: tools[0]"},
		"truncated":         {header + call + call[:20], "line 3: not a JSON object"},
		"wrong type":        {header + `{"tool":5,"arguments":"{}","result":"{}"}`, "line 2: json:"},
		"result no text":    {header + `{"tool":"a","arguments":"{}","result":{}}`, "line 2: json:"},
		"result no object":  {header + `{"tool":"a","arguments":"{}","result":"[]"}`, "line 2: result and error"},
		"both":              {header + `{"tool":"a","arguments":"{}","result":"{}","error":"{}"}`, "line 2: a call needs"},
		"arguments":         {header + `{"tool":"a","arguments":"[]","result":"{}"}`, "line 2: arguments must"},
		"duplicate key":     {header + `{"tool":"a","tool":"b","arguments":"{}","result":"{}"}`, `line 2: the key "tool" is unknown or duplicate`},
		"other case":        {header + `{"tool":"a","Tool":"b","arguments":"{}","result":"{}"}`, `line 2: the key "Tool"`},
		"deep":              {header + `{"tool":"a","arguments":"{\"a\":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}","result":"{}"}`, "line 2: arguments must"},
		"long line":         {header + strings.Repeat("x", maxLine+1), "line 2: longer than 16 MiB"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(header+`{"tool":"read","arguments":"{}","result":"{}"}`, `{"id":1,"method":"tools/call","params":{"name":"read"}}`)
	f.Fuzz(func(t *testing.T, file, sent string) {
		c, err := Read(strings.NewReader(file))
		if err != nil {
			return
		}
		var out bytes.Buffer
		_ = c.Serve(strings.NewReader(sent), &out)
		if n := strings.Count(out.String(), "\n"); n > strings.Count(sent, "\n")+1 {
			t.Errorf("%d lines answer %q: %q", n, sent, out.String())
		}
	})
}
