//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client with results.maxTokens reads a long result in parts from the history, over HTTP in both
// eras and through the shim, also after a restart of the daemon.
func TestLongResultIsReadFromHistory(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.Mkdir(folder, 0o700))
	limit := object{"results": object{"maxTokens": 8000}}
	d := start(t, object{"mcpServers": object{"echo": testServer(t, "echo")}, "clients": object{"shim": limit, "raw": limit}})
	d.running("echo")
	raw := d.token("raw")
	legacy := &rawClient{t: t, url: d.url + "/mcp", token: raw}
	legacy.initialize()
	modern := &rawClient{t: t, url: d.url + "/mcp", token: raw, modern: true}
	shim := d.shimIn(folder)
	shim.initialize(`{}`)
	id := 0
	clients := map[string]func(tool, arguments string) string{
		"legacy": func(tool, arguments string) string {
			return legacy.post("tools/call", tool, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`)
		},
		"modern": func(tool, arguments string) string {
			return modern.post("tools/call", tool, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`,`+modernMeta+`}}`)
		},
		"shim": func(tool, arguments string) string {
			id++
			return shim.ask(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)).line
		},
	}
	type result struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			Meta              struct {
				Truncated struct {
					Result      string
					Bytes, Next int
				} `json:"drawbridge/truncated"`
			} `json:"_meta"`
		}
	}
	parse := func(answer string) (r result) {
		t.Helper()
		if err := json.Unmarshal([]byte(answer), &r); err != nil || len(r.Result.Content) == 0 {
			t.Fatalf("%v: %s", err, tail(answer))
		}
		return r
	}
	sent := strings.Repeat("a line of text, ünïcode 🙂\n", 6000)
	arguments, _ := json.Marshal(object{"text": sent})
	for _, name := range []string{"legacy", "modern", "shim"} {
		call := clients[name]
		first := parse(call("echo__echo", string(arguments)))
		mark := first.Result.Meta.Truncated
		require.Truef(t, mark.Result != "" && len(first.Result.StructuredContent) <= 0, "%s: not truncated: %+v", name, mark)
		text := ""
		for _, part := range first.Result.Content[:len(first.Result.Content)-1] {
			text += part.Text
		}
		require.Truef(t, len(text) == mark.Next && len(text) <= 32_000, "%s: the head has %d bytes: %+v", name, len(text), mark)
		for len(text) < mark.Bytes {
			part := parse(call("drawbridge__read_result", fmt.Sprintf(`{"result":%q,"offset":%d}`, mark.Result, len(text))))
			require.Len(t, part.Result.Content, 2, name)
			text += part.Result.Content[0].Text
		}
		var got struct{ Text string }
		err := json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):]), &got)
		assert.Truef(t, err == nil && got.Text == sent, "%s: the parts are another text: %v, %d bytes", name, err, len(text))
		if name == "shim" {
			d.stop()
			d.launch()
			part := parse(call("drawbridge__read_result", fmt.Sprintf(`{"result":%q,"offset":0}`, mark.Result)))
			assert.Truef(t, strings.HasPrefix(text, part.Result.Content[0].Text), "after a restart: %+v", part)
		}
	}
}
