//go:build e2e

package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drawbridge/backend/mcptest"
)

// shapes are trees of processes in which something wants to stay. In the scripts
// SERVER is a real MCP server and IDLE a process that does nothing; both carry the
// token of one start on their command line, by which a test finds them whoever their
// parent is. least is how many processes a tree has while it lives.
//
// The trap makes a shell and all that it starts ignore every polite signal. A server
// that is "stubborn" ignores the end of its input as well.
var shapes = map[string]struct {
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
	// reborn is a daemon that is never the same process for longer than a moment.
	"reborn": {"stubborn", `setsid sh "$REBORN" "$REBORN" TOKEN & exec SERVER`, 2},
	// bare has wiped its environment and has a session of its own: only its parents
	// tell whose it is.
	"bare": {"stubborn", `env -i setsid sh -c "trap '' TERM HUP INT; exec IDLE" & exec SERVER`, 2},
}

const reborn = `trap '' TERM HUP INT
sleep 0.05
setsid sh "$1" "$1" "$2" &
`

// lab runs one daemon after the other on the same data.
type lab struct {
	*daemon
	reborn string
	shapes []string
	token  string
}

func newLab(t testing.TB) *lab {
	dir := t.TempDir()
	l := &lab{
		daemon: &daemon{t: t, data: filepath.Join(dir, "data"), home: t.TempDir(), log: new(lockedBuffer)},
		reborn: filepath.Join(dir, "reborn.sh"),
	}
	if err := os.MkdirAll(l.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.reborn, []byte(reborn), 0o600); err != nil {
		t.Fatal(err)
	}
	for name := range shapes {
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

// without is the lab less some of its servers.
func (l *lab) without(names ...string) {
	l.shapes = slices.DeleteFunc(slices.Clone(l.shapes), func(name string) bool { return slices.Contains(names, name) })
}

// begin writes a configuration with a new token and starts a daemon on it. It does
// not wait.
func (l *lab) begin() {
	l.t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1e12))
	if err != nil {
		l.t.Fatal(err)
	}
	l.token = fmt.Sprintf("%012d", number)
	servers := object{}
	for _, name := range l.shapes {
		shape := shapes[name]
		script := strings.NewReplacer("SERVER", "$SERVER TOKEN", "IDLE", "sleep 86400.TOKEN").Replace(shape.script)
		servers[name] = object{
			"command": "/bin/sh", "args": []string{"-c", strings.ReplaceAll(script, "TOKEN", l.token)},
			"env": object{mcptest.Env: shape.mode, "SERVER": os.Args[0], "REBORN": l.reborn},
		}
	}
	l.beginWith(servers)
}

// beginWith starts a daemon with servers. It does not wait.
func (l *lab) beginWith(servers object) {
	l.t.Helper()
	l.write("config.jsonc", object{"mcpServers": servers})
	// What a killed daemon said of itself must not be taken for the next one's.
	if err := os.Remove(filepath.Join(l.data, "runtime.json")); err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	done := make(chan struct{})
	cmd := exec.Command(binary, "serve", "--data", l.data, "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Stdout, cmd.Stderr = l.env(), l.log, l.log
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		close(done)
	}()
	l.t.Cleanup(func() { // after a failure; otherwise it has ended
		cmd.Process.Kill()
		<-done
	})
	l.cmd, l.done = cmd, done
}

// living waits until every server answers a call and every process of its tree is
// there, and returns the daemon's own process and all processes below the watchdog.
func (l *lab) living() (daemon int, family []process) {
	l.t.Helper()
	eventually(l.t, limit(10*time.Second), func() string {
		if l.ended() {
			l.t.Fatal("the daemon ended")
		}
		var runtime struct {
			PID int
			URL string
		}
		src, err := os.ReadFile(filepath.Join(l.data, "runtime.json"))
		if err != nil {
			return err.Error()
		}
		if err := json.Unmarshal(src, &runtime); err != nil {
			return err.Error()
		}
		daemon, l.url = runtime.PID, runtime.URL
		return ""
	})
	admin, err := os.ReadFile(filepath.Join(l.data, "admin.token"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.admin = strings.TrimSpace(string(admin))
	l.running(l.shapes...)
	least := 0
	for _, name := range l.shapes {
		least += shapes[name].least
		code, body := l.do("POST", "/api/v1/call", strings.NewReader(`{"server":"`+name+`","tool":"echo","arguments":{"here":"`+l.token+`"}}`))
		if code != 200 || !strings.Contains(body, l.token) {
			l.t.Fatalf("server %s answers %d %s", name, code, body)
		}
	}
	eventually(l.t, limit(5*time.Second), func() string {
		if left := carrying(l.token); len(left) < least {
			return fmt.Sprintf("only %d of %d processes live: %s", len(left), least, strings.Join(left, "; "))
		}
		return ""
	})
	return daemon, descendants(l.cmd.Process.Pid)
}

// carrying lists the processes of this machine whose command line holds token.
func carrying(token string) (found []string) {
	for _, p := range processes() {
		if p.state != "Z" && strings.Contains(p.command, token) {
			found = append(found, fmt.Sprintf("%d %s", p.pid, p.command))
		}
	}
	return found
}

// gone waits until nothing is left of a daemon and its servers, and returns how
// long that took since began.
func (l *lab) gone(began time.Time, token string, family []process) time.Duration {
	l.t.Helper()
	eventually(l.t, limit(2*time.Second)-time.Since(began), func() string {
		if left := carrying(token); len(left) > 0 {
			return fmt.Sprintf("%d left behind: %s", len(left), strings.Join(left, "; "))
		}
		return alive(family)
	})
	return time.Since(began)
}

// rounds is how often a test of leaks does its worst: by DRAWBRIDGE_ROUNDS, or
// inCI times in CI and plain times elsewhere.
func rounds(t testing.TB, plain, inCI int) int {
	if text := os.Getenv("DRAWBRIDGE_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("DRAWBRIDGE_ROUNDS=%q is not a number of rounds", text)
		}
		return n
	}
	if os.Getenv("CI") == "true" {
		return inCI
	}
	return plain
}

// times are measured durations of one kind.
type times []time.Duration

func (l times) String() string {
	if len(l) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(l))
	return fmt.Sprintf("median %s, worst %s of %d", sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond), len(sorted))
}

func TestNothingOutlivesAKilledDaemonWatchdogOrBoth(t *testing.T) {
	l := newLab(t)
	took := map[string]times{}
	swept := 0
	l.begin()
	for range rounds(t, 5, 10) {
		// The daemon: its watchdog ends what it leaves behind.
		daemon, family := l.living()
		began, token := time.Now(), l.token
		syscall.Kill(daemon, syscall.SIGKILL)
		took["daemon"] = append(took["daemon"], l.gone(began, token, family))
		<-l.done

		// The watchdog: the daemon has nobody left who would clean up, and goes.
		l.begin()
		_, family = l.living()
		began, token = time.Now(), l.token
		l.cmd.Process.Kill()
		took["watchdog"] = append(took["watchdog"], l.gone(began, token, family))
		<-l.done

		// Both, so that neither can do anything; then a start, which sweeps. What is
		// bare it could not find: with its parents dead, nothing tells whose it is.
		full := l.shapes
		l.without("bare")
		l.begin()
		daemon, family = l.living()
		token = l.token
		l.cmd.Process.Signal(syscall.SIGSTOP)
		syscall.Kill(daemon, syscall.SIGKILL)
		l.cmd.Process.Kill()
		<-l.done
		eventually(t, limit(2*time.Second), func() string { return alive(family[:2]) })
		swept += len(carrying(token))
		l.shapes = full
		began = time.Now()
		l.begin()
		took["both, then a start"] = append(took["both, then a start"], l.gone(began, token, family))
	}
	_, family := l.living()
	began := time.Now()
	l.stop()
	if left := carrying(l.token); len(left) > 0 {
		t.Errorf("after a stop: %s, %s", strings.Join(left, "; "), alive(family))
	}
	t.Logf("0 processes left after a kill of: daemon %s; watchdog %s; both, then a start %s (%d processes swept); a stop took %s",
		took["daemon"], took["watchdog"], took["both, then a start"], swept, time.Since(began).Round(time.Millisecond))
	if swept == 0 {
		t.Error("there was never anything to sweep: the kill of both proves nothing")
	}
	if !strings.Contains(l.log.String(), "earlier run left behind") {
		t.Error("the start after both were killed does not say what it cleaned up")
	}
}
