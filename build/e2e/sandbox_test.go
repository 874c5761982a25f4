//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
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
	d := &daemon{t: t, data: filepath.Join(t.TempDir(), "data"), home: filepath.Dir(notes), log: new(lockedBuffer)}
	for _, dir := range []string{d.data, notes} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.write("config.jsonc", config)
	d.launch()
	d.running("files", "every", "memory", "thinking", "writer")
	got := drive(t, "modern", d.url+"/mcp", d.token("modern"), "e2e-sandbox",
		toolCall{"files__read_text_file", object{"path": filepath.Join(files, "hello.txt")}},
		toolCall{"files__write_file", object{"path": filepath.Join(files, "new.txt"), "content": "x"}},
		toolCall{"every__echo", object{"message": "salut"}},
		toolCall{"memory__read_graph", object{}},
		toolCall{"thinking__sequentialthinking", object{"thought": "a", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}},
	)
	for i, r := range got.Results {
		if r.IsError || r.Thrown != "" || len(r.Content) == 0 {
			t.Errorf("call %d: %+v", i, r)
		}
	}
	d.allowsRefusedPath(t, notes)
}

// allowsRefusedPath allows what the sandbox of "writer" refused to it, as the button on its page does.
func (d *daemon) allowsRefusedPath(t *testing.T, notes string) {
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
		return
	}
	eventually.Complete(t, limit(10e9), func() string {
		if d.get(path, &st); len(st.Refused) == 0 {
			return "no refusal is reported"
		}
		return ""
	})
	if one := st.Refused[0]; one.Path != filepath.Join(notes, "new.txt") || one.Allow != notes || one.Unreadable {
		t.Fatalf("refused: %+v", one)
	}
	body, err := json.Marshal(object{"mode": "write", "path": notes})
	if err != nil {
		t.Fatal(err)
	}
	if code, text := d.do("POST", path, bytes.NewReader(body)); code != http.StatusOK {
		t.Fatalf("allow: %d %s", code, text)
	}
	eventually.Complete(t, limit(20e9), func() string {
		if _, err := os.Stat(filepath.Join(notes, "new.txt")); err != nil {
			return err.Error()
		}
		return ""
	})
}
