//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notes is a server in one file, as a bundle contains it.
const notes = `const rl = require('node:readline').createInterface({ input: process.stdin })
rl.on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const answer = (result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n')
  if (method === 'initialize') answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } })
  else if (method === 'tools/list') answer({ tools: [{ name: 'read_notes', description: 'Notes of ' + process.argv[2] + (process.env.NOTES_TOKEN ? ' with a token' : ''), inputSchema: { type: 'object' } }] })
  else if (id !== undefined) answer({})
})
`

const notesManifest = `{"manifest_version":"0.3","name":"notes","display_name":"Notes","version":"1.0.0","description":"Notes as tools","author":{"name":"Ada"},
 "server":{"type":"node","entry_point":"index.js","mcp_config":{"command":"node","args":["${__dirname}/index.js","${user_config.dir}"],"env":{"NOTES_TOKEN":"${user_config.token}"}}},
 "user_config":{"dir":{"type":"directory","title":"Folder","required":true},"token":{"type":"string","title":"Token","sensitive":true}}}`

func bundle(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, body := range files {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(w, body)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return out.Bytes()
}

// The marketplace, bundles and copies of the configuration on the page of a real daemon:
// with our own registry, a package that npx starts, and secrets in the store.
func TestServersAreInstalledOnPage(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load():
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/v0.1/servers":
			fmt.Fprint(w, `{"servers":[
 {"server":{"name":"com.example/files","title":"Example files","description":"Files of one folder","version":"1.0.0","packages":[{"registryType":"npm","identifier":"@modelcontextprotocol/server-filesystem","version":"9.9.9","transport":{"type":"stdio"},"packageArguments":[{"type":"positional","valueHint":"folder","isRequired":true,"isRepeated":true,"format":"filepath"}],"environmentVariables":[{"name":"EXAMPLE_KEY","isRequired":true,"isSecret":true}]},{"registryType":"pypi","identifier":"example-files","version":"2.0.0","transport":{"type":"stdio"},"environmentVariables":[{"name":"EXAMPLE_KEY","isRequired":true,"isSecret":true}]}]}},
 {"server":{"name":"com.example/evil","description":"x","packages":[{"registryType":"npm","identifier":"good","transport":{"type":"stdio"},"runtimeArguments":[{"type":"named","name":"--call","value":"evil"}]}]}}
],"metadata":{}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer registry.Close()
	// This npx replaces the package registry, which the test does not use.
	programs := t.TempDir()
	putProgram(t, filepath.Join(programs, "npx"), "shift 2\nexec "+node+" "+abs("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")+" \"$@\"\n")
	putProgram(t, filepath.Join(programs, "npm"), "echo '\"9.9.10\"'\n")
	// Servers find programs in the PATH of the user's login shell.
	home := t.TempDir()
	put(t, filepath.Join(home, ".profile"), "export PATH="+programs+":$PATH\n")
	// A package that npx has installed before.
	put(t, filepath.Join(home, ".npm/_npx/0123456789abcdef/node_modules/@modelcontextprotocol/server-filesystem/package.json"), `{"version":"9.9.8"}`)
	files := t.TempDir()
	config := object{"mcpServers": object{"demo": demo()}, "directory": object{"url": registry.URL}}
	d := start(t, config, "HOME="+home, "PATH="+programs+":"+os.Getenv("PATH"))
	d.running("demo")
	good, evil := filepath.Join(files, "notes.mcpb"), filepath.Join(files, "evil.mcpb")
	put(t, good, string(bundle(t, map[string]string{"manifest.json": notesManifest, "index.js": notes})))
	put(t, evil, string(bundle(t, map[string]string{"manifest.json": notesManifest, "index.js": notes, "../../evil": "x"})))
	is := func(away bool) func(url.Values) string {
		return func(url.Values) string { down.Store(away); return "" }
	}
	browse(t, d, "page-install-servers.mjs", object{
		"token":   d.token("life"),
		"control": control(t, d, nil, map[string]func(url.Values) string{"/down": is(true), "/up": is(false)}),
		"folder":  files, "good": good, "evil": evil, "bundles": filepath.Join(d.data, "bundles"),
	}, nil)
	for _, at := range []string{filepath.Join(files, "..", "evil"), filepath.Join(d.data, "evil"), filepath.Join(d.data, "..", "evil")} {
		_, err := os.Stat(at)
		assert.Errorf(t, err, "%s is there", at)
	}
}
