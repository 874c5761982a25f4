//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Cursor and others start the servers of their file at the moment it changes. Each round, such a client
// starts the shim that the move wrote and calls a tool, while the command still runs. ROUNDS sets the
// number of rounds.
func TestClientThatReloadsAtOnceSeesNoErrorAfterMove(t *testing.T) {
	t.Parallel()
	rounds, err := strconv.Atoi(os.Getenv("ROUNDS"))
	if err != nil {
		rounds = 15
	}
	d := start(t, object{"mcpServers": object{}})
	file := filepath.Join(d.home, ".cursor/mcp.json")
	original := fmt.Sprintf(`{"mcpServers": {"r": {"command": %q, "args": ["demo-server"]}}}`, binary)
	put(t, file, original)
	for round := range rounds {
		moved := make(chan string, 1)
		go func() { // the client's watch of its file
			for deadline := time.Now().Add(limit(10 * time.Second)); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				if src, _ := os.ReadFile(file); strings.Contains(string(src), "stdio") {
					break
				}
			}
			moved <- ""
		}()
		command := command(t, d.env(), binary, "clients", "move", "cursor", "--yes", "--data", d.data)
		require.NoError(t, command.Start())
		<-moved
		s := d.shimFor(t, "r")
		for id, method := range []string{"initialize", "tools/list", "tools/call"} {
			params := `"name":"echo","arguments":{"text":"hi"}`
			if method == "initialize" {
				params = `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lines","version":"0"}`
			}
			got := s.ask(id, method, params)
			assert.Truef(t, got.Result != nil && !(!strings.Contains(got.line, "echo") && method == "tools/list"), "round %d: %s: %s", round, method, got.line)
		}
		assert.NoError(t, s.end())
		require.NoError(t, command.Wait())
		d.cli(0, "clients", "undo", "cursor")
		require.Equal(t, original, take(t, file), "after undo the file")
	}
}

// shimFor starts a shim for one server.
func (d *daemon) shimFor(t *testing.T, server string) *lineClient {
	t.Helper()
	return startLines(t, command(t, d.env(), binary, "stdio", "--client", "cursor", "--server", server, "--data", d.data))
}
