//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// npmServer returns the entry of a server that is installed with npm for these tests.
func npmServer(t testing.TB, name string, args ...string) object {
	t.Helper()
	script := abs("node_modules/@modelcontextprotocol/" + name + "/dist/index.js")
	_, err := os.Stat(script)
	require.NoError(t, err)
	return object{"command": node, "args": append([]string{script}, args...)}
}

// realServers returns a configuration with four published servers, and the folder that one of them
// serves.
func realServers(t testing.TB) (config object, files string) {
	files = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(files, "hello.txt"), []byte("hello from a real file\n"), 0o600))
	memory := npmServer(t, "server-memory")
	memory["env"] = object{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	return object{"mcpServers": object{
		"files":    npmServer(t, "server-filesystem", files),
		"every":    npmServer(t, "server-everything"),
		"memory":   memory,
		"thinking": npmServer(t, "server-sequential-thinking"),
	}}, files
}

type driven struct {
	Tools   []string
	Results []struct {
		Content  []struct{ Type, Text string }
		IsError  bool
		Thrown   string
		Progress []struct{ Progress, Total float64 } // if the call has the argument wantProgress
	}
}

type toolCall struct {
	Name      string `json:"name"`
	Arguments object `json:"arguments"`
}

// drive runs one of the clients in clients/ against url.
func drive(t testing.TB, client, url, token, name string, calls ...toolCall) driven {
	t.Helper()
	order, err := json.Marshal(object{"url": url, "token": token, "name": name, "calls": calls})
	require.NoError(t, err)
	cmd := command(t, nil, node, abs("clients/"+client+".mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var got driven
	require.NoError(t, json.Unmarshal([]byte(run(t, cmd, 0)), &got))
	return got
}

func TestRealServersWorkInBothEras(t *testing.T) {
	t.Parallel()
	config, files := realServers(t)
	d := start(t, config)
	d.running("files", "every", "memory", "thinking")

	for client, want := range map[string]struct{ version, era string }{
		"legacy": {"1.32.2", "legacy"},
		"modern": {"2.4.0", "modern"},
	} {
		t.Run(client, func(t *testing.T) {
			name := "e2e-" + client
			got := drive(t, client, d.url+"/mcp", d.token(client), name,
				toolCall{"files__read_text_file", object{"path": filepath.Join(files, "hello.txt")}},
				toolCall{"every__echo", object{"message": "salut"}},
				toolCall{"memory__read_graph", object{}},
				toolCall{"thinking__sequentialthinking", object{"thought": "a", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}},
			)
			for _, tool := range []string{"files__read_text_file", "files__list_directory", "every__echo", "memory__create_entities", "thinking__sequentialthinking"} {
				assert.Contains(t, got.Tools, tool)
			}
			count := map[string]int{}
			for _, tool := range got.Tools {
				server, _, ok := strings.Cut(tool, "__")
				assert.Truef(t, ok, "tool %q is not named server__tool", tool)
				count[server]++
			}
			for server, least := range map[string]int{"files": 14, "every": 13, "memory": 9, "thinking": 1} {
				assert.Truef(t, count[server] >= least, "%s lists %d tools, at least %d expected", server, count[server], least)
			}
			for i, fragment := range []string{"hello from a real file", "salut", "entities", "thoughtNumber"} {
				r := got.Results[i]
				if r.Thrown != "" || r.IsError || len(r.Content) == 0 || !strings.Contains(r.Content[0].Text, fragment) {
					t.Errorf("call %d: %+v, want %q in it", i, r, fragment)
				}
			}
			eventually.Complete(t, limit(2*time.Second), func() string {
				seen := map[string]bool{}
				for _, c := range d.calls() {
					if c.Client == name && c.ClientVersion == want.version && c.Token == client && c.Era == want.era && c.Outcome == "ok" && c.TookNs > 0 {
						seen[c.Server] = true
					}
				}
				if len(seen) != 4 {
					return "in the history are only calls to " + strings.Join(keys(seen), ", ")
				}
				return ""
			})
		})
	}
}

func keys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
