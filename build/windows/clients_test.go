//go:build windows && e2e

package windows

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file with a byte order mark and the line ends of Windows keeps both while it is connected, is restored
// byte for byte, and an entry that another program removes is reported.
func TestClientsAreConnectedGuardedAndRestoredByteForByte(t *testing.T) {
	const servers = "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"own\": {\"command\": \"C:\\\\Program Files\\\\own.exe\"}\r\n\t}\r\n}\r\n"
	for name, c := range map[string]struct{ client, file, installed, before string }{
		"Claude Desktop":                      {"claude-desktop", `AppData\Roaming\Claude\claude_desktop_config.json`, `AppData\Local\AnthropicClaude`, servers},
		"Claude Desktop from Microsoft Store": {"claude-desktop", `AppData\Local\Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude\claude_desktop_config.json`, "", servers},
		"Claude Code":                         {"claude-code", `.claude.json`, "", servers},
		"Cursor":                              {"cursor", `.cursor\mcp.json`, "", servers},
		"VS Code":                             {"vscode", `AppData\Roaming\Code\User\mcp.json`, "", strings.Replace(servers, "mcpServers", "servers", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.serve()
			file := filepath.Join(m.home, c.file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.MkdirAll(filepath.Join(m.home, c.installed), 0o700), os.WriteFile(file, []byte(c.before), 0o600)); err != nil {
				t.Fatal(err)
			}
			m.must("clients", "connect", c.client, "--yes")
			after, err := os.ReadFile(file)
			if err != nil || !bytes.HasPrefix(after, []byte(c.before[:20])) || !bytes.Contains(after, []byte(`drawbridge.exe`)) || bytes.Contains(bytes.ReplaceAll(after, []byte("\r\n"), nil), []byte("\n")) {
				t.Errorf("%v\n%q", err, after)
			}
			require.NoError(t, os.WriteFile(file, []byte(c.before), 0o600))
			eventually.TrueWithin(t, 30*time.Second, "the removed entry is reported", func() bool {
				_, out := m.run("", "doctor")
				return strings.Contains(out, "no longer")
			})
			require.NoError(t, os.WriteFile(file, after, 0o600))
			m.must("clients", "undo", c.client, "--yes")
			again, err := os.ReadFile(file)
			assert.Truef(t, err == nil && string(again) == c.before, "%v\n%q", err, again)
		})
	}
}
