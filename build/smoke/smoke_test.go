//go:build smoke

package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

const (
	legacyEra = "2025-11-25"
	modernEra = "2026-07-28"
	// patience is the time limit of each wait. It is no promise about the program.
	patience = 30 * time.Second
)

// The test follows the first steps of a user: start, demo server, a call by each kind of client,
// the recorded calls, an edit of the configuration, and an exit that leaves no process behind.
func TestBuiltProgramWorksFromStartToKill(t *testing.T) {
	d := startDaemon(t)
	d.waitForTool(t, "demo__echo")

	t.Run("legacy client over HTTP", func(t *testing.T) { d.callOverHTTP(t, "legacy", legacyEra) })
	t.Run("modern client over HTTP", func(t *testing.T) { d.callOverHTTP(t, "modern", "") })
	t.Run("client through the shim", d.callThroughShim)
	t.Run("calls are recorded", func(t *testing.T) {
		poll(t, "the calls of three clients in the history", func() (bool, string) {
			var history struct {
				Items []struct{ Client, Tool, Outcome string }
			}
			d.get(t, "/api/v1/calls", &history)
			seen := map[string]bool{}
			for _, call := range history.Items {
				if call.Tool == "echo" && call.Outcome == "ok" {
					seen[call.Client] = true
				}
			}
			return seen["legacy"] && seen["modern"] && seen["shim"], fmt.Sprintf("%+v", history.Items)
		})
	})
	t.Run("edited configuration takes effect", func(t *testing.T) {
		d.configure(t, "demo", "second")
		d.waitForTool(t, "second__echo")
		d.configure(t, "second")
		poll(t, "demo gone from the status", func() (bool, string) {
			out := d.command(t, "status", "--json")
			return strings.Contains(out, `"second"`) && !strings.Contains(out, `"demo"`), out
		})
	})
	t.Run("every part of the API has what it needs", d.readAll)
	t.Run("killed daemon leaves no process", func(t *testing.T) {
		family := descendants(t, d.cmd.Process.Pid)
		require.Truef(t, len(family) >= 2, "the daemon has no child process to leave behind: %v", family)
		require.NoError(t, d.cmd.Process.Kill())
		<-d.ended
		poll(t, "all processes of the daemon gone", func() (bool, string) {
			running := processes(t)
			var left []string
			for _, p := range family {
				if now, ok := running[p.pid]; ok && now.command == p.command {
					left = append(left, strconv.Itoa(p.pid)+" "+p.command)
				}
			}
			return len(left) == 0, strings.Join(left, "\n")
		})
	})
}

// daemon is a running drawbridge with its data, configuration and home in a temporary folder.
type daemon struct {
	binary, data, home, url string
	cmd                     *exec.Cmd
	ended                   chan struct{} // closed when the process has exited
}

func startDaemon(t *testing.T) *daemon {
	t.Helper()
	binary, err := filepath.Abs("../bin/drawbridge")
	require.NoError(t, err)
	_, err = os.Stat(binary)
	require.NoError(t, err)
	d := &daemon{binary: binary, data: filepath.Join(t.TempDir(), "data"), home: t.TempDir(), ended: make(chan struct{})}
	require.NoError(t, os.Mkdir(d.data, 0o700))
	d.configure(t, "demo")
	var log strings.Builder
	d.cmd = exec.Command(binary, "serve", "--no-tray", "--data", d.data, "--listen", "127.0.0.1:0")
	d.cmd.Env = d.env()
	d.cmd.Stdout, d.cmd.Stderr = &log, &log
	require.NoError(t, d.cmd.Start())
	go func() {
		d.cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		d.cmd.Process.Kill()
		<-d.ended
		if t.Failed() {
			t.Logf("log of the daemon:\n%s", log.String())
		}
	})
	poll(t, "runtime.json with the address", func() (bool, string) {
		select {
		case <-d.ended:
			t.Fatalf("the daemon ended:\n%s", log.String())
		default:
		}
		var runtime struct{ URL string }
		src, err := os.ReadFile(filepath.Join(d.data, "runtime.json"))
		if err != nil {
			return false, err.Error()
		}
		if err := json.Unmarshal(src, &runtime); err != nil {
			return false, err.Error()
		}
		d.url = runtime.URL
		return d.url != "", string(src)
	})
	return d
}

// env returns the whole environment, so that no files of the user are read or written.
func (d *daemon) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "LANG=C.UTF-8", "SHELL=/bin/sh", "DRAWBRIDGE_DATA=" + d.data}
}

// configure atomically writes a configuration with one demo server per name.
func (d *daemon) configure(t *testing.T, names ...string) {
	t.Helper()
	servers := map[string]any{}
	for _, name := range names {
		servers[name] = map[string]any{"command": d.binary, "args": []string{"demo-server"}}
	}
	src, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	require.NoError(t, err)
	path := filepath.Join(d.data, "config.jsonc")
	require.NoError(t, os.WriteFile(path+".new", src, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func (d *daemon) waitForTool(t *testing.T, name string) {
	t.Helper()
	poll(t, "tool "+name, func() (bool, string) {
		var tools struct {
			Items []struct{ Name string }
		}
		d.get(t, "/api/v1/tools", &tools)
		for _, tool := range tools.Items {
			if tool.Name == name {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v", tools.Items)
	})
}

// callOverHTTP calls demo__echo as the client called name. With an empty version the SDK negotiates
// the modern era.
func (d *daemon) callOverHTTP(t *testing.T, name, version string) {
	transport := &mcp.StreamableClientTransport{
		Endpoint:   d.url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer(d.command(t, "token", name)), Timeout: patience},
	}
	callEcho(t, name, version, transport)
}

func (d *daemon) callThroughShim(t *testing.T) {
	cmd := exec.Command(d.binary, "stdio", "--client", "shim", "--data", d.data)
	cmd.Env = d.env()
	callEcho(t, "shim", "", &mcp.CommandTransport{Command: cmd})
}

func callEcho(t *testing.T, name, version string, transport mcp.Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err, "cannot connect")
	defer session.Close()
	if version == "" {
		version = modernEra
	}
	assert.Equal(t, version, session.InitializeResult().ProtocolVersion)
	greeting := "hello from " + name
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "demo__echo", Arguments: map[string]any{"text": greeting}})
	require.NoError(t, err, "cannot call demo__echo")
	text, ok := result.Content[0].(*mcp.TextContent)
	assert.Truef(t, ok && strings.Contains(text.Text, greeting) && !result.IsError, "demo__echo answers %+v", result)
}

// bearer is a transport that adds the token of a client to each request.
type bearer string

func (token bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(req)
}

// command runs a command of the program and returns its output without the final newline.
func (d *daemon) command(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.binary, append(args, "--data", d.data)...)
	cmd.Env = d.env()
	out, err := cmd.Output()
	require.NoErrorf(t, err, "drawbridge %s", strings.Join(args, " "))
	return strings.TrimSpace(string(out))
}

// readAll sends every request of the API that reads and has no parameters in its path. Each feature
// gets its dependencies in one place, where one can be forgotten.
func (d *daemon) readAll(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "..", "backend", "api", "testdata", "openapi.json"))
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(src, &document))
	for path, methods := range document.Paths {
		if methods["get"] == nil || strings.Contains(path, "{") || path == "/api/v1/events" {
			continue
		}
		t.Run(path, func(t *testing.T) { d.get(t, path, nil) })
	}
}

// get decodes a document of the API; without into, it may also be refused.
func (d *daemon) get(t *testing.T, path string, into any) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(d.data, "admin.token"))
	require.NoError(t, err)
	client := http.Client{Transport: bearer(strings.TrimSpace(string(token))), Timeout: patience}
	resp, err := client.Get(d.url + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	if into == nil && resp.StatusCode != http.StatusInternalServerError {
		return
	}
	require.Equalf(t, http.StatusOK, resp.StatusCode, "GET %s", path)
	require.NoErrorf(t, json.NewDecoder(resp.Body).Decode(into), "GET %s", path)
}

// poll calls done until it reports true. After patience it fails with the last account.
func poll(t *testing.T, what string, done func() (ok bool, account string)) {
	t.Helper()
	eventually.Complete(t, patience, func() string {
		ok, account := done()
		if ok {
			return ""
		}
		return what + ": " + account
	})
}
