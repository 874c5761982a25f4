//go:build e2e

package e2e

import (
	"path/filepath"
	"runtime"
	"testing"
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
	d := start(t, config)
	d.running("files", "every", "memory", "thinking")
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
}
