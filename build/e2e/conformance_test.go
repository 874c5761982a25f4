//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// everythingServer builds the reference server of the official suite, at the version in our go.mod.
func everythingServer(t testing.TB) string {
	t.Helper()
	program, err := buildEverythingServer()
	require.NoError(t, err)
	return program
}

var buildEverythingServer = onceBuilt("everything-server", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")

// suite returns the official suite with arguments. Node.js keeps the compiled suite, because it runs
// about a hundred times.
func suite(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	env = append([]string{"HOME=" + t.TempDir(), "NODE_COMPILE_CACHE=" + abs("node_modules/.compile-cache")}, env...)
	return command(t, env, node, append([]string{abs("node_modules/@modelcontextprotocol/conformance/dist/index.js")}, args...)...)
}

// The test runs the required scenarios for a server of each revision, as frozen at its release.
// Permitted failures are in expected-failures.yaml; the suite also fails if a scenario in that list
// passes.
func TestOfficialConformanceSuite(t *testing.T) {
	t.Parallel()
	d := start(t, object{
		"mcpServers": object{"everything": object{"command": everythingServer(t)}},
		// The suite supports no tokens and expects the tool names of this server.
		"bridge": object{"requireToken": false, "naming": "{tool}"},
	})
	d.running("everything")
	for _, path := range []string{"/s/everything/mcp", "/mcp"} {
		for revision, required := range map[string]int{"2025-11-25": 30, "2026-07-28": 37} {
			t.Run(path+" "+revision, func(t *testing.T) {
				cmd := suite(t, nil, "server",
					"--url", d.url+path,
					"--requirements", revision,
					"--expected-failures", abs("expected-failures.yaml"),
					"--timeout", fmt.Sprint(limit(12e9).Milliseconds()),
					"--output-dir", t.TempDir())
				report := run(t, cmd, 0)
				name := "conformance-" + revision + strings.ReplaceAll(path, "/", "-") + ".txt"
				require.NoError(t, os.WriteFile(filepath.Join(output, name), []byte(report), 0o644))
				if n := len(scenario.FindAllString(report, -1)); n < required {
					t.Errorf("only %d scenarios ran, %d are required:\n%s", n, required, tail(report))
				}
				t.Log(strings.TrimSpace(tail(report)))
			})
		}
	}
}

// scenario matches the line of one scenario in the suite's summary.
var scenario = regexp.MustCompile(`(?m)^\s*[✓✗].*\d+ passed, \d+ failed`)
