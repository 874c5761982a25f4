//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/build/soak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buildWithSettableClock builds the program with a clock that can be set to a wrong time.
func buildWithSettableClock(t testing.TB) (program, clock string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "drawbridge")
	build := exec.Command("go", "build", "-trimpath", "-tags", "simulatedclock", "-ldflags", "-s -w", "-o", program, "github.com/drawbridge-mcp/drawbridge/app/drawbridge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	run(t, build, 0)
	return program, filepath.Join(t.TempDir(), "clock")
}

// remoteServer is the demo server over HTTP, which can be killed and restarted.
type remoteServer struct {
	t       testing.TB
	address string
	mu      sync.Mutex // guards cmd
	cmd     *exec.Cmd
}

func (r *remoteServer) begin() error {
	r.cmd = exec.Command(binary, "demo-server", "--http", r.address)
	return r.cmd.Start()
}

func (r *remoteServer) crash() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	return r.begin()
}

func (r *remoteServer) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// Sixteen clients call eight servers, some of them hostile, while servers crash and hang, the
// configuration changes, clients disconnect without notice, the clock jumps, and queues are full.
// Every call is answered exactly once, the history has a row for each, and the resource usage at
// the end is that at the beginning.
//
// DRAWBRIDGE_SOAK_CALLS sets the number of calls. There is a crash and a change for every 2,000
// calls and a reconnect for every 1,000. The report is build/e2e/output/soak.html.
func TestLoadedDaemonAnswersAndRecordsEveryCallOnce(t *testing.T) {
	image := shellImage(t, dockerCommand)
	small := smallServer(t)
	mark := func(id string) string { return fmt.Sprintf("soak-%d-%s", os.Getpid(), id) }
	box := image + "-soak"
	runIdleContainer(t, dockerCommand, image, box)
	remote := &remoteServer{t: t, address: ownPort(t)}
	require.NoError(t, remote.begin())
	t.Cleanup(remote.end)

	quick := object{"maxAttempts": 1000, "backoffMs": 50, "maxBackoffMs": 200}
	process := func(id, mode string, more object) object {
		return with(object{"command": small, "args": []string{mode, mark(id)}, "restart": quick, "requestTimeoutMs": 4000, "breaker": object{"openMs": 300}}, more)
	}
	config := func(change int) object {
		servers := object{
			"swift":  process("swift", "echo", nil),
			"modern": process("modern", "modern", object{"env": object{"CHANGE": strconv.Itoa(change / 4)}}),
			"boxed":  process("boxed", "legacy", object{"type": "docker", "command": "/server", "docker": object{"container": box}}),
			"remote": object{"url": "http://" + remote.address + "/mcp", "restart": quick, "requestTimeoutMs": 4000, "breaker": object{"openMs": 300}},
			"junk":   process("junk", "junk", object{"rateLimit": object{"perSecond": 50 + change%2, "burst": 50}}),
			"late":   process("late", "late", object{"concurrency": object{"max": 1, "queue": 1}}),
			"exit":   process("exit", "exit-call", object{"breaker": object{"openMs": 2000}}),
			"silent": process("silent", "silent-call", object{"requestTimeoutMs": 200}),
		}
		if change%2 == 1 {
			servers["extra"] = process("extra", "echo", nil)
		}
		return object{"metrics": object{"enabled": true}, "history": object{"maxBytes": 20 << 30}, "mcpServers": servers}
	}
	d := newDaemon(t)
	var clock string
	d.program, clock = buildWithSettableClock(t)
	d.write("config.jsonc", config(0))
	d.launch("DRAWBRIDGE_CLOCK_FILE=" + clock)
	d.running("swift", "modern", "boxed", "remote", "junk", "late", "exit", "silent")

	plan := soak.Plan{
		URL: d.url, Admin: d.admin, PID: d.process(t), SilentServer: "silent",
		Servers: []soak.Server{
			{ID: "swift", Weight: 400, Mark: mark("swift")}, {ID: "modern", Weight: 200, Mark: mark("modern")},
			{ID: "boxed", Weight: 100, Mark: mark("boxed")}, {ID: "remote", Weight: 100, Crash: remote.crash},
			{ID: "junk", Weight: 100, Mark: mark("junk"), Says: "done"}, {ID: "late", Weight: 100, Mark: mark("late"), Says: "done"},
			{ID: "exit", Weight: 2, Mark: mark("exit"), Says: "never"}, {ID: "silent", Weight: 2, Mark: mark("silent"), Says: "never"},
		},
		Duration: 20 * time.Second, Rate: 400, Crashes: 8, Reloads: 6, Reconnects: 14, Suspensions: 3, ClockShifts: 2,
		Settle: limit(30*time.Second) + 75*time.Second, Log: t.Logf,
		// The load needs a quiet machine. Afterwards the daemon is idle until its next search for
		// expired sessions, and other tests can run.
		AfterLoad:  t.Parallel,
		ShiftClock: func(by time.Duration) error { return os.WriteFile(clock, []byte(by.String()), 0o600) },
		Reload: func(ctx context.Context, n int) error {
			src, err := json.Marshal(config(n))
			if err != nil {
				return err
			}
			next := filepath.Join(d.data, "config.next")
			if err := errors.Join(os.WriteFile(next, src, 0o600), os.Rename(next, filepath.Join(d.data, "config.jsonc"))); err != nil {
				return err
			}
			want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[n%2 == 1]
			for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				req, _ := http.NewRequestWithContext(ctx, "GET", d.url+"/api/v1/servers/extra", nil)
				req.Header.Set("Authorization", "Bearer "+d.admin)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return err
				}
				resp.Body.Close()
				if resp.StatusCode == want {
					return nil
				}
				if time.Now().After(end) {
					return fmt.Errorf("it is not in force after a minute: %s", resp.Status)
				}
			}
		},
	}
	for i := range plan.Servers {
		plan.Servers[i].Tool = "echo"
	}
	for i := range 16 {
		plan.Tokens = append(plan.Tokens, d.token(fmt.Sprint("soak-", i)))
	}
	growth, about := 1.5, "The short form, at no more than 400 calls a second."
	if n, _ := strconv.Atoi(os.Getenv("DRAWBRIDGE_SOAK_CALLS")); n > 0 {
		plan.Duration, plan.Rate, plan.Calls = 0, 0, n
		plan.Crashes, plan.Reloads, plan.Reconnects, plan.Suspensions, plan.ClockShifts = n/2000, n/2000, n/1000, n/10000, n/20000
		growth, about = 1.1, "The whole length, as fast as it goes."
	}
	report, err := soak.Run(t.Context(), plan)
	require.NoError(t, err)
	keepReport(t, report, about)
	d.do("GET", "/api/v1/history", nil)
	var kept struct {
		State, Reason   string
		Queued, Dropped int
		Recorder        struct{ Queued, Dropped int }
	}
	d.get("/api/v1/history", &kept)
	d.stop()

	total := report.Total()
	t.Logf("%d calls in %s: %d answered by their server, others %v; %d crashes, %d reloads, %d reconnects, %d stops, %d jumps (%d sessions expired), %d ghosts", total.Calls,
		report.Took.Round(time.Second), total.OK, total.Codes, report.Crashes, report.Reloads, report.Connects, report.Stops, report.Jumps, report.Expired, report.Ghosts)
	t.Logf("before: %s; after: %s; memory under load: %.1f MB, then %.1f MB", report.Before, report.After, float64(report.Memory(0.2, 0.4))/(1<<20), float64(report.Memory(0.8, 1))/(1<<20))
	for _, w := range report.Wrong {
		t.Error(w)
	}
	assert.Truef(t, report.WrongMore <= 0, "and %d more", report.WrongMore)
	early, late := report.Memory(0.2, 0.4), report.Memory(0.8, 1)
	assert.Falsef(t, early > 0 && float64(late) > growth*float64(early)+8<<20, "memory grew from %d to %d bytes", early, late)
	if total.OK < total.Calls/2 || report.Crashes < plan.Crashes/2 || report.Reloads < plan.Reloads/2 || report.Connects < plan.Reconnects/2 {
		t.Errorf("that was no fire: %+v", total)
	}
	sameRows(t, filepath.Join(d.data, "history.db"), report, kept.Dropped+kept.Recorder.Dropped)
}

// sameRows checks that the history has one row for each call, with the result that its client
// received.
func sameRows(t *testing.T, path string, report *soak.Report, dropped int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.Query(`SELECT k.name, c.outcome = 1, c.code, count(*) FROM call c
		JOIN client k ON k.id = c.client_id JOIN target t ON t.id = c.target_id
		WHERE t.method = 'tools/call' AND k.name LIKE 'soak-%' GROUP BY 1, 2, 3`)
	require.NoError(t, err)
	defer rows.Close()
	got := map[string]*soak.ClientCounts{}
	for rows.Next() {
		var name, code string
		var ok bool
		var n int
		require.NoError(t, rows.Scan(&name, &ok, &code, &n))
		if got[name] == nil {
			got[name] = &soak.ClientCounts{Codes: map[string]int{}}
		}
		got[name].Calls += n
		if ok {
			got[name].OK += n
		} else {
			got[name].Codes[code] += n
		}
	}
	require.NoError(t, rows.Err())
	for name, seen := range report.Clients {
		kept := cmp.Or(got[name], &soak.ClientCounts{})
		if kept.Calls != seen.Calls || kept.OK != seen.OK || fmt.Sprint(kept.Codes) != fmt.Sprint(seen.Codes) {
			t.Errorf("%s saw %d calls, %d of them well, %v; the history has %d, %d and %v (%d were dropped)", name,
				seen.Calls, seen.OK, seen.Codes, kept.Calls, kept.OK, kept.Codes, dropped)
		}
	}
	n := cmp.Or(got[soak.VanishingClientName], &soak.ClientCounts{}).Calls
	assert.Truef(t, n <= report.Ghosts, "%d calls of clients that vanished are recorded, %d were made", n, report.Ghosts)
}

func keepReport(t *testing.T, report *soak.Report, about string) {
	t.Helper()
	file, err := os.Create(filepath.Join(output, "soak.html"))
	require.NoError(t, err)
	defer file.Close()
	kernel, _ := os.ReadFile("/proc/version")
	machine := fmt.Sprintf("%d cores, %s.", runtime.NumCPU(), strings.Join(strings.Fields(string(kernel))[:3], " "))
	assert.NoError(t, report.HTML(file, about+" "+machine))
	t.Logf("the report is %s", file.Name())
}
