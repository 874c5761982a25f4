package clientconf

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain lets the test binary act as the writer that is killed.
func TestMain(m *testing.M) {
	if home := os.Getenv("CLIENTCONF_WRITE"); home != "" {
		writeForever(home, os.Getenv("CLIENTCONF_DIR"))
	}
	if home := os.Getenv("CLIENTCONF_WRITE_ONCE"); home != "" {
		writeOnce(home, os.Getenv("CLIENTCONF_DIR"))
		os.Exit(0)
	}
	if os.Getenv("CLIENTCONF_WAIT") != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func writer(home, dir string) *Connector {
	c, err := New(Options{
		System: System{GOOS: "linux", Home: home, Getenv: func(string) string { return "" }},
		Dir:    dir, Program: "/opt/drawbridge/drawbridge",
	})
	if err != nil {
		panic(err)
	}
	return c
}

// writeOnce connects and prints the error, if any.
func writeOnce(home, dir string) {
	c := writer(home, dir)
	p, err := c.Plan(Choice{Client: "claude-code"})
	if err == nil {
		err = c.Apply(context.Background(), p)
	}
	fmt.Println(err)
}

// writeForever connects and disconnects until it is killed.
func writeForever(home, dir string) {
	c := writer(home, dir)
	for {
		os.Stdout.WriteString(".") // the next step writes to the disk
		if p, err := c.Plan(Choice{Client: "gemini-cli"}); err == nil {
			_ = c.Apply(context.Background(), p) // an error is expected: the kill is what is tested
		}
		_, _ = c.Undo(context.Background(), "gemini-cli", UndoOptions{})
	}
}

func TestKilledWriterLeavesOldOrNewFileAndIsUndoable(t *testing.T) {
	t.Parallel()
	const enough = 30 // enough kills hit the middle of a write
	rounds, atMost := enough, 5*time.Second
	if n, err := strconv.Atoi(os.Getenv("DRAWBRIDGE_KILL_ROUNDS")); err == nil {
		rounds, atMost = n, time.Hour
	}
	c, home := newConnector(t)
	path := filepath.Join(home, ".gemini", "settings.json")
	before := "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  },\n  \"pad\": \"" + strings.Repeat("p", 60_000) + "\"\n}\n"
	write(t, path, before)
	p, err := c.Plan(Choice{Client: "gemini-cli"})
	require.NoError(t, err)
	after := string(p.after)
	began, done, written, torn := time.Now(), 0, 0, 0
	for round := 0; round < rounds && (round < 10 || time.Since(began) < atMost); round++ {
		done++
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CLIENTCONF_WRITE="+home, "CLIENTCONF_DIR="+c.dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		out.Read(make([]byte, 1))
		waitForKillMoment(path, int64(len(before)), round)
		cmd.Process.Kill()
		cmd.Wait()
		if temps, _ := filepath.Glob(filepath.Join(filepath.Dir(path), osutil.TempPrefix+"*")); len(temps) > 0 {
			torn++ // killed between creating the new file and renaming it
			for _, temp := range temps {
				os.Remove(temp)
			}
		}
		switch got := content(t, path); got {
		case before:
		case after:
			written++
			if how, err := c.Undo(context.Background(), "gemini-cli", UndoOptions{}); err != nil || content(t, path) != before {
				t.Fatalf("round %d: undone as %s (%v):\n%.300s", round, how, err, content(t, path))
			}
		default:
			t.Fatalf("round %d: torn: %d bytes\n%.300s", round, len(got), got)
		}
	}
	t.Logf("%d kills in %s; the file was the new one %d times, and half of a new one lay beside it %d times", done, time.Since(began), written, torn)
	assert.False(t, done >= enough && (written == 0 || written == done || torn == 0), "the kills did not come in the middle")
}

// waitForKillMoment waits until the next kill, in turn: a random time; until a temporary file exists
// that has probably not been renamed yet; until the file at path is no longer of the old size. A random
// time alone meets no write on a machine where the writer needs longer to begin.
func waitForKillMoment(path string, oldSize int64, round int) {
	var reached func() bool
	switch round % 3 {
	case 0:
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond) // random on purpose
		return
	case 1:
		reached = func() bool {
			temps, _ := filepath.Glob(filepath.Join(filepath.Dir(path), osutil.TempPrefix+"*"))
			return len(temps) > 0
		}
	default:
		reached = func() bool {
			info, err := os.Stat(path)
			return err == nil && info.Size() != oldSize
		}
	}
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); {
		if reached() {
			for wait := time.Now().Add(time.Duration(rand.IntN(1500)) * time.Microsecond); time.Now().Before(wait); {
			}
			return
		}
		time.Sleep(100 * time.Microsecond) // go test records each access to a file
	}
}
