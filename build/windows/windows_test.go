//go:build windows && e2e

package windows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asExplorer makes this test program start a program as Explorer does, if it has the name of Explorer.
const asExplorer = "TEST_START"

func TestMain(m *testing.M) {
	if program := os.Getenv(asExplorer); program != "" {
		cmd := exec.Command(program, os.Args[1:]...)
		out, err := cmd.CombinedOutput()
		fmt.Printf("%s\n%v\n", out, err)
		os.Exit(cmd.ProcessState.ExitCode())
	}
	os.Exit(m.Run())
}

// machine is the profile of a user with a data folder and a daemon.
type machine struct {
	*testing.T
	home, data string
	path       string // a folder before the others of the PATH
	daemon     *exec.Cmd
}

// environment is that of a user without a screen.
func (m *machine) environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "DISPLAY=") }), "PATH="+m.path+string(filepath.ListSeparator)+os.Getenv("PATH"), "USERPROFILE="+m.home, "APPDATA="+filepath.Join(m.home, "AppData", "Roaming"), "LOCALAPPDATA="+filepath.Join(m.home, "AppData", "Local"))
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{T: t, home: filepath.Join(t.TempDir(), "Jörg Müller")}
	m.data = filepath.Join(m.home, "drawbridge data")
	require.NoError(t, os.MkdirAll(m.data, 0o700))
	return m
}

func (m *machine) program(name string) string {
	m.Helper()
	dir := os.Getenv("DRAWBRIDGE_PROGRAMS")
	if dir == "" {
		m.Fatal("DRAWBRIDGE_PROGRAMS does not name the folder with the programs")
	}
	return filepath.Join(dir, name)
}

// serve starts the daemon and waits until it answers.
func (m *machine) serve() { m.serveWith("--no-tray") }

func (m *machine) serveWith(flags ...string) {
	m.Helper()
	m.daemon = exec.Command(m.program("drawbridge.exe"), append([]string{"serve", "--data", m.data, "--listen", "127.0.0.1:0"}, flags...)...)
	m.daemon.Env = m.environment()
	var said bytes.Buffer
	m.daemon.Stderr = &said
	if err := m.daemon.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		_ = m.daemon.Process.Kill()
		_ = m.daemon.Wait()
		if m.Failed() {
			m.Log(said.String())
		}
	})
	m.awaitDaemon()
}

func (m *machine) awaitDaemon() {
	m.Helper()
	eventually.True(m, "the daemon answers", func() bool {
		text, err := os.ReadFile(filepath.Join(m.data, "runtime.json")) // it cannot be read while it is replaced
		return err == nil && json.Valid(text)
	})
}

// run runs a command and returns its exit code and output.
func (m *machine) run(stdin string, args ...string) (code int, out string) {
	m.Helper()
	cmd := exec.Command(m.program("drawbridge.exe"), append([]string{"--data", m.data}, args...)...)
	cmd.Env, cmd.Stdin = m.environment(), strings.NewReader(stdin)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		m.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func (m *machine) must(args ...string) string {
	m.Helper()
	code, out := m.run("", args...)
	if code != 0 {
		m.Fatalf("%q: exit code %d\n%s", args, code, out)
	}
	return out
}

// addDemo adds the demo server.
func (m *machine) addDemo() { m.must("add", "demo", "--", m.program("drawbridge.exe"), "demo-server") }

// Explorer starts a program at a double click, in the Start menu and at login.
func TestProgramStartsFromExplorer(t *testing.T) {
	m := newMachine(t)
	self, err := os.Executable()
	require.NoError(t, err)
	src, err := os.ReadFile(self)
	require.NoError(t, err)
	explorer := filepath.Join(t.TempDir(), "explorer.exe")
	require.NoError(t, os.WriteFile(explorer, src, 0o700))
	for _, program := range []string{"drawbridge.exe", "drawbridgew.exe"} {
		cmd := exec.Command(explorer, "version")
		cmd.Env = append(os.Environ(), asExplorer+"="+m.program(program))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "drawbridge ") {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

func TestCallOverShimIsRecorded(t *testing.T) {
	m := newMachine(t)
	m.serve()
	m.addDemo()
	code, out := m.run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"Ünïcode"}}}
`, "stdio", "--client", "t", "--server", "demo")
	require.Truef(t, code == 0 && strings.Contains(out, `"id":2`) && strings.Contains(out, "Ünïcode"), "exit code %d\n%s", code, out)
	eventually.True(t, "the call is in the history", func() bool {
		_, out := m.run("", "history", "1")
		return strings.Contains(out, "Ünïcode")
	})
	assert.Contains(t, m.must("status"), "demo")
	m.must("quit")
	assert.NoError(t, m.daemon.Wait(), "after quit")
}

// The last valid configuration stays in use while the file has an error, and an edit takes effect.
func TestEditOfConfigurationIsReloaded(t *testing.T) {
	m := newMachine(t)
	m.serve()
	m.addDemo()
	file := filepath.Join(m.data, "config.jsonc")
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("\ufeff"+strings.ReplaceAll(strings.Replace(string(src), `"demo"`, `"renamed by hand"`, 1), "\n", "\r\n")), 0o600))
	eventually.True(t, "the edit takes effect", func() bool { return strings.Contains(m.must("status"), "renamed by hand") })
	require.NoError(t, os.WriteFile(file, []byte("{ broken"), 0o600))
	eventually.True(t, "the error is reported", func() bool { _, out := m.run("", "doctor"); return strings.Contains(out, "config.jsonc") })
	assert.Contains(t, m.must("status"), "renamed by hand")
}

func TestSecondInstanceNamesTheFirst(t *testing.T) {
	m := newMachine(t)
	m.serve()
	var runtime struct{ URL string }
	text, err := os.ReadFile(filepath.Join(m.data, "runtime.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &runtime))
	code, out := m.run("", "serve", "--no-tray")
	assert.Truef(t, code == 1 && strings.Contains(out, runtime.URL), "exit code %d\n%s", code, out)
}

// A daemon that is ended by the task manager leaves no server behind, and the next one starts.
func TestTerminatedDaemonLeavesNoServer(t *testing.T) {
	m := newMachine(t)
	m.serve()
	m.addDemo()
	m.must("call", "demo", "echo", `{"text":"x"}`)
	var status struct {
		Servers []struct{ PID int }
	}
	text := m.must("status", "--json")
	require.True(t, json.Unmarshal([]byte(text), &status) == nil && len(status.Servers) == 1 && status.Servers[0].PID != 0, text)
	require.NoError(t, m.daemon.Process.Kill())
	_ = m.daemon.Wait()
	eventually.True(t, "the server has ended", func() bool { return !alive(status.Servers[0].PID) })
	os.Remove(filepath.Join(m.data, "runtime.json"))
	m.serve()
	assert.Contains(t, m.must("history"), "echo")
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	done := make(chan struct{})
	go func() { _, _ = p.Wait(); close(done) }()
	select {
	case <-done:
		return false
	case <-time.After(100 * time.Millisecond):
		return true
	}
}

// A program that has a file open for itself alone does not stop a configuration from being read.
func TestFileThatAnotherProgramHasOpenIsReadLater(t *testing.T) {
	m := newMachine(t)
	m.serve()
	m.addDemo()
	file := filepath.Join(m.data, "config.jsonc")
	name, err := syscall.UTF16PtrFromString(file)
	require.NoError(t, err)
	alone, err := syscall.CreateFile(name, syscall.GENERIC_READ, 0, nil, syscall.OPEN_EXISTING, 0, 0)
	require.NoError(t, err)
	closed := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { closed <- syscall.CloseHandle(alone) })
	m.must("disable", "demo")
	err = <-closed
	require.NoError(t, err)
	assert.Contains(t, m.must("status"), "Disabled")
}

func TestReadOnlyFileOfClientIsNamed(t *testing.T) {
	m := newMachine(t)
	m.serve()
	file := filepath.Join(m.home, ".cursor", "mcp.json")
	before := []byte("{\r\n  \"mcpServers\": {}\r\n}\r\n")
	require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, before, 0o400)))
	code, out := m.run("", "clients", "connect", "cursor", "--yes")
	assert.Truef(t, code == 1 && strings.Contains(out, "read-only"), "exit code %d\n%s", code, out)
	after, err := os.ReadFile(file)
	assert.Truef(t, err == nil && bytes.Equal(after, before), "%v\n%q", err, after)
	if err := os.Chmod(file, 0o600); err != nil { // otherwise it cannot be removed
		t.Fatal(err)
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	m := newMachine(t)
	m.serve()
	text, err := os.ReadFile(filepath.Join(m.data, "runtime.json"))
	require.NoError(t, err)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(string(text))
	other := newMachine(t)
	other.addConfig(`{"mcpServers": {}}`)
	code, out := other.run("", "serve", "--no-tray", "--listen", address)
	assert.Truef(t, code == 1 && strings.Contains(out, address), "exit code %d\n%s", code, out)
}

// Windows limits paths to 260 characters for programs that do not ask for more.
func TestDataMayBeInALongFolder(t *testing.T) {
	m := newMachine(t)
	m.data = filepath.Join(m.home, strings.Repeat("long", 30), strings.Repeat("long", 30))
	m.serve()
	m.addDemo()
	m.must("call", "demo", "echo", `{"text":"x"}`)
	eventually.True(t, "the call is in the history", func() bool { return strings.Contains(m.must("history"), "echo") })
	m.must("quit")
}

// Windows starts no program in such a folder; this must harm no other server.
func TestServerInALongFolderHarmsNoOther(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(m.home, strings.Repeat("long", 30), strings.Repeat("long", 30))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	program, err := filepath.Abs(m.program("drawbridge.exe")) // with its drive
	require.NoError(t, err)
	demo := map[string]any{"command": program, "args": []string{"demo-server"}}
	far := map[string]any{"command": program, "args": []string{"demo-server"}, "cwd": dir}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"demo": demo, "far": far}})
	require.NoError(t, err)
	m.addConfig(string(text))
	m.serve()
	m.must("call", "demo", "echo", `{"text":"x"}`)
	code, out := m.run("", "call", "far", "echo", `{"text":"x"}`)
	assert.Truef(t, code == 1 && strings.Contains(out, "at most 258"), "exit code %d\n%s", code, out)
	m.must("call", "demo", "echo", `{"text":"x"}`)
}

func TestDaemonWithoutADesktopStopsInOrder(t *testing.T) {
	m := newMachine(t)
	m.serveWith()
	m.must("status")
	m.must("quit")
	assert.NoError(t, m.daemon.Wait(), "after quit")
}

func (m *machine) addConfig(text string) {
	m.Helper()
	if err := os.WriteFile(filepath.Join(m.data, "config.jsonc"), []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
}
