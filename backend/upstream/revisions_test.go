package upstream

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server of an older revision is told 2025-11-25 and answers with its own, which later requests name.
func TestServersOfEveryLegacyRevisionAreCalled(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		inner := respondWith(map[string]string{
			"initialize": `{"protocolVersion":"` + revision + `","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, "tools/call": `{"content":[]}`,
		})
		c := connectRemote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if opens := strings.Contains(string(body), `"initialize"`); opens != strings.Contains(string(body), `"protocolVersion":"2025-11-25"`) || !opens && r.Header.Get("Mcp-Protocol-Version") != revision {
				t.Errorf("%s: %s %v", revision, body, r.Header)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			inner.ServeHTTP(w, r)
		}), "", nil)
		if c.Peer().Version != revision || len(c.Catalog().Tools) != 1 || len(c.Catalog().Warnings) != 0 {
			t.Errorf("%s: %s %v", revision, c.Peer().Version, c.Catalog().Warnings)
		}
		assert.Equal(t, `{"content":[]}`, string(send(t, c, core.Modern, `{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`).Result))
	}
}

// The level that a legacy client has set for its session is part of each request to a modern server.
func TestLogLevelOfSessionIsSentWithModernCalls(t *testing.T) {
	t.Parallel()
	var called string
	inner := respondWith(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{}}`, "tools/call": `{"resultType":"complete","content":[]}`,
	})
	c := connectRemote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		called = string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}), core.Modern, nil)
	for level, want := range map[string]bool{"error": true, "": false} {
		_, err := c.Send(t.Context(), &core.Call{Era: core.Legacy, Method: "tools/call", Params: json.RawMessage(`{"name":"a"}`), LogLevel: level}, nil)
		require.NoError(t, err)
		assert.Equalf(t, want, strings.Contains(called, `"io.modelcontextprotocol/logLevel":"error"`), "%q", level)
		assert.Equalf(t, want, strings.Contains(called, "logLevel"), "%q", level)
	}
}
