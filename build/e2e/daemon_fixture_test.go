//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/require"
)

// object is a JSON document that a test writes or reads.
type object = map[string]any

// daemon is a running Drawbridge with all its files in a folder of the test.
type daemon struct {
	t     testing.TB
	data  string
	home  string
	url   string
	admin string
	cmd   *exec.Cmd
	log   *lockedBuffer
	done  chan struct{}
	// program is the binary to start; "" means the built one.
	program string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the daemon with config and waits until it responds. At the end of the test it is
// stopped, which must succeed.
func start(t testing.TB, config object, env ...string) *daemon {
	t.Helper()
	d := newDaemon(t)
	d.write("config.jsonc", config)
	d.launch(env...)
	return d
}

// newDaemon returns a daemon with empty folders that is not started.
func newDaemon(t testing.TB) *daemon {
	t.Helper()
	d := &daemon{t: t, data: filepath.Join(t.TempDir(), "data"), home: t.TempDir(), log: new(lockedBuffer)}
	// Another test may have opened the umask, and a configuration that others can replace is refused.
	for _, folder := range []string{filepath.Dir(filepath.Dir(d.data)), filepath.Dir(d.data), d.home} {
		require.NoError(t, os.Chmod(folder, 0o700))
	}
	require.NoError(t, os.MkdirAll(d.data, 0o700))
	return d
}

// ownPort returns a free address below the ports that systems assign, so that it is still free when
// a daemon restarts.
func ownPort(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// launch starts the program; the second time at the same address.
func (d *daemon) launch(env ...string) {
	d.t.Helper()
	listen := strings.TrimPrefix(d.url, "http://")
	if d.url == "" {
		listen = ownPort(d.t)
	}
	d.startProcess(listen, env...)
	d.t.Cleanup(func() {
		d.stop()
		if d.t.Failed() {
			d.t.Logf("the daemon's log:\n%s%s", tail(d.log.String()), crash(d.log.String()))
		}
	})
	d.waitReady()
}

// startProcess starts the program without waiting.
func (d *daemon) startProcess(listen string, env ...string) {
	d.t.Helper()
	cmd, done := exec.Command(cmp.Or(d.program, binary), "serve", "--data", d.data, "--listen", listen), make(chan struct{})
	cmd.Env = append(d.env(), env...)
	cmd.Stdout, cmd.Stderr = d.log, d.log
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		close(done)
	}()
	d.cmd, d.done = cmd, done
}

// waitReady waits until the runtime file is written, and returns the process in it.
func (d *daemon) waitReady() (pid int) {
	d.t.Helper()
	eventually.Complete(d.t, limit(10*time.Second), func() string {
		if d.ended() {
			d.t.Fatalf("the daemon ended:\n%s", tail(d.log.String()))
		}
		var runtime struct {
			PID int
			URL string
		}
		src, err := os.ReadFile(filepath.Join(d.data, "runtime.json"))
		if err != nil {
			return err.Error()
		}
		if err := json.Unmarshal(src, &runtime); err != nil {
			return err.Error()
		}
		pid, d.url = runtime.PID, runtime.URL
		return ""
	})
	token, err := os.ReadFile(filepath.Join(d.data, "admin.token"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.admin = strings.TrimSpace(string(token))
	return pid
}

// env is the user's environment without a display and with an empty home.
func (d *daemon) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "LANG=C.UTF-8", "SHELL=/bin/sh", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + d.data + "/no-bus"}
}

func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// stop stops the daemon with a signal and checks that it exits with 0 within 6 s and leaves no
// process behind.
func (d *daemon) stop() {
	d.t.Helper()
	if d.ended() {
		return
	}
	family := descendants(d.cmd.Process.Pid)
	began := time.Now()
	d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.done:
	case <-time.After(limit(6 * time.Second)):
		d.t.Errorf("still there %s after SIGTERM", time.Since(began))
		d.cmd.Process.Kill()
		<-d.done
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Errorf("SIGTERM: exit %d", code)
	}
	eventually.Complete(d.t, limit(2*time.Second), func() string { return alive(family) })
	if _, err := os.Stat(filepath.Join(d.data, "runtime.json")); err == nil {
		d.t.Error("runtime.json is still there after the end")
	}
}

func (d *daemon) write(name string, config object) {
	d.t.Helper()
	src, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.data, name), src, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// cli runs a command of the program against this daemon.
func (d *daemon) cli(wantCode int, args ...string) string {
	d.t.Helper()
	cmd := command(d.t, d.env(), binary, append(args, "--data", d.data)...)
	return run(d.t, cmd, wantCode)
}

func (d *daemon) token(client string) string {
	d.t.Helper()
	return strings.TrimSpace(d.cli(0, "token", client))
}

// get decodes a document of the API into v.
func (d *daemon) get(path string, v any) {
	d.t.Helper()
	code, body := d.do("GET", path, nil)
	if code != http.StatusOK {
		d.t.Fatalf("GET %s: %d %s", path, code, tail(body))
	}
	if err := json.Unmarshal([]byte(body), v); err != nil {
		d.t.Fatalf("GET %s: %v in %s", path, err, tail(body))
	}
}

// request returns a request to the API as the user.
func (d *daemon) request(method, path string, body io.Reader) *http.Request {
	d.t.Helper()
	req, err := http.NewRequest(method, d.url+path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.admin)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func (d *daemon) do(method, path string, body io.Reader) (code int, text string) {
	d.t.Helper()
	resp, err := http.DefaultClient.Do(d.request(method, path, body))
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	src, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(src)
}

// call is a call in the history, as the API returns it.
type call struct {
	ID, Client, ClientVersion, Token, Era, Server, Tool, Method, Outcome string
	Arguments, Result, Error                                             string
	TookNs                                                               int64
}

func (d *daemon) calls() []call {
	d.t.Helper()
	var list struct{ Items []call }
	d.get("/api/v1/calls?limit=200", &list)
	return list.Items
}

type server struct {
	ID, State, Reason string
	Tools             int
}

// running waits until all servers in ids are running.
func (d *daemon) running(ids ...string) {
	d.t.Helper()
	eventually.Complete(d.t, limit(20*time.Second), func() string {
		var list struct{ Items []server }
		d.get("/api/v1/servers", &list)
		state := map[string]server{}
		for _, s := range list.Items {
			state[s.ID] = s
		}
		for _, id := range ids {
			if s := state[id]; s.State != "running" {
				return fmt.Sprintf("server %q is %q: %s", id, s.State, s.Reason)
			}
		}
		return ""
	})
}
