//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Three servers have equal resource URIs, and one of them has two accounts. At /mcp, every URI that
// a client finds in a list, in the _meta of a tool and in the _meta of a result leads to the server
// that it came from, in both eras. At the address of one server, URIs are those of the server.
func TestEqualURIsOfSeveralServersAndAccountsLeadToTheirOwn(t *testing.T) {
	t.Parallel()
	const apps = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}` // else the URIs of apps are hidden
	servers := object{}
	ids := []string{"home", "office", "third"}
	for _, id := range ids {
		servers[id] = object{"command": node, "args": []string{abs("clients/mcp-apps-server.mjs")}, "env": object{"ACCOUNT": id}}
	}
	folder := t.TempDir()
	servers["home"].(object)["accounts"] = object{"work": object{"env": object{"ACCOUNT": "work"}, "folders": []string{folder}}}
	d := start(t, object{"mcpServers": servers})
	d.running(ids...)
	token := d.token("uris")
	for _, modern := range []bool{false, true} {
		for _, path := range append([]string{"/mcp"}, "/s/home/mcp", "/s/office/mcp", "/s/third/mcp") {
			c := &rawClient{t: t, url: d.url + path, token: token, modern: modern}
			if !modern {
				c.initializeWith(apps)
			}
			ask := func(method, name, params string) (result json.RawMessage) {
				if modern {
					params = strings.TrimPrefix(params+","+strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":`+apps, 1), ",")
				}
				said := c.post(method, name, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`)
				var m struct{ Result json.RawMessage }
				err := json.Unmarshal([]byte(said[strings.Index(said, "{"):]), &m)
				require.Truef(t, err == nil && m.Result != nil, "%s %s: %s", path, method, said)
				return m.Result
			}
			read := func(uri, account string) {
				t.Helper()
				got := ask("resources/read", uri, fmt.Sprintf(`"uri":%q`, uri))
				var r struct{ Contents []struct{ URI, Text string } }
				if json.Unmarshal(got, &r) != nil || len(r.Contents) != 1 || r.Contents[0].Text != "of "+account || r.Contents[0].URI != uri {
					t.Errorf("%s modern=%v: %s of %s is %s", path, modern, uri, account, got)
				}
			}
			var tools struct {
				Tools []struct {
					Name string
					Meta struct {
						UI struct{ ResourceURI string }
					} `json:"_meta"`
				}
			}
			_ = json.Unmarshal(ask("tools/list", "", ""), &tools)
			seen := map[string]bool{}
			for _, tool := range tools.Tools {
				account, found := strings.CutSuffix(tool.Name, "__account")
				if own := strings.TrimSuffix(strings.TrimPrefix(path, "/s/"), "/mcp"); tool.Name == "account" && path != "/mcp" {
					account, found = own, true
				}
				if !found {
					continue
				}
				seen[tool.Meta.UI.ResourceURI] = true
				assert.Falsef(t, path != "/mcp" && tool.Meta.UI.ResourceURI != "ui://account", "%s: the tool refers to %s", path, tool.Meta.UI.ResourceURI)
				read(tool.Meta.UI.ResourceURI, account)
				var result struct {
					Content []struct{ URI string }
					Meta    struct {
						UI struct{ ResourceURI string }
					} `json:"_meta"`
				}
				_ = json.Unmarshal(ask("tools/call", tool.Name, fmt.Sprintf(`"name":%q,"arguments":{}`, tool.Name)), &result)
				require.Len(t, result.Content, 1, path)
				require.Equal(t, tool.Meta.UI.ResourceURI, result.Meta.UI.ResourceURI, path)
				read(result.Content[0].URI, account)
			}
			want := 1
			if path == "/mcp" {
				want = len(ids)
			}
			assert.Lenf(t, seen, want, "%s modern=%v", path, modern)
			listed := string(ask("resources/list", "", ""))
			assert.Equalf(t, want, strings.Count(listed, `"uri":"app:`), "%v %v", path, listed)
		}
	}
	for _, path := range []string{"/mcp", "/s/home/mcp"} { // the folder of the client decides the account
		for dir, account := range map[string]string{folder: "work", "": "home"} {
			c := &rawClient{t: t, url: d.url + path, token: token, modern: true, folder: dir}
			got := c.post("resources/read", "ui://account", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://account",`+modernMeta+`}}`)
			assert.Contains(t, got, `"text":"of `+account+`"`, path)
		}
	}
}
