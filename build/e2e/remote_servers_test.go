//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The client part of the official suite, with all requirements of each revision. The scenarios
// about sign-ins run against a daemon with a user at its API; the others against our connection to
// remote servers.
func TestOfficialConformanceSuiteOfClients(t *testing.T) {
	t.Parallel()
	client := filepath.Join(t.TempDir(), "client")
	build := command(t, []string{"HOME=" + os.Getenv("HOME"), "CGO_ENABLED=0", "GOFLAGS=" + os.Getenv("GOFLAGS")}, "go", "build", "-o", client, "./backend/upstream/testdata/conformance")
	build.Dir = root
	run(t, build, 0)
	for revision, scenarios := range map[string][]string{
		"2025-11-25": {"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"},
		"2026-07-28": {"tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers",
			"http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation"},
	} {
		required := suite(t, nil, "list", "--requirements", revision)
		signIns := 0
		for line := range strings.Lines(afterLine(run(t, required, 0), "Client scenarios")) {
			name, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
			switch {
			case listed && strings.HasPrefix(name, "auth/"):
				scenarios = append(scenarios, name)
				signIns++
			case listed && !slices.Contains(scenarios, name):
				t.Errorf("%s requires %s, which is not run", revision, name)
			}
		}
		least := map[string]int{"2025-11-25": 14, "2026-07-28": 25}[revision]
		assert.Truef(t, signIns >= least, "%s requires %d scenarios of signing in, the suite lists %d", revision, least, signIns)
		for _, scenario := range scenarios {
			t.Run(revision+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				program := client
				var env []string
				if strings.HasPrefix(scenario, "auth/") {
					env, program = []string{"DRAWBRIDGE_E2E_ROLE=signin"}, os.Args[0]
				}
				cmd := suite(t, env, "client",
					"--command", program, "--scenario", scenario, "--spec-version", revision,
					"--timeout", fmt.Sprint(limit(30*time.Second).Milliseconds()), "--output-dir", t.TempDir())
				report, err := cmd.CombinedOutput()
				assert.NoError(t, err)
				assert.Contains(t, string(report), "OVERALL: PASSED")
			})
		}
	}
}

// afterLine returns the text between the line that begins with start and the next empty line.
func afterLine(text, start string) string {
	_, text, _ = strings.Cut(text, start)
	_, text, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}

// A program that serves its url is started and stopped with its server, and restarted after a
// crash.
func TestServerStartedForItsURL(t *testing.T) {
	t.Parallel()
	address := ownPort(t)
	entry := object{"command": binary, "args": []string{"demo-server", "--http", address}, "url": "http://" + address + "/mcp"}
	d := start(t, object{"mcpServers": object{"web": entry}})
	d.running("web")
	var st struct{ PID int }
	d.get("/api/v1/servers/web", &st)
	bad := d.says("web", "add", `{"a":2,"b":3}`)
	require.Truef(t, bad == "" && st.PID != 0, "%s, process %d", bad, st.PID)
	if p, err := os.FindProcess(st.PID); err == nil {
		p.Kill()
	}
	was := st.PID
	eventually.Complete(t, limit(10*time.Second), func() string {
		if d.get("/api/v1/servers/web", &st); st.PID == was || d.state("web") != "running" {
			return "not started again"
		}
		return d.says("web", "add", `{"a":2,"b":3}`)
	})
	assert.Contains(t, d.cli(1, "test", "web"), "another program is already listening", "a second program for the same address")
}

func (d *daemon) says(server, tool, arguments string) string {
	code, body := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"`+server+`","tool":"`+tool+`","arguments":`+arguments+`}`))
	if code != 200 || !strings.Contains(body, `"success":true`) {
		return fmt.Sprintf("server %s answers %d %s", server, code, body)
	}
	return ""
}

// The server part of the suite with the reference server behind an address, in each era.
func TestOfficialConformanceSuiteThroughARemoteServer(t *testing.T) {
	t.Parallel()
	program := everythingServer(t)
	for revision, option := range map[string]string{"2025-11-25": "-stateless=false", "2026-07-28": "-stateless=true"} {
		t.Run(revision, func(t *testing.T) {
			address := ownPort(t)
			server := exec.Command(program, "-http", address, option)
			require.NoError(t, server.Start())
			t.Cleanup(func() { server.Process.Kill(); server.Wait() })
			eventually.Complete(t, limit(10*time.Second), func() string {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					return err.Error()
				}
				conn.Close()
				return ""
			})
			d := start(t, object{
				"mcpServers": object{"everything": object{"url": "http://" + address + "/mcp"}},
				"bridge":     object{"requireToken": false}, // the suite supports no tokens
			})
			d.running("everything")
			cmd := suite(t, nil, "server", "--url", d.url+"/s/everything/mcp", "--requirements", revision,
				"--expected-failures", abs("expected-failures.yaml"), "--timeout", fmt.Sprint(limit(12*time.Second).Milliseconds()), "--output-dir", t.TempDir())
			report := run(t, cmd, 0)
			t.Log(strings.TrimSpace(tail(report)))
		})
	}
}

// A server that sends an event of 600 MB uses little memory of the daemon and is named in the
// error, and the next call succeeds.
func TestEndlessRemoteEventIsBounded(t *testing.T) {
	t.Parallel()
	const megabytes = 600
	block := strings.Repeat("x", 1<<20)
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := between(string(body), `"id":`, `,`)
		answer := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
		}
		switch text := string(body); {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(text, `"initialize"`):
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case strings.Contains(text, `"tools/list"`):
			answer(`{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"huge","inputSchema":{"type":"object"}}]}`)
		case strings.Contains(text, `"good"`):
			answer(`{"content":[{"type":"text","text":"fine"}]}`)
		case strings.Contains(text, `"huge"`):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+id+`,"result":"`)
			for sent = 0; sent < megabytes; sent++ {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
			io.WriteString(w, "\"}\n\n")
		case id == "":
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	d := start(t, object{"mcpServers": object{"web": object{"url": server.URL + "/mcp"}}})
	d.running("web")
	_, body := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"web","tool":"huge","arguments":{}}`))
	assert.Contains(t, body, "larger than the limit")
	assert.Empty(t, d.says("web", "good", `{}`))
	peak := 0
	for _, p := range descendants(d.cmd.Process.Pid) {
		peak = max(peak, p.memory(t, "status", "VmHWM")>>20)
	}
	t.Logf("%d of %d MB were sent; the daemon's most memory was %d MB", sent, megabytes, peak)
	assert.Truef(t, sent <= megabytes/2 && peak <= 250, "the server sent %d MB, the daemon took %d MB", sent, peak)
}

func between(text, start, end string) string {
	_, text, _ = strings.Cut(text, start)
	text, _, _ = strings.Cut(text, end)
	return strings.TrimSpace(text)
}
