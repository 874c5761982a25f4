//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testServer returns the entry of a server of mcptest, which this test binary runs.
func testServer(t testing.TB, mode string) object {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return object{"command": self, "env": object{mcptest.Env: mode}}
}

// rawClient sends requests to one endpoint and reads responses byte by byte.
type rawClient struct {
	t          testing.TB
	url, token string
	session    string // of the legacy era
	modern     bool
	folder     string // that the client states in a header, or ""
}

// request returns a request with the headers of the client.
func (c *rawClient) request(ctx context.Context, verb, method, name, body string) *http.Request {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, verb, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.folder != "" {
		req.Header.Set("X-Drawbridge-Workspace", c.folder)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	if c.modern {
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	return req
}

func (c *rawClient) post(method, name, body string) string {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(c.request(context.Background(), "POST", method, name, body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode >= 300 {
		c.t.Fatalf("%s: %d %s", method, resp.StatusCode, tail(string(reply)))
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return string(reply)
}

func (c *rawClient) initialize() {
	c.t.Helper()
	c.post("initialize", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}`)
	c.post("notifications/initialized", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"0"}}`

func TestServerBytesArriveUnchanged(t *testing.T) {
	t.Parallel()
	// At the address for all servers the title of a tool contains its server, unless that is
	// disabled. Besides names and ids this is all that we ever change.
	d := start(t, object{"bridge": object{"describeServer": "off"}, "mcpServers": object{"quirky": testServer(t, "quirky"), "echo": testServer(t, "echo")}})
	d.running("quirky", "echo")
	token := d.token("raw")
	renamed := func(tool, public string) string {
		return strings.Replace(tool, `"name":"odd"`, `"name":"`+public+`"`, 1)
	}
	// Numbers, escapes and the order of keys must be preserved; no encoder would write this text.
	const arguments = `{"z":1.50,"n":9007199254740993,"e":"\u00e9\/","a":[1e3,-0.0],"nothing":null}`

	for _, at := range []struct{ path, quirky, echo string }{
		{"/mcp", "quirky__odd", "echo__echo"},
		{"/s/quirky/mcp", "odd", ""},
		{"/s/echo/mcp", "", "echo"},
	} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s modern=%v", at.path, modern), func(t *testing.T) {
				c := &rawClient{t: t, url: d.url + at.path, token: token, modern: modern}
				meta, comma := "", ""
				if modern {
					meta, comma = modernMeta, ","
				} else {
					c.initialize()
				}
				if at.quirky != "" {
					list := c.post("tools/list", "", `{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{`+meta+`}}`)
					assert.Contains(t, list, renamed(mcptest.QuirkyTool, at.quirky), "the list holds")
					got := c.post("tools/call", at.quirky, `{"jsonrpc":"2.0","id":"a\u0062","method":"tools/call","params":{"name":"`+at.quirky+`","arguments":{}`+comma+meta+`}}`)
					want := mcptest.QuirkyResult
					if modern {
						want = strings.TrimPrefix(strings.Split(want, `,"_meta"`)[0], "{") // the era adds fields at the start and the end of the result
					}
					assert.Contains(t, got, want, "the result")
					assert.Falsef(t, !modern && !strings.Contains(got, `"id":"a\u0062"`) && !strings.Contains(got, `"id":"ab"`), "the id is lost: %s", got)
				}
				if at.echo != "" {
					got := c.post("tools/call", at.echo, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+at.echo+`","arguments":`+arguments+comma+meta+`}}`)
					assert.Contains(t, got, `"structuredContent":`+arguments, "the server got other arguments")
				}
			})
		}
	}
}
