package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommandsUseConfigOfRunningDaemon uses a daemon that was started with --config FILE, and a
// file at the default path that must not be read.
func TestCommandsUseConfigOfRunningDaemon(t *testing.T) {
	f := newFakeDaemon(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	running := filepath.Join(t.TempDir(), "mine.jsonc")
	unused := filepath.Join(f.Data, "config.jsonc")
	client := filepath.Join(home, ".cursor", "mcp.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(client), 0o700))
	for path, text := range map[string]string{
		running: `{"mcpServers":{"ours":{"command":"true"}}}`, unused: `{"mcpServers":{`,
		client: `{"mcpServers":{"theirs":{"command":"uvx","args":["theirs"]},"weird":{"command":5}}}`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	rt, err := loopback.ReadRuntime(f.Data)
	require.NoError(t, err)
	rt.Config = running
	require.NoError(t, loopback.WriteRuntime(f.Data, rt))
	for _, path := range []string{"GET /api/v1/doctor", "GET /api/v1/diagnostics", "POST /api/v1/config/reload"} { // responses of an older daemon
		f.NotFound(path, `{"code":"not_found","detail":"no such API endpoint"}`)
	}
	if got := f.Run(false, "validate"); got.Code != 0 || !strings.Contains(got.Out, running+" is valid: 1 server.") {
		t.Errorf("validate: %+v", got)
	}
	if got := f.Run(false, "doctor"); strings.Contains(got.Out, unused) || strings.Contains(got.Err, unused) {
		t.Errorf("doctor: %+v", got)
	}
	if got := f.Run(false, "diagnostics", "--json"); got.Code != 0 || !strings.Contains(got.Out, "ours") || strings.Contains(got.Out, unused) {
		t.Errorf("diagnostics: %+v", got)
	}
	got := f.Run(false, "backup")
	path := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(got.Out), "Backed up as "), ".")
	text, err := os.ReadFile(path)
	assert.Truef(t, err == nil && strings.Contains(string(text), "ours"), "backup: %+v, it holds %q (%v)", got, text, err)
	got = f.Run(false, "clients", "import", "cursor", "--yes")
	if got.Code != 1 || !strings.Contains(got.Err, "skipped weird (Cursor (IDE and cursor-agent))") || !strings.Contains(got.Err, "Correct these entries") || !strings.Contains(got.Out, `weird is skipped: its "command" is not text`) || !strings.Contains(got.Out, "Copied 1 server to "+running+". Skipped 1 server. Undo") {
		t.Errorf("import: %+v", got)
	}
	assert.Contains(t, f.Run(false, "clients", "import", "cursor", "--yes").Out, "Copied 0 servers to "+running+". 1 server already there. Skipped 1 server.")
	const one = `"skipped":[{"name":"weird","reason":"its \"command\" is not text"}]`
	if got := f.Run(false, "clients", "import", "--yes", "--json", "cursor"); got.Code != 1 || !strings.Contains(got.Out, one) {
		t.Errorf("import: %+v, want %s", got, one)
	}
	require.NoError(t, os.WriteFile(client, []byte(`{"mcpServers":{"weird":{"command":5}}}`), 0o600))
	const all = `"skipped":[{"client":"Cursor (IDE and cursor-agent)","reason":"cursor has no servers that can be copied or moved: weird: `
	if got := f.Run(false, "clients", "import", "--yes", "--json", "--all"); got.Code != 1 || !strings.Contains(got.Out, all) {
		t.Errorf("import: %+v, want %s", got, all)
	}
	gemini := filepath.Join(filepath.Dir(filepath.Dir(client)), ".gemini", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(gemini), 0o700))
	require.NoError(t, os.WriteFile(gemini, []byte(`{"mcpServers":{"good":{"command":"good"},"ws":{"type":"ws","url":"ws://x"}}}`), 0o600))
	if got := f.Run(false, "clients", "import", "--yes", "--all"); got.Code != 1 || !strings.Contains(got.Out, "Done: 1 server from 1 client") ||
		!strings.Contains(got.Err, "skipped Cursor (IDE and cursor-agent), ws (Gemini CLI)") || strings.Contains(got.Out, "restart") {
		t.Errorf("import beside a skipped server: %+v", got)
	}
	text, _ = os.ReadFile(running)
	assert.Contains(t, string(text), "theirs", "after the import the configuration")
	text, _ = os.ReadFile(unused)
	assert.Equal(t, `{"mcpServers":{`, string(text), "the import wrote into the file that nobody reads")
}
