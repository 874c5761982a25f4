package cli

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStatusShowsRemedyOfEachServer: a command that the hint does not contain is shown after it.
func TestStatusShowsRemedyOfEachServer(t *testing.T) {
	f := newFakeDaemon(t)
	f.Answer("GET /api/v1/status", `{"servers":[
		{"id":"silent","label":"silent","state":"crashed","reason":"exited with status 1","remedy":{"kind":"see-log","command":"drawbridge logs silent"}},
		{"id":"fetch","label":"fetch","state":"crashed","reason":"executable not found","hint":"Install uv: get uv (https://uv).","remedy":{"kind":"install-program","name":"uv","command":"get uv"}},
		{"id":"py","label":"py","state":"crashed","reason":"no module","hint":"Install the package.","remedy":{"kind":"install-package","command":"pip install x"}}]}`)
	got := f.Run(true, "status")
	for _, line := range []string{"\nsilent: Run: drawbridge logs silent\n", "\nfetch: Install uv: get uv (https://uv).\n", "\npy: Install the package. Run: pip install x\n"} {
		assert.Contains(t, got.Out, line)
	}
}

func TestNoticesAreAcknowledged(t *testing.T) {
	f := newFakeDaemon(t)
	f.Answer("GET /api/v1/status", `{"notices":[{"subject":"command:a b","message":"Server \"a b\" has a new command."},{"subject":"vault","message":"No keyring."}]}`)
	var gone []string
	f.Mux.HandleFunc("DELETE /api/v1/notices/{subject}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("subject") == "vault" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(404)
			io.WriteString(w, `{"code":"not_found","detail":"it lasts"}`)
			return
		}
		gone = append(gone, r.PathValue("subject"))
		w.WriteHeader(http.StatusNoContent)
	})
	if got := f.Run(true, "status", "--ack"); got.Code != 0 || strings.Join(gone, ",") != "command:a b" || !strings.Contains(got.Out, "Acknowledged 1 notice; 1 not acknowledged") {
		t.Errorf("%+v, %v", got, gone)
	}
}

func TestManyNewCommandsAreSummarized(t *testing.T) {
	var notices []core.Notice
	for i := range 100 {
		notices = append(notices, core.Notice{Subject: fmt.Sprintf("command:s%d", i), Message: fmt.Sprintf("Server \"s%d\" has a new command: x", i)})
	}
	notices = append(notices, core.Notice{Subject: "vault", Message: "No keyring."})
	var out strings.Builder
	p := newProgram(Options{Env: terminal.Env{Stdout: &out, Terminal: func() bool { return false }}})
	require.NoError(t, p.printStatus(&api.Status{RequireToken: true, Notices: notices}, nil, time.Now()))
	want := "Server \"s4\" has a new command: x\nNo keyring.\n95 more servers have a new command. List all of them: drawbridge status --json\nAcknowledge notices:       drawbridge status --ack\n"
	if !strings.HasSuffix(out.String(), want) || strings.Contains(out.String(), "s5") {
		t.Errorf("got:\n%s", out.String())
	}
	out.Reset()
	require.NoError(t, p.printStatus(&api.Status{RequireToken: true, Notices: notices[:6]}, nil, time.Now()))
	assert.Contains(t, out.String(), "\n1 more server has a new command.")
}

// Calls and heartbeats change when a server was last heard, not its state.
func TestStatusShowsWhenTheStateChanged(t *testing.T) {
	var out strings.Builder
	p := newProgram(Options{Env: terminal.Env{Stdout: &out, Terminal: func() bool { return false }}})
	now := time.Now()
	s := api.Status{RequireToken: true, Servers: []core.ServerStatus{{ID: "a", State: core.StateRunning, Since: now.Add(-3 * time.Hour), Updated: now}}}
	require.NoError(t, p.printStatus(&s, nil, now))
	assert.Contains(t, out.String(), "3h ago")
}

func TestStatusSaysWhyNoServerCanRun(t *testing.T) {
	for _, servers := range [][]core.ServerStatus{nil, {{ID: "a", State: core.StateDisabled}}} {
		var out strings.Builder
		p := newProgram(Options{Env: terminal.Env{Stdout: &out, Terminal: func() bool { return false }}})
		s := api.Status{RequireToken: true, Servers: servers, Idle: config.Idle{Reason: "None can run", Fix: "Do this"}}
		require.NoError(t, p.printStatus(&s, nil, time.Now()))
		assert.Truef(t, strings.HasSuffix(out.String(), "None can run. Do this\n"), "%d servers: got:\n%s", len(servers), out.String())
	}
}

func TestStatusSaysThatDaemonIsStarting(t *testing.T) {
	f := newFakeDaemon(t)
	require.NoError(t, loopback.RemoveRuntime(f.Data))
	got := f.Run(true, "status")
	assert.Truef(t, got.Code != 0 && strings.Contains(got.Err, "Drawbridge is starting or stopping"), "%+v", got)
}

const someImage = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestStatusShowsKnownVersions(t *testing.T) {
	const servers = `{"servers":[{"id":"time","label":"time","state":"running"},{"id":"box","label":"box","state":"running"},{"id":"plain","label":"plain","state":"running"}]}`
	for name, c := range map[string]struct {
		versions string
		status   int
		want     []string // last cell of each server's row
	}{
		"known":     {`{"items":[{"server":"time","version":"2025.9.25"},{"server":"box","version":"` + someImage + `"},{"server":"plain","version":""}]}`, 200, []string{"Version", "2025.9.25", "sha256:0123456789abcdef…", ""}},
		"newer":     {`{"items":[{"server":"time","launcher":"npx","version":"1.2.3","latest":"1.3.0"},{"server":"box","launcher":"npx","version":"1.0","latest":"1.0"},{"server":"plain","version":""}]}`, 200, []string{"Version", "1.2.3 (1.3.0 available)", "1.0", ""}},
		"none":      {`{"items":[]}`, 200, nil},
		"not known": {`{"items":[{"server":"time","version":""}]}`, 200, nil},
		"no answer": {`{"status":500,"detail":"broken"}`, 500, nil},
		"no JSON":   {`what`, 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeDaemon(t)
			f.Answer("GET /api/v1/status", servers)
			f.Mux.HandleFunc("GET /api/v1/versions", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.versions)
			})
			got := f.Run(false, "status")
			require.Equal(t, 0, got.Code)
			require.Contains(t, got.Out, "plain")
			if c.want == nil {
				assert.NotContains(t, got.Out, "Version", "a column for nothing")
				return
			}
			for _, cell := range c.want {
				assert.Contains(t, got.Out, cell)
			}
			at := slices.IndexFunc(strings.Split(got.Out, "\n"), func(l string) bool { return strings.HasPrefix(l, "time") })
			if at < 0 || !strings.HasSuffix(strings.TrimSpace(strings.Split(got.Out, "\n")[at]), c.want[1]) {
				t.Errorf("the version is not in its server's row:\n%s", got.Out)
			}
		})
	}
}

func TestStatusOfOneServerShowsEverything(t *testing.T) {
	f := newFakeDaemon(t)
	const doc = `{"status":{"id":"files","label":"files","state":"crashed","reason":"exit code 3"},"configured":"npx x","environment":["A","B"],"processes":[{"pid":7,"name":"node","rssBytes":1500000}],"stderr":["\u001b[31mbad"],"frames":[{"at":"2026-01-02T03:04:05Z","sent":true,"text":"{\"id\":1}","bytes":8}],"timings":{"startTookNs":1500000000}}`
	f.Answer("GET /api/v1/servers/files/debug", doc)
	const changes = `{"items":[{"at":"2026-01-02T03:04:05Z","server":"files","kind":"tool","name":"write_file","action":"new"}],"next":""}`
	const hosts = `{"available":true,"items":[{"host":"example.com","port":443,"protocol":"tcp"}]}`
	f.Answer("GET /api/v1/recent-changes", changes)
	f.Answer("GET /api/v1/servers/files/destinations", hosts)
	got := f.Run(true, "status", "files")
	for _, want := range []string{"Server        files: Failed\n", "Reason        exit code 3\n", "Configured    npx x\n", "Environment   A, B\n", "Process       7 node, 1.5 MB\n", "Startup time  1.5s\n", "bad\n", `-> 8 bytes  {"id":1}`, "write_file", "example.com"} {
		assert.Contains(t, got.Out, want)
	}
	assert.Truef(t, !strings.Contains(got.Out, "\x1b") && !strings.Contains(got.Out, "Executable") && got.Code == 0, "%+v", got)
	for args, want := range map[string]string{
		"status files":                doc[:len(doc)-1] + `,"changes":` + changes + `,"destinations":` + hosts + "}",
		"debug files":                 doc[:len(doc)-1] + `,"changes":` + changes + `,"destinations":` + hosts + "}",
		"status files --changes":      changes,
		"changes --days 3":            changes,
		"status files --destinations": hosts,
		"destinations files":          hosts,
	} {
		if got := f.Run(true, append(strings.Fields(args), "--json")...); got.Out != want+"\n" || got.Err != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	for start, want := range map[string]string{
		`"how":"direct","package":"srv","version":"1.2.0","startNs":500000000,"npxStartNs":1900000000,"npxBytes":50000000`: "directly, without npx: srv 1.2.0, in 500ms; npx took 1.9s; npm would take 50 MB more",
		`"how":"npx","why":"this is the first start of this package"`:                                                      "by npx, because this is the first start of this package",
	} {
		f := newFakeDaemon(t)
		f.Answer("GET /api/v1/servers/files/debug", doc)
		f.Answer("GET /api/v1/recent-changes", changes)
		f.Answer("GET /api/v1/servers/files/destinations", hosts)
		f.Answer("GET /api/v1/starts", `{"items":[{"server":"other"},{"server":"files",`+start+`}]}`)
		assert.Contains(t, f.Run(true, "status", "files").Out, "\nStarted\n  "+want+"\n")
		assert.Contains(t, f.Run(true, "status", "files", "--json").Out, `,"start":{"server":"files","how":`)
	}
}
