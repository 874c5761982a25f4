//go:build windows && e2e

package windows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// request is one to the API, as the page sends it.
func (m *machine) request(method, path, body string) *http.Request {
	m.Helper()
	var runtime struct{ URL string }
	text, err := os.ReadFile(filepath.Join(m.data, "runtime.json"))
	token, tokenErr := os.ReadFile(filepath.Join(m.data, "admin.token"))
	if err := errors.Join(err, tokenErr, json.Unmarshal(text, &runtime)); err != nil {
		m.Fatal(err)
	}
	req, err := http.NewRequest(method, runtime.URL+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	return req
}

func (m *machine) ask(method, path, body string) string {
	m.Helper()
	res, err := http.DefaultClient.Do(m.request(method, path, body))
	if err != nil {
		m.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		m.Fatal(res.Status, err, string(out))
	}
	return string(out)
}

// stream returns the events of a stream of the API, until the test ends.
func (m *machine) stream(path string) <-chan string {
	m.Helper()
	res, err := http.DefaultClient.Do(m.request(http.MethodGet, path, ""))
	if err != nil {
		m.Fatal(err)
	}
	events, ended := make(chan string, 8), make(chan struct{})
	m.Cleanup(func() { res.Body.Close(); <-ended })
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if event, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				select {
				case events <- event:
				default: // nobody wants more
				}
			}
		}
	}()
	return events
}

// The entry starts the program that opens no console, with the data folder.
func TestStartAtLoginIsSetAndRemoved(t *testing.T) {
	m := newMachine(t)
	m.serve()
	entries := func() (all []string) {
		key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Run`, registry.QUERY_VALUE)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		require.NoError(t, err)
		defer key.Close()
		names, _ := key.ReadValueNames(0)
		for _, name := range names {
			if value, _, err := key.GetStringValue(name); err == nil && strings.Contains(value, m.data) {
				all = append(all, value)
			}
		}
		return all
	}
	m.ask(http.MethodPut, "/api/v1/desktop", `{"startAtLogin": true}`)
	all := entries()
	assert.Truef(t, len(all) == 1 && strings.Contains(all[0], `drawbridgew.exe" serve --data "`+m.data+`"`), "%q", all)
	m.ask(http.MethodPut, "/api/v1/desktop", `{"startAtLogin": false}`)
	assert.Empty(t, entries())
}

// The key of the secrets is in the Credential Manager, so their file alone is of no use.
func TestSecretsAreInTheCredentialManager(t *testing.T) {
	m := newMachine(t)
	code, out := m.run("canary-secret\n", "secret", "set", "token")
	require.Equal(t, 0, code, out)
	m.serve()
	m.must("add", "demo", "--env", "TOKEN=${secret:token}", "--", m.program("drawbridge.exe"), "demo-server")
	m.must("call", "demo", "echo", `{"text":"x"}`)
	_ = filepath.WalkDir(m.data, func(path string, d fs.DirEntry, err error) error {
		assert.NotEqualf(t, "secrets.key", d.Name(), "the key is in %s", path)
		text, err := os.ReadFile(path)
		assert.Falsef(t, err == nil && bytes.Contains(text, []byte("canary-secret")), "%s contains the secret", path)
		return nil
	})
	assert.Contains(t, m.must("secret"), "token")
}

// Without WebView2 the window would ask to download it.
func TestPageOpensInTheBrowserWithoutWebView2(t *testing.T) {
	m := newMachine(t)
	m.serve()
	out := m.must("open")
	assert.True(t, strings.Contains(out, "get it from https://developer.microsoft.com") && strings.Contains(out, "Opening the browser instead"), out)
}

// Both programs can be started by themselves, from Explorer, the Start menu or a pinned icon: without a console.
func TestProgramsStartedAloneOpenTheBrowserWithoutWebView2(t *testing.T) {
	for _, program := range []string{"drawbridge-window.exe", "drawbridgew.exe"} {
		t.Run(program, func(t *testing.T) {
			m := newMachine(t)
			m.addConfig(`{"bridge": {"listen": "127.0.0.1:0"}}`)
			cmd := exec.Command(m.program(program))
			cmd.Env = append(m.environment(), "DRAWBRIDGE_DATA="+m.data)
			cmd.SysProcAttr = &syscall.SysProcAttr{NoInheritHandles: true, CreationFlags: windows.DETACHED_PROCESS}
			ended := make(chan error, 1)
			require.NoError(t, cmd.Start())
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { m.run("", "quit") })
			select {
			case err := <-ended:
				require.NoError(t, err)
			case <-time.After(time.Minute):
				_ = cmd.Process.Kill()
				t.Fatal("it shows a dialog and does not end")
			}
			m.ask("GET", "/api/v1/servers", "") // the daemon runs
		})
	}
}
