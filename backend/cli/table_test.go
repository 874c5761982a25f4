package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

const hostile = "a\x1b]52;c;ZXZpbA==\a\x1b[2J\u009b31m\u202egnp\u2066\u200b\x00\b\r\x7f\U000e0041"

// Every command, in every format, with text of servers and clients in each field of what the daemon says.
func TestNoControlCharacterReachesTerminal(t *testing.T) {
	text, _ := json.Marshal(hostile)
	fields := ""
	for _, name := range []string{"id", "name", "label", "title", "reason", "server", "tool", "client", "text", "message", "subject", "description", "output", "error", "detail", "hint", "host", "path", "diff", "command", "workspace", "account", "summary", "change", "version", "kind", "state", "outcome", "requestedBy", "arguments", "scope", "file", "pattern", "because", "session", "next", "content", "url"} {
		fields += `,"` + name + `":` + string(text)
	}
	one := `{` + fields[1:] + `}`
	document := `{"items":[` + one + `],"servers":[` + one + `],"notices":[` + one + `],"calls":[` + one + `]` + fields + `}`
	f := newFakeDaemon(t)
	f.Mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/export"):
			w.Header().Set("Content-Type", "text/csv")
			_, _ = io.WriteString(w, "id,reason\n1,\""+hostile+"\"\n")
		case strings.HasSuffix(r.URL.Path, "/log"):
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"items":[{"at":"2026-01-02T03:04:05Z","level":"error","text":`+string(text)+`}]}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, document)
		}
	})
	t.Setenv("HOME", t.TempDir())
	// Those that run until they are stopped, speak MCP, or act on this machine.
	others := []string{"serve", "stdio", "demo", "replay", "uninstall", "open", "quit", "wait", "backup", "restore", "doctor", "diagnostics"}
	n := 0
	var visit func(c *cobra.Command, path []string)
	visit = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			if !slices.Contains(others, sub.Name()) {
				visit(sub, append(slices.Clip(path), sub.Name()))
			}
		}
		if !c.Runnable() || len(path) == 0 {
			return
		}
		for _, format := range [][]string{nil, {"--json"}, {"--csv"}, {"--yaml"}, {"--all"}} {
			if format != nil && c.Flag(format[0][2:]) == nil {
				continue
			}
			for _, arguments := range [][]string{nil, {"x"}, {"x", "y"}} {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // some wait for a state
				got := f.runIn(ctx, true, slices.Concat(path, format, arguments)...)
				cancel()
				n++
				for name, shown := range map[string]string{"stdout": got.Out, "stderr": got.Err} {
					if i := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && r != '\t' && serverlog.Clean(string(r)) != string(r) }); i >= 0 {
						t.Errorf("%v %v %v writes %q to %s", path, format, arguments, shown[max(0, i-40):min(len(shown), i+20)], name)
					}
				}
			}
		}
	}
	visit(newProgram(Options{Features: features.Commands(), Env: terminal.Env{Stdout: io.Discard}}).command(), nil)
	assert.Truef(t, n >= 300, "only %d command lines", n)
	piped := f.Run(false, "history", "--csv")
	assert.Contains(t, piped.Out, hostile, "a pipe gets")
}
