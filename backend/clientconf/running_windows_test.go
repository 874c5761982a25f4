package clientconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Claude Code has a program of the same name.
func TestRunningClientIsRecognizedByItsProgram(t *testing.T) {
	src, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	for file, want := range map[string]string{`AnthropicClaude\app-1.2.3\claude.exe`: "claude-desktop", `.local\bin\claude.exe`: "", `Cursor\Cursor.exe`: "cursor"} {
		program := filepath.Join(t.TempDir(), file)
		require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o700))
		require.NoError(t, os.WriteFile(program, src, 0o700))
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "CLIENTCONF_WAIT=1")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		for _, id := range []string{"claude-desktop", "cursor"} {
			client, err := ByID(id)
			require.NoError(t, err)
			if isRunning(client) != (id == want) {
				t.Errorf("while %s runs, %s counts as running: %v", file, id, id != want)
			}
		}
		in.Close()
		require.NoError(t, cmd.Wait())
	}
}
