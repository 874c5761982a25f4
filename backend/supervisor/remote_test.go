//go:build unix

package supervisor

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// webServer is a legacy server over streamable HTTP that requires a header.
func webServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
			http.Error(w, "no stream here", http.StatusMethodNotAllowed)
			return
		}
		var result string
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"fetch","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"hello"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case len(m.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
		case result == "":
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"method not found"}}`)
		default:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func TestRemoteServersReceiveTheirHeaders(t *testing.T) {
	g := newReal(t)
	t.Setenv("DRAWBRIDGE_TEST_TOKEN", "sesame")
	web := server("web", func(s *config.Server) {
		s.Type, s.Command, s.URL = core.HTTP, "", webServer(t).URL+"/mcp?key=secret"
		s.Headers = map[string]string{"Authorization": "Bearer ${DRAWBRIDGE_TEST_TOKEN}"}
	})
	nowhere := server("nowhere", func(s *config.Server) { s.Type, s.Command, s.URL = core.HTTP, "", "${NO:-ftp}://x" })
	g.apply(web, nowhere)
	st := g.wait("web", core.StateRunning)
	assert.Equal(t, 1, st.Tools)
	assert.Equal(t, 0, st.PID)
	assert.Equal(t, web.URL[:len(web.URL)-len("?key=secret")], st.Command, "shown as")
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		_, reply, err := g.call("web", "fetch", era)
		assert.Truef(t, err == nil && string(reply.Result) == `{"content":[{"type":"text","text":"hello"}]}`, "%s: %s, %v", era, reply.Result, err)
	}
	g.wait("nowhere", core.StateFailed)
	d, err := g.Debug("web")
	require.NoError(t, err)
	text := ""
	for _, f := range d.Frames {
		text += f.HTTP + "\n" + f.Text + "\n"
	}
	if len(d.Frames) != 10 || !strings.Contains(text, "HTTP 200 OK\n") || !strings.Contains(text, "tools/call") || !strings.Contains(text, "Authorization: [redacted]") || strings.Contains(text, "sesame") {
		t.Errorf("frames %q", text)
	}
}
