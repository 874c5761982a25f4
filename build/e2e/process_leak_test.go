//go:build e2e

package e2e

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// processTreeShapes are process trees in which some process tries to survive. In the scripts SERVER
// is a real MCP server and IDLE an idle process; both have the token of one start and the number of
// the tree on their command line, by which a test finds them whatever their parent is. least is the
// number of processes of a running tree.
//
// The trap makes a shell and all its children ignore every signal that can be ignored. A "stubborn"
// server also ignores the end of its input.
var processTreeShapes = map[string]struct {
	mode, script string
	least        int
}{
	"polite":     {"echo", `sh -c 'SERVER; :'; :`, 3},
	"direct":     {"stubborn", `exec SERVER`, 1},
	"npx":        {"stubborn", `sh -c 'sh -c "SERVER; :"; :'; :`, 4},
	"npxdeaf":    {"stubborn", `trap '' TERM HUP INT; sh -c 'sh -c "SERVER; :"; :'; :`, 4},
	"helpers":    {"stubborn", `trap '' TERM HUP INT; IDLE & IDLE & IDLE & exec SERVER`, 4},
	"setsid":     {"stubborn", `trap '' TERM HUP INT; setsid IDLE & exec SERVER`, 2},
	"doublefork": {"stubborn", `(setsid sh -c "trap '' TERM HUP INT; IDLE & exit 0" &); exec SERVER`, 2},
	"second":     {"stubborn", `setsid --fork SERVER </dev/null; exec SERVER`, 2},
	// reborn is a daemon that forks all the time, so that its process id keeps changing.
	"reborn": {"stubborn", `setsid sh "$REBORN" "$REBORN" TOKEN & exec SERVER`, 2},
	// bare has an empty environment and its own session: only its ancestors identify it.
	"bare": {"stubborn", `env -i setsid sh -c "trap '' TERM HUP INT; exec IDLE" & exec SERVER`, 2},
}

// %d is the process of the test: a test that is killed leaves nothing behind.
const reborn = `trap '' TERM HUP INT
kill -0 %d || exit
sleep 0.05
setsid sh "$1" "$1" "$2" &
`

// leakLab runs daemons one after the other with the same data.
type leakLab struct {
	*daemon
	server, reborn string // programs
	shapes         []string
	token          string
}

func newLab(t testing.TB) *leakLab {
	dir := t.TempDir()
	l := &leakLab{
		daemon: newDaemon(t),
		server: smallServer(t), reborn: filepath.Join(dir, "reborn.sh"),
	}
	require.NoError(t, os.WriteFile(l.reborn, fmt.Appendf(nil, reborn, os.Getpid()), 0o600))
	for name := range processTreeShapes {
		l.shapes = append(l.shapes, name)
	}
	slices.Sort(l.shapes)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", tail(l.log.String()))
		}
	})
	return l
}

// without removes some servers from the lab.
func (l *leakLab) without(names ...string) {
	l.shapes = slices.DeleteFunc(slices.Clone(l.shapes), func(name string) bool { return slices.Contains(names, name) })
}

// begin writes a configuration with a new token and starts a daemon with it, without waiting.
func (l *leakLab) begin() {
	l.t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1e12))
	if err != nil {
		l.t.Fatal(err)
	}
	l.token = fmt.Sprintf("%012d", number)
	servers := object{}
	for i, name := range l.shapes {
		shape := processTreeShapes[name]
		script := strings.NewReplacer("SERVER", "$SERVER "+shape.mode+" TOKEN", "IDLE", "sleep 86400.TOKEN").Replace(shape.script)
		servers[name] = object{
			"command": "/bin/sh", "args": []string{"-c", strings.ReplaceAll(script, "TOKEN", l.mark(i))},
			"env": object{"SERVER": l.server, "REBORN": l.reborn},
		}
	}
	l.beginWith(servers)
}

// mark is the text on the command lines of the i-th tree of this start. sleep reads it as a
// fraction.
func (l *leakLab) mark(i int) string { return fmt.Sprintf("%s%02d", l.token, i) }

// beginWith starts a daemon with servers, without waiting.
func (l *leakLab) beginWith(servers object) {
	l.t.Helper()
	l.write("config.jsonc", object{"mcpServers": servers})
	// The runtime file of a killed daemon must not be mistaken for that of the next one.
	if err := os.Remove(filepath.Join(l.data, "runtime.json")); err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	l.startProcess("127.0.0.1:0")
	cmd, done := l.cmd, l.done
	l.t.Cleanup(func() { // after a failure; otherwise it has exited
		cmd.Process.Kill()
		<-done
	})
}

// waitForAllTrees waits until every server responds to a call and all processes of its tree exist.
// It returns the daemon's process and all processes below the watchdog.
func (l *leakLab) waitForAllTrees() (daemon int, family []process) {
	l.t.Helper()
	daemon = l.waitReady()
	l.running(l.shapes...)
	for _, name := range l.shapes {
		code, body := l.do("POST", "/api/v1/call", strings.NewReader(`{"server":"`+name+`","tool":"echo","arguments":{"here":"`+l.token+`"}}`))
		if code != 200 || !strings.Contains(body, l.token) {
			l.t.Fatalf("server %s answers %d %s", name, code, body)
		}
	}
	eventually.Complete(l.t, limit(5*time.Second), func() string {
		all := carrying(l.token)
		for i, name := range l.shapes {
			if n := len(holding(all, l.mark(i))); n < processTreeShapes[name].least {
				return fmt.Sprintf("only %d of %d processes of %q live: %s", n, processTreeShapes[name].least, name, strings.Join(all, "; "))
			}
		}
		return ""
	})
	return daemon, descendants(l.cmd.Process.Pid)
}

// carrying returns the command lines on this machine that contain token.
func carrying(token string) (found []string) {
	for _, p := range processes() {
		if p.state != "Z" && strings.Contains(p.command, token) {
			found = append(found, fmt.Sprintf("%d %s", p.pid, p.command))
		}
	}
	return found
}

// holding returns the lines that contain text.
func holding(lines []string, text string) (found []string) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// gone waits until no process of a daemon and its servers is left, and returns the time since
// began.
func (l *leakLab) gone(began time.Time, token string, family []process) time.Duration {
	l.t.Helper()
	eventually.Complete(l.t, limit(2*time.Second)-time.Since(began), func() string {
		if left := carrying(token); len(left) > 0 {
			return fmt.Sprintf("%d left behind: %s", len(left), strings.Join(left, "; "))
		}
		return alive(family)
	})
	return time.Since(began)
}

// rounds returns the number of rounds of a leak test: DRAWBRIDGE_ROUNDS if set, otherwise inCI in
// CI and plain elsewhere.
func rounds(t testing.TB, plain, inCI int) int {
	if text := os.Getenv("DRAWBRIDGE_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.Truef(t, err == nil && n >= 1, "DRAWBRIDGE_ROUNDS=%q is not a number of rounds", text)
		return n
	}
	if os.Getenv("CI") == "true" {
		return inCI
	}
	return plain
}

// times are durations of one kind.
type times []time.Duration

func (l times) String() string {
	if len(l) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(l))
	return fmt.Sprintf("median %s, worst %s of %d", sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond), len(sorted))
}

// smallServer builds the program mcpserver, which starts much faster than this test binary.
func smallServer(t testing.TB) string {
	t.Helper()
	program, err := buildSmallServer()
	require.NoError(t, err)
	return program
}

var buildSmallServer = onceBuilt("mcpserver", "github.com/drawbridge-mcp/drawbridge/backend/mcptest/mcpserver")

// onceBuilt returns a function that builds a program, once for all tests.
func onceBuilt(name, path string) func() (program string, err error) {
	return sync.OnceValues(func() (string, error) {
		program := filepath.Join(output, name)
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, path)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot build %s: %w\n%s", name, err, out)
		}
		return program, nil
	})
}

// The three kinds of crash, each with its own lab, run in parallel, so that one works while another
// waits.
func TestNoProcessOutlivesKilledDaemonOrWatchdog(t *testing.T) {
	t.Parallel()
	smallServer(t)
	n := rounds(t, 5, 8)
	var all sync.WaitGroup
	for accident, run := range map[string]func(*testing.T, int){
		"daemon": daemonKilled, "watchdog": watchdogKilled, "both": bothKilled,
	} {
		all.Go(func() { t.Run(accident, func(t *testing.T) { run(t, n) }) })
	}
	all.Wait()
}

// The daemon is killed: its watchdog ends the processes that it leaves behind.
func daemonKilled(t *testing.T, n int) {
	l := newLab(t)
	var up, took times
	for range n {
		began := time.Now()
		l.begin()
		daemon, family := l.waitForAllTrees()
		up = append(up, time.Since(began))
		began = time.Now()
		syscall.Kill(daemon, syscall.SIGKILL)
		took = append(took, l.gone(began, l.token, family))
		<-l.done
	}
	t.Logf("0 processes left after a kill of the daemon: %s; a start: %s", took, up)
}

// The watchdog is killed: the daemon exits, because nobody could clean up after it.
func watchdogKilled(t *testing.T, n int) {
	l := newLab(t)
	var up, took times
	for range n {
		began := time.Now()
		l.begin()
		_, family := l.waitForAllTrees()
		up = append(up, time.Since(began))
		began = time.Now()
		l.cmd.Process.Kill()
		took = append(took, l.gone(began, l.token, family))
		<-l.done
	}
	t.Logf("0 processes left after a kill of the watchdog: %s; a start: %s", took, up)
}

// Both are killed; the next start ends their processes. It cannot find a bare one, because its dead
// ancestors no longer identify it.
func bothKilled(t *testing.T, n int) {
	l := newLab(t)
	l.without("bare")
	var up, took times
	swept := 0
	l.begin()
	for range n {
		began := time.Now()
		daemon, family := l.waitForAllTrees()
		up = append(up, time.Since(began))
		token := l.token
		l.cmd.Process.Signal(syscall.SIGSTOP)
		syscall.Kill(daemon, syscall.SIGKILL)
		l.cmd.Process.Kill()
		<-l.done
		eventually.Complete(t, limit(2*time.Second), func() string { return alive(family[:2]) })
		swept += len(carrying(token))
		began = time.Now()
		l.begin()
		took = append(took, l.gone(began, token, family))
	}
	_, family := l.waitForAllTrees()
	began := time.Now()
	l.stop()
	if left := carrying(l.token); len(left) > 0 {
		t.Errorf("after a stop: %s, %s", strings.Join(left, "; "), alive(family))
	}
	t.Logf("0 processes left after a kill of both, then a start: %s (%d processes swept); the servers after a start: %s; a stop took %s",
		took, swept, up, time.Since(began).Round(time.Millisecond))
	assert.NotEqual(t, 0, swept, "there was never anything to sweep: the kill of both proves nothing")
	assert.Contains(t, l.log.String(), "left over from an earlier run", "the start after both were killed does not say what it cleaned up")
}
