package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplyIDIsComparedByValue(t *testing.T) {
	for raw, want := range map[string]string{
		`2`: "2", `2.0`: "2", `2e0`: "2", `0.2e1`: "2", `20E-1`: "2", `2.00`: "2", `-2`: "-2",
		`"2"`: "2 quoted", `"2.0"`: "2 quoted", `"\u0032"`: "2 quoted",
		`2.5`: "", `"x"`: "", `""`: "", ``: "", `null`: "", `"0x2"`: "", `"Infinity"`: "", `"nan"`: "", `"1_0"`: "", `1e400`: "", `1e30`: "",
		`"` + strings.Repeat("2", 100) + `"`: "",
	} {
		id, quoted, ok := replyID([]byte(raw))
		got := ""
		if ok {
			got = fmt.Sprint(id)
		}
		if quoted && ok {
			got += " quoted"
		}
		assert.Equal(t, want, got, raw)
	}
}

// Each of these responses works with the official TypeScript SDK, or at least with one other.
func TestHTTPServersAreReadNoMoreStrictlyThanBySDKs(t *testing.T) {
	t.Parallel()
	const jsonKind, streamKind = "application/json", "text/event-stream"
	for name, c := range map[string]struct {
		status       int
		kind, answer string // %s is the id
		isError      bool
		notified     int
	}{
		"float id":                     {200, jsonKind, `{"jsonrpc":"2.0","id":%s.0,"result":{"ok":true}}`, false, 0},
		"string id":                    {200, jsonKind, `{"jsonrpc":"2.0","id":"%s","result":{"ok":true}}`, false, 0},
		"string id in a stream":        {200, streamKind, "data: {\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"ok\":true}}\n\n", false, 0},
		"201":                          {201, jsonKind, `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, false, 0},
		"202 with a stream":            {202, streamKind, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":true}}\n\n", false, 0},
		"array":                        {200, jsonKind, `[{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}]`, false, 0},
		"array with notifications":     {200, jsonKind, " [ {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}}\r\n,{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":true}}]", false, 1},
		"array with another reply":     {200, jsonKind, `[{"jsonrpc":"2.0","id":999,"result":{}},{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}]`, false, 0},
		"array in a stream":            {200, streamKind, "data: [{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":1}},{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":true}}]\n\n", false, 1},
		"upper case":                   {200, "Application/JSON; Charset=UTF-8", `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, false, 0},
		"malformed parameter":          {200, "application/json; charset", `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, false, 0},
		"repeated type":                {200, "application/json, application/json", `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, false, 0},
		"no content type":              {200, "", `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, false, 0},
		"byte order mark":              {200, jsonKind, "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, false, 0},
		"byte order mark of a stream":  {200, streamKind, "\xef\xbb\xbfdata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":true}}\n\n", false, 0},
		"null error":                   {200, jsonKind, `{"jsonrpc":"2.0","id":%s,"error":null,"result":{"ok":true}}`, false, 0},
		"error without id":             {200, jsonKind, `{"jsonrpc":"2.0","error":{"code":1,"message":"no %s"}}`, true, 0},
		"error with id null, 400":      {400, jsonKind, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no %s"}}`, true, 0},
		"error without id in a stream": {200, streamKind, "data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"no %s\"}}\n\n", true, 0},
		"batch error, 400":             {400, jsonKind, `[{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no"}}]`, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct{ ID json.RawMessage }
				_ = json.NewDecoder(r.Body).Decode(&m)
				w.Header()["Content-Type"] = []string{c.kind}
				if c.kind == "" {
					w.Header()["Content-Type"] = nil
				}
				w.WriteHeader(c.status)
				fmt.Fprintf(w, c.answer, m.ID)
			}))
			defer server.Close()
			notified := 0
			r, err := NewRemote(RemoteOptions{Server: "s", URL: server.URL, OnNotification: func(string, json.RawMessage) { notified++ }})
			require.NoError(t, err)
			defer r.Close(t.Context())
			reply, err := r.Call(t.Context(), "tools/call", nil, core.Span{}, nil)
			if err != nil || (len(reply.Error) > 0) != c.isError || !c.isError && string(reply.Result) != `{"ok":true}` || notified != c.notified {
				t.Errorf("%s%s, %v, %d notifications", reply.Result, reply.Error, err, notified)
			}
			assert.Equal(t, strings.HasPrefix(name, "string"), r.Stats().QuotedIDs > 0)
		})
	}
}

func TestStdioServersAreReadNoMoreStrictlyThanBySDKs(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"float id":                 `{"jsonrpc":"2.0","id":%s.0,"result":{"ok":true}}`,
		"exponent":                 `{"jsonrpc":"2.0","id":%se0,"result":{"ok":true}}`,
		"string id":                `{"jsonrpc":"2.0","result":{"ok":true},"id":"%s"}`,
		"array":                    `[{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}]`,
		"array with a notice":      `[{"jsonrpc":"2.0","method":"notifications/message","params":{}}, {"jsonrpc":"2.0","id":%s,"result":{"ok":true}}]`,
		"array that is too long":   `[` + strings.Repeat(`{},`, maxBatch) + `{}]` + "\n" + `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`,
		"array of no messages":     `[1,2]` + "\n" + `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`,
		"array with a broken part": `[{"jsonrpc":"2.0","method":"a","method":"b"},{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests, in := io.Pipe()
			out, answers := io.Pipe()
			m := NewMux(MuxOptions{Server: "s", In: out, Out: in})
			var ended sync.WaitGroup
			ended.Go(func() { _ = m.Run() })
			defer ended.Wait()
			defer answers.Close()
			defer requests.Close()
			go func() {
				lines := bufio.NewScanner(requests)
				lines.Scan()
				var r struct{ ID json.RawMessage }
				_ = json.Unmarshal(lines.Bytes(), &r)
				fmt.Fprintf(answers, answer+"\n", r.ID)
			}()
			reply, err := m.Call(t.Context(), "tools/call", nil, core.Span{}, nil)
			assert.NoError(t, err, reply.Error)
			assert.Equal(t, `{"ok":true}`, string(reply.Result), reply.Error)
			m.Close(io.EOF)
		})
	}
}
