package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// timeOut sends a call to a server that answers it with the text that answer returns, and returns
// the error of its timeout and what was logged. It must be called in a bubble.
func timeOut(t *testing.T, answer func(id string) string) (logged []string, err error) {
	t.Helper()
	in, says := io.Pipe()
	hears, out := io.Pipe()
	m := wire.NewMux(wire.MuxOptions{Server: "test", In: in, Out: out, OnJunk: func(line []byte, reason string) {
		logged = append(logged, reason+": "+string(line))
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.Run()
	}()
	go func() {
		lines := bufio.NewScanner(hears)
		for lines.Scan() {
			var request struct{ ID json.RawMessage }
			if json.Unmarshal(lines.Bytes(), &request) == nil && len(request.ID) > 0 {
				_, _ = io.WriteString(says, answer(string(request.ID)))
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = m.Call(ctx, "tools/call", []byte(`{}`), core.Span{}, nil)
	time.Sleep(2 * time.Second) // a late answer arrives
	m.Close(io.EOF)
	hears.Close()
	says.Close()
	<-ended
	return logged, err
}

func TestTimeoutNamesTheOutputThatCouldNotBeUsed(t *testing.T) {
	t.Parallel()
	const noMessage = "it sent JSON that is not a message"
	for name, c := range map[string]struct{ answer, want, logged string }{
		"id as a string": {`{"jsonrpc":"2.0","id":"call %s","result":{}}`, `it sent a response with the id "call 1", which no request has`, `not a reply: a response with the id "call 1", which no request has`},
		"id of no call":  {`{"jsonrpc":"2.0","id":7%s,"result":{}}`, `it sent a response with the id 71, which no request has`, ""},
		"id as a float":  {`{"jsonrpc":"2.0","id":%s.5,"result":{}}`, `it sent a response with the id 1.5, which no request has`, ""},
		"id null":        {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}%.0s`, `it sent a response with the id null, which no request has`, ""},
		"no id":          {`{"jsonrpc":"2.0","result":{}}%.0s`, `it sent a response without an id`, ""},
		"long id":        {`{"jsonrpc":"2.0","id":"%s` + strings.Repeat("é", 100) + `","result":{}}`, `it sent a response with the id "1` + strings.Repeat("é", 19) + `…, which no request has`, ""},
		"several lines":  {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": %s,\n  \"result\": {}\n}", noMessage, ""},
		"an array":       {`[{"jsonrpc":"2.0","id":%s,"result":{}},1]`, noMessage, "not a message: [{"},
		"text":           {"[INFO] started with request %s", "", "not a message: [INFO]"},
		"a log line":     {`{"level":"info","request":%s}`, "", ""},
		"nothing":        {"%.0s", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logged, err := timeOut(t, func(id string) string { return fmt.Sprintf(c.answer, id) + "\n" })
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, core.CodeTimeout, core.CodeOf(err))
				unusable, ok := errors.AsType[*wire.UnusableOutputError](err)
				assert.Truef(t, ok == (c.want != "") && !(ok && (unusable.Problem != c.want || unusable.Hint == "")), "got %v, want %q", err, c.want)
				assert.Contains(t, strings.Join(logged, "\n"), c.logged)
			})
		})
	}
}

// A late reply is a reply to a request that was abandoned, not a mistake of the server.
func TestLateReplyIsNoUnusableOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logged, err := timeOut(t, func(id string) string {
			time.Sleep(2 * time.Second)
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n"
		})
		_, ok := errors.AsType[*wire.UnusableOutputError](err)
		assert.Truef(t, !ok && len(logged) <= 0, "got %v, logged %q", err, logged)
	})
}

func TestRemoteServerThatAnswersWithAnotherIDIsNamed(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"document": "application/json", "stream": "text/event-stream"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			answer := `{"jsonrpc":"2.0","id":"x","result":{}}`
			if name == "stream" {
				answer = "data: " + answer + "\n\n"
			}
			_, _ = io.WriteString(w, answer)
		}))
		defer server.Close()
		remote, err := wire.NewRemote(wire.RemoteOptions{Server: "test", URL: server.URL})
		require.NoError(t, err)
		_, err = remote.Call(t.Context(), "tools/list", nil, core.Span{}, nil)
		message, _ := core.Describe(err)
		assert.Equalf(t, `server "test" sent a response with the id "x", which no request has`, message, "%s: %v", name, err)
		_ = remote.Close(t.Context())
	}
}
