package cassette

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const header = `{"cassette":1,"server":"files","serverInfo":{"name":"fs","version":"1.2"},"tools":[{"name":"read","inputSchema":{"type":"object"}}],` +
	`"prompts":[{"name":"greet"}],"resources":[{"uri":"file:///a"}],"resourceTemplates":[{"uriTemplate":"file:///{x}"}]}` + "\n"

const recorded = header +
	`{"tool":"read","arguments":"{\"a\":1,\"b\":\"<x>\"}","result":"{ \"n\":1.0,\n \"t\":\"<\\u00e9>\" }","tookMs":2000}` + "\n" +
	`{"tool":"read","arguments":"{\"b\":\"<x>\",\"a\":1}","result":"{\"n\":2}"}` + "\n" +
	`{"tool":"../../etc/passwd","error":"{\"code\":-1,\"message\":\"no\"}"}` + "\n" +
	`{"tool":"read","arguments":"{\"secret\":1}","unavailable":"it contains redacted secrets"}` + "\n" +
	`{"prompt":"greet","arguments":"{\"name\":\"Ann\"}","result":"{\"messages\":[]}"}` + "\n" +
	`{"resource":"file:///a","result":"{\"contents\":[]}"}` + "\n" +
	`{"tool":"read","arguments":"{\"a\":9,\"c\":1}","result":"{\"_meta\":{\"x\":1},\"n\":3}"}` + "\n" +
	`{"tool":"slow","result":"{}","tookMs":3000,"progress":[{"afterMs":1000,"params":"{\"progress\":1,\n \"m\":\"<\"}"},{"afterMs":1000,"params":"{}"},{"afterMs":2500,"params":"{\"progressToken\":7,\"progress\":2}"}]}` + "\n" +
	`{"calls":8,"unavailable":1}` + "\n"

func read(t *testing.T, text string) *Recording {
	t.Helper()
	rec, err := Read(strings.NewReader(text))
	require.NoError(t, err)
	return rec
}

func ask(p *Player, message string) (string, error) {
	var out bytes.Buffer
	err := p.Serve(context.Background(), strings.NewReader(message+"\n"), &out)
	return out.String(), err
}

func call(id int, arguments string) string {
	return fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":"read","arguments":%s}}`, id, arguments)
}

func TestRecordedCallsAreServedInOrderThenTheLast(t *testing.T) {
	p := NewPlayer(read(t, recorded), Options{})
	for _, m := range []struct{ sent, want string }{
		{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
			`"result":{"capabilities":{"prompts":{},"resources":{},"tools":{}},"protocolVersion":"2025-06-18","serverInfo":{"name":"fs","version":"1.2"}}`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, `{"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}}`},
		{`{"id":1,"method":"prompts/list","params":{}}`, `"result":{"prompts":[{"name":"greet"}]}`},
		{`{"id":1,"method":"resources/list"}`, `"result":{"resources":[{"uri":"file:///a"}]}`},
		{`{"id":1,"method":"resources/templates/list"}`, `"result":{"resourceTemplates":[{"uriTemplate":"file:///{x}"}]}`},
		{call(1, `{"b":"<x>", "a":1}`), `{"jsonrpc":"2.0","id":1,"result":{ "n":1.0,  "t":"<\u00e9>" }}`},
		{call(2, `{"a":1,"b":"<x>"}`), `"result":{"n":2}`},
		{call(3, `{"a":1,"b":"<x>"}`), `"result":{"n":2}`},
		{call(4, `{"a":2}`), `contains no call to \"read\" with these arguments`},
		{call(5, `{"secret":1}`), `it contains redacted secrets`},
		{`{"id":6,"method":"tools/call","params":{"name":"../../etc/passwd"}}`, `"error":{"code":-1,"message":"no"}`},
		{`{"id":7,"method":"tools/call","params":{"name":5}}`, `"id":7,"error":{"code":-32602`},
		{`{"id":8,"method":"prompts/get","params":{"name":"greet","arguments":{"name":"Ann"}}}`, `"result":{"messages":[]}`},
		{`{"id":8,"method":"prompts/get","params":{"name":"read","arguments":{"a":1,"b":"<x>"}}}`, `contains no call to \"read\"`},
		{`{"id":8,"method":"resources/read","params":{"uri":"file:///a"}}`, `"result":{"contents":[]}`},
		{`{"id":8,"method":"resources/read","params":{"uri":"file:///b"}}`, `contains no call to \"file:///b\"`},
		{`{"id":8,"method":"completion/complete"}`, `-32601`},
		{`{"id":9,`, `"jsonrpc":"2.0","error":{"code":-32700`},
	} {
		out, err := ask(p, m.sent)
		assert.Truef(t, err == nil && strings.Contains(out, m.want) && (m.want == "") == (out == ""), "%s: %v %s, want %s", m.sent, err, out, m.want)
	}
}

func TestNearestIsMarkedAndNeverInvented(t *testing.T) {
	p := NewPlayer(read(t, recorded), Options{Misses: Nearest})
	for _, m := range []struct{ sent, want string }{
		{call(1, `{"a":1,"b":"y"}`), `"result":{"_meta":{"drawbridge/recordedArguments":{"a":1,"b":"<x>"}}, "n":1.0,`},
		{call(2, `{"a":9}`), `"result":{"_meta":{"drawbridge/recordedArguments":{"a":9,"c":1},"x":1},"n":3}`},
		{call(3, `{"a":1,"b":"<x>"}`), `"result":{ "n":1.0,`}, // the nearest ones before did not consume it
		{call(4, `{"secret":1}`), `it contains redacted secrets`},
		{`{"id":6,"method":"tools/call","params":{"name":"other"}}`, `contains no call to \"other\"`},
		{`{"id":6,"method":"tools/call","params":{"name":"../../etc/passwd","arguments":{"x":1}}}`, `contains no call to`},
		{`{"id":8,"method":"resources/read","params":{"uri":"file:///b"}}`, `contains no call to`},
	} {
		out, err := ask(p, m.sent)
		assert.Truef(t, err == nil && strings.Contains(out, m.want) && json.Valid([]byte(out)), "%s: %v %s, want %s", m.sent, err, out, m.want)
	}
}

func TestMarkKeepsTheOtherBytes(t *testing.T) {
	for result, want := range map[string]string{
		`{}`:                         `{"_meta":{"drawbridge/recordedArguments":{}}}`,
		` { "a" : 1 }`:               ` {"_meta":{"drawbridge/recordedArguments":{}}, "a" : 1 }`,
		`{"a":1,"_meta":{ }}`:        `{"a":1,"_meta":{"drawbridge/recordedArguments":{} }}`,
		`{"_meta":null,"a":1e3}`:     `{"_meta":{"drawbridge/recordedArguments":{}},"a":1e3}`,
		`{"a":{"_meta":1},"b":[{}]}`: `{"_meta":{"drawbridge/recordedArguments":{}},"a":{"_meta":1},"b":[{}]}`,
	} {
		assert.Equal(t, want, string(mark([]byte(result), nil)), result)
	}
}

func TestPassthroughAsksTheLiveServerForWhatIsNotRecorded(t *testing.T) {
	p := NewPlayer(read(t, recorded), Options{Misses: Passthrough, Live: func(_ context.Context, method, name string, params json.RawMessage) (core.Reply, error) {
		if name == "broken" {
			return core.Reply{}, io.ErrUnexpectedEOF
		}
		return core.Reply{Result: fmt.Appendf(nil, "{\"live\":\n%q}", method+" "+name+" "+string(params))}, nil
	}})
	for _, m := range []struct{ sent, want string }{
		{call(1, `{"a":1,"b":"<x>"}`), `"result":{ "n":1.0,`},
		{call(2, `{"a":2}`), `"id":2,"result":{"live": "tools/call read {\"name\":\"read\",\"arguments\":{\"a\":2}}"}`},
		{call(3, `{"secret":1}`), `"result":{"live":`},
		{`{"id":4,"method":"resources/read","params":{"uri":"file:///b"}}`, `resources/read file:///b`},
		{`{"id":5,"method":"tools/call","params":{"name":"broken"}}`, `"error":{"code":-32603,"message":"unexpected EOF"}`},
	} {
		out, err := ask(p, m.sent)
		assert.Truef(t, err == nil && strings.Contains(out, m.want) && strings.Count(out, "\n") == 1, "%s: %v %s, want %s", m.sent, err, out, m.want)
	}
}

func TestRealtimeTakesAsLongAsRecordedAndBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlayer(read(t, recorded), Options{Realtime: true})
		in, send := io.Pipe()
		receive, out := io.Pipe()
		began := time.Now()
		ended := make(chan error)
		go func() { ended <- p.Serve(t.Context(), in, out) }()
		go fmt.Fprint(send, call(1, `{"a":1,"b":"<x>"}`)+"\n"+`{"id":2,"method":"ping"}`+"\n")
		d := json.NewDecoder(receive)
		var first, second struct{ ID int }
		err := d.Decode(&first)
		assert.Truef(t, err == nil && first.ID == 2 && time.Since(began) == 0, "first %d after %v: %v, want 2 at once", first.ID, time.Since(began), err)
		if err := d.Decode(&second); err != nil || second.ID != 1 || time.Since(began) != 2*time.Second {
			t.Errorf("second %d after %v: %v, want 1 after 2s", second.ID, time.Since(began), err)
		}
		_ = send.Close()
		err = <-ended
		assert.NoError(t, err)
	})
}

func TestRealtimeSendsProgressAsRecorded(t *testing.T) {
	slow := func(params string) string {
		return `{"id":1,"method":"tools/call","params":{"name":"slow"` + params + `}}`
	}
	synctest.Test(t, func(t *testing.T) {
		p := NewPlayer(read(t, recorded), Options{Realtime: true})
		receive, out := io.Pipe()
		began := time.Now()
		ended := make(chan error)
		go func() {
			in, send := io.Pipe()
			go fmt.Fprintln(send, slow(`,"_meta":{"progressToken":"<t>"}`))
			time.AfterFunc(time.Minute, func() { _ = send.Close() })
			ended <- p.Serve(t.Context(), in, out)
			_ = out.Close()
		}()
		lines := bufio.NewScanner(receive)
		for _, want := range []struct {
			after time.Duration
			line  string
		}{
			{time.Second, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"<t>","progress":1,"m":"<"}}`},
			{time.Second, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"<t>"}}`},
			{2500 * time.Millisecond, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"<t>","progress":2}}`},
			{3 * time.Second, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		} {
			if !lines.Scan() || lines.Text() != want.line || time.Since(began) != want.after {
				t.Errorf("after %v %s, want after %v %s", time.Since(began), lines.Text(), want.after, want.line)
			}
		}
		if err := <-ended; err != nil || lines.Scan() {
			t.Errorf("%v, then %s", err, lines.Text())
		}
		for _, without := range []string{``, `,"_meta":{}`, `,"_meta":{"progressToken":null}`} {
			if out, err := ask(p, slow(without)); err != nil || out != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
				t.Errorf("without a token: %s, %v", out, err)
			}
		}
	})
	p := NewPlayer(read(t, recorded), Options{})
	out, err := ask(p, slow(`,"_meta":{"progressToken":1}`))
	assert.Truef(t, err == nil && !strings.Contains(out, "progress"), "without realtime: %s, %v", out, err)
}

func TestCancelledRequestsGetNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlayer(read(t, recorded), Options{Realtime: true})
		began := time.Now()
		out, err := ask(p, call(1, `{"a":1,"b":"<x>"}`)+"\n"+`{"method":"notifications/cancelled","params":{"requestId":1}}`)
		assert.Truef(t, err == nil && out == "" && time.Since(began) == 0, "%q after %v: %v", out, time.Since(began), err)
	})
}

// A client that closes the input has to wait for nothing, and loses no response.
func TestWaitingResponsesAreSentWhenTheInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		out, err := ask(NewPlayer(read(t, recorded), Options{Realtime: true}), `{"id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}`)
		if lines := strings.Split(out, "\n"); err != nil || len(lines) != 5 || lines[3] != `{"jsonrpc":"2.0","id":1,"result":{}}` || time.Since(began) != 0 {
			t.Errorf("%q after %v, %v", out, time.Since(began), err)
		}
	})
}

func TestCompleteResultsArePreferred(t *testing.T) {
	p := NewPlayer(read(t, header+`{"tool":"read","unavailable":"truncated"}`+"\n"+`{"tool":"read","result":"{\"n\":1}"}`+"\n"+`{"tool":"read","unavailable":"truncated"}`+"\n"+`{"calls":3}`), Options{})
	for range 3 {
		out, err := ask(p, call(1, `{}`))
		assert.Truef(t, err == nil && strings.Contains(out, `"result":{"n":1}`), "%s, %v", out, err)
	}
}

func TestWrittenRecordingsAreReadTheSame(t *testing.T) {
	var first, second bytes.Buffer
	require.NoError(t, read(t, recorded).Write(&first))
	if err := read(t, first.String()).Write(&second); err != nil || first.String() != second.String() || first.String() != recorded {
		t.Errorf("%v\n%s\n%s", err, first.String(), second.String())
	}
}

func TestRecorderMarksWhatACassetteCannotHold(t *testing.T) {
	var r Recorder
	for _, c := range []Call{
		{Tool: "a", Result: `{"ok":true}`},
		{Tool: "a", Result: `"text"`},
		{Tool: "a", Arguments: `{"cut":`, Result: `{}`},
		{Result: `{}`},
	} {
		require.NoError(t, r.Add(c))
	}
	if r.End != (End{Calls: 2, Unavailable: 1, Skipped: 2}) || r.Calls[1].Result != "" || !strings.Contains(r.Calls[1].Unavailable, "not valid") {
		t.Errorf("%+v", r)
	}
	large := Call{Tool: "a", Result: `{"t":"` + strings.Repeat("x", 10<<20) + `"}`}
	var err error
	for n := 0; err == nil && n < 20; n++ {
		err = r.Add(large)
	}
	assert.ErrorContains(t, err, "choose a session")
}

func TestInvalidCassettesAreRefusedWithTheirLine(t *testing.T) {
	call := `{"tool":"read","arguments":"{}","result":"{}"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                 {"", "line 1: the file is empty"},
		"no cassette":           {`{"server":"x"}`, "line 1: not a version 1 cassette"},
		"newer":                 {`{"cassette":2,"server":"x","tools":[]}`, "line 1: not a version 1 cassette"},
		"tool without name":     {`{"cassette":1,"server":"x","tools":[{}]}`, "line 1: tools[0]"},
		"tool of wrong type":    {`{"cassette":1,"server":"x","tools":["a"]}`, "line 1: tools[0]"},
		"name in other case":    {`{"cassette":1,"server":"x","tools":[{"NAME":"a"}]}`, "line 1: tools[0]"},
		"tool without schema":   {`{"cassette":1,"server":"x","tools":[{"name":"a"}]}`, "line 1: tools[0].inputSchema is missing"},
		"schema of wrong type":  {`{"cassette":1,"server":"x","tools":[{"name":"a","inputSchema":5}]}`, "line 1: tools[0].inputSchema is missing"},
		"no tools":              {`{"cassette":1,"server":"x"}`, "line 1: server and tools are required"},
		"tools null":            {`{"cassette":1,"server":"x","tools":null}`, "line 1: server and tools are required"},
		"no server":             {`{"cassette":1,"tools":[]}`, "line 1: server and tools are required"},
		"error without code":    {header + `{"tool":"a","error":"{\"message\":\"no\"}"}`, "line 2: error requires an integer code"},
		"error with a fraction": {header + `{"tool":"a","error":"{\"code\":1.5,\"message\":\"no\"}"}`, "line 2: error requires an integer code"},
		"error without message": {header + `{"tool":"a","error":"{\"code\":1,\"message\":5}"}`, "line 2: error requires an integer code"},
		"resource without uri":  {`{"cassette":1,"server":"x","tools":[],"resources":[{"uri":5}]}`, "line 1: resources[0]"},
		"info":                  {`{"cassette":1,"server":"x","tools":[],"serverInfo":5}`, "line 1: serverInfo"},
		"truncated":             {header + call + call[:20], "line 3: not a valid JSON object"},
		"between two lines":     {header + call + call, "line 4: the last line, with the number of calls, is missing"},
		"only the header":       {header, "line 2: the last line"},
		"line missing":          {header + call + `{"calls":2}`, "line 3: the file contains 1 calls, not 2"},
		"line after the last":   {header + `{"calls":0}` + "\n" + call, "line 3: there is data after the last line"},
		"wrong number":          {header + `{"calls":"1"}`, "line 2: the value of"},
		"wrong type":            {header + `{"tool":5,"arguments":"{}","result":"{}"}`, "line 2: the value of"},
		"result no text":        {header + `{"tool":"a","arguments":"{}","result":{}}`, "line 2: the value of"},
		"result no object":      {header + `{"tool":"a","arguments":"{}","result":"[]"}`, "line 2: result and error"},
		"both":                  {header + `{"tool":"a","arguments":"{}","result":"{}","error":"{}"}`, "line 2: a call requires"},
		"two targets":           {header + `{"tool":"a","prompt":"a","result":"{}"}`, "line 2: a call requires"},
		"no target":             {header + `{"result":"{}"}`, "line 2: a call requires"},
		"arguments":             {header + `{"tool":"a","arguments":"[]","result":"{}"}`, "line 2: arguments must"},
		"negative time":         {header + `{"tool":"a","result":"{}","tookMs":-1}`, "line 2: tookMs"},
		"endless time":          {header + `{"tool":"a","result":"{}","tookMs":99999999999}`, "line 2: tookMs"},
		"duplicate key":         {header + `{"tool":"a","tool":"b","arguments":"{}","result":"{}"}`, "line 2: not a valid JSON object: a key that occurs twice"},
		"other case":            {header + `{"tool":"a","Tool":"b","arguments":"{}","result":"{}"}`, "line 2: not a valid JSON object: a key that occurs twice"},
		"unknown key":           {header + `{"tool":"a","reslt":"{}"}`, `line 2: the key "reslt" is unknown`},
		"deep":                  {header + `{"tool":"a","arguments":"{\"a\":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}","result":"{}"}`, "line 2: arguments must"},
		"long line":             {header + strings.Repeat("x", maxLine+1), "line 2: longer than 16 MiB"},
		"byte order mark":       {"\ufeff" + header + call, "line 1: not a valid JSON object: it begins with a byte order mark"},
		"invalid UTF-8":         {header + "{\"tool\":\"a\xff\",\"result\":\"{}\"}", "line 2: not valid UTF-8"},
		"two equal tools":       {`{"cassette":1,"server":"x","tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}`, `line 1: tools[1] has the same name as another one: "a"`},
		"too many tools":        {`{"cassette":1,"server":"x","tools":[` + strings.Repeat("1,", MaxCalls) + `1]}`, "line 1: tools contains 100001 items; the limit is 100000"},
		"too many calls":        {header + strings.Repeat(`{"tool":"a","result":"{}"}`+"\n", MaxCalls+1), "line 100002: a cassette can contain at most 100000 calls"},
	} {
		_, err := Read(strings.NewReader(c.text))
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), c.want), "%s: %v, want %s", name, err, c.want)
	}
	endless := io.MultiReader(strings.NewReader(header), &repeated{call})
	_, err := readUpTo(1<<20, endless)
	assert.Truef(t, err != nil && err.Error() == "larger than 1 MiB", "an endless file: %v", err)
}

// A file that is too large is refused by its size, without reading it.
func TestTooLargeFileIsRefusedBeforeItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	require.NoError(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, maxFile+1<<20)))
	want := path + " is 257 MiB; the limit is 256 MiB: export a session, a tag or a shorter time range"
	_, err := Open(path)
	assert.Truef(t, err != nil && err.Error() == want, "got %v, want %s", err, want)
}

// repeated reads the same text forever.
type repeated struct{ text string }

func (r *repeated) Read(b []byte) (int, error) { return copy(b, r.text), nil }

func FuzzRead(f *testing.F) {
	f.Add(header+`{"tool":"read","arguments":"{}","result":"{}"}`+"\n"+`{"calls":1}`, `{"id":1,"method":"tools/call","params":{"name":"read"}}`)
	f.Add(recorded, `{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":2}}}`)
	f.Fuzz(func(t *testing.T, file, sent string) {
		rec, err := Read(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, misses := range []string{Strict, Nearest} {
			var out bytes.Buffer
			_ = NewPlayer(rec, Options{Misses: misses}).Serve(t.Context(), strings.NewReader(sent), &out)
			if n := strings.Count(out.String(), "\n"); n > strings.Count(sent, "\n")+1 {
				t.Errorf("%d lines answer %q: %q", n, sent, out.String())
			}
		}
	})
}
