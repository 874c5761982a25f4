//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRealServersWorkInTheirSandbox starts published servers with the default rules. Each lists its
// tools and answers a call.
func TestRealServersWorkInTheirSandbox(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("sandboxes require Linux")
	}
	config, files := realServers(t)
	for _, server := range config["mcpServers"].(object) {
		server.(object)["sandbox"] = object{"bestEffort": true}
	}
	// Another server writes to a folder that it may not, and reports the error of the system.
	notes := filepath.Join(t.TempDir(), "notes")
	config["mcpServers"].(object)["writer"] = object{
		"command": "/bin/sh", "args": []string{"-c", `echo x >"$HOME/notes/new.txt"; exec "$0" demo-server`, binary}, "sandbox": object{"bestEffort": true},
		"env": object{"HOME": filepath.Dir(notes)},
	}
	// A third one reports it in the result of a call.
	graph := npmServer(t, "server-memory")
	graph["env"], graph["sandbox"] = object{"MEMORY_FILE_PATH": filepath.Join(notes, "graph.jsonl")}, object{"bestEffort": true}
	config["mcpServers"].(object)["graph"] = graph
	d := newDaemon(t)
	d.home = filepath.Dir(notes)
	require.NoError(t, os.MkdirAll(notes, 0o700))
	d.write("config.jsonc", config)
	d.launch()
	d.running("files", "every", "memory", "thinking", "writer", "graph")
	got := drive(t, "modern", d.url+"/mcp", d.token("modern"), "e2e-sandbox",
		toolCall{"files__read_text_file", object{"path": filepath.Join(files, "hello.txt")}},
		toolCall{"files__write_file", object{"path": filepath.Join(files, "new.txt"), "content": "x"}},
		toolCall{"every__echo", object{"message": "salut"}},
		toolCall{"memory__read_graph", object{}},
		toolCall{"thinking__sequentialthinking", object{"thought": "a", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}},
		toolCall{"graph__create_entities", object{"entities": []object{{"name": "a", "entityType": "b", "observations": []string{"c"}}}}},
	)
	last := len(got.Results) - 1
	for i, r := range got.Results[:last] {
		assert.Truef(t, !r.IsError && r.Thrown == "" && len(r.Content) != 0, "call %d: %+v", i, r)
	}
	if d.allowsRefusedPath(t, notes) {
		d.explainsRefusedCall(t, got.Results[last].Content[0].Text, notes)
	}
}

// explainsRefusedCall checks what is said about a call of "graph" that the sandbox refused.
func (d *daemon) explainsRefusedCall(t *testing.T, result, notes string) {
	t.Helper()
	var st struct {
		Refused []struct{ Path, Allow string }
	}
	d.get("/api/v1/servers/graph/sandbox", &st)
	path := filepath.Join(notes, "graph.jsonl") // and more, because it writes another file first
	if len(st.Refused) != 1 || !strings.HasPrefix(st.Refused[0].Path, path) || st.Refused[0].Allow != notes || !strings.Contains(result, "EACCES") {
		t.Errorf("refused %+v, and the result is %s", st.Refused, result)
	}
	assert.Contains(t, d.cli(0, "logs", "graph"), "The sandbox denied access to "+path, "the log")
}

// allowsRefusedPath allows what the sandbox of "writer" refused to it, as the button on its page does. It
// reports whether this kernel refuses anything.
func (d *daemon) allowsRefusedPath(t *testing.T, notes string) bool {
	t.Helper()
	const path = "/api/v1/servers/writer/sandbox"
	var st struct {
		Protections []struct{ Enforced bool }
		Refused     []struct {
			Path, Allow string
			Unreadable  bool
		}
	}
	if d.get(path, &st); !st.Protections[0].Enforced {
		t.Log("this kernel has no Landlock, so nothing was refused")
		return false
	}
	eventually.TrueWithin(t, limit(10e9), "no refusal is reported", func() bool {
		d.get(path, &st)
		return len(st.Refused) != 0
	})
	one := st.Refused[0]
	require.Truef(t, one.Path == filepath.Join(notes, "new.txt") && one.Allow == notes && !one.Unreadable, "refused: %+v", one)
	body, err := json.Marshal(object{"mode": "write", "path": notes})
	require.NoError(t, err)
	code, text := d.do("POST", path, bytes.NewReader(body))
	require.Equal(t, http.StatusOK, code, text)
	eventually.Complete(t, limit(20e9), func() string {
		if _, err := os.Stat(filepath.Join(notes, "new.txt")); err != nil {
			return err.Error()
		}
		return ""
	})
	return true
}
