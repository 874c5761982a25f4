//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	proc "github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// holdings is what this process holds of the system.
type holdings struct{ goroutines, descriptors, children, ledger int }

func held(ledger string) (h holdings) {
	h.goroutines = runtime.NumGoroutine()
	fds, _ := os.ReadDir("/proc/self/fd")
	h.descriptors = len(fds)
	h.children = len(descendants(os.Getpid())) // zombies count
	src, _ := os.ReadFile(ledger)
	var file struct{ Processes []json.RawMessage }
	_ = json.Unmarshal(src, &file)
	h.ledger = len(file.Processes)
	return h
}

func (h holdings) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d processes, %d in the ledger", h.goroutines, h.descriptors, h.children, h.ledger)
}

// flat reports whether h is no more than before, but for what comes and goes.
func (h holdings) flat(before holdings) bool {
	return h.goroutines <= before.goroutines+2 && h.descriptors <= before.descriptors+2 && h.children <= before.children && h.ledger <= before.ledger
}

// One server behind a launcher, restarted again and again by the supervisor itself in
// this process, which can be looked into. A leak of one per restart shows long before the 200th;
// make soak looks for slower ones.
func TestRepeatedRestartsUseConstantResources(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	// A Spawner makes its process the parent of all orphans below it. For the other
	// tests this process must not be one: it reaps nobody, and thousands of dead
	// processes would make every look at the living slow.
	t.Cleanup(func() {
		assert.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0))
	})
	ledger := filepath.Join(t.TempDir(), "processes.json")
	log := slog.New(slog.DiscardHandler)
	logs := serverlog.Open("", nil)
	spawner := proc.NewSpawner(proc.Options{Log: log, Ledger: ledger})
	dialer := &upstream.Dialer{Spawner: spawner, Logs: logs, Log: log}
	servers := supervisor.New(supervisor.Options{Log: log, Bus: new(core.Bus), Registry: registry.New(registry.Options{}), Connect: dialer.Connect})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- servers.Run(ctx) }()
	defer func() {
		cancel()
		err := <-ended
		assert.NoError(t, err)
		assert.NoError(t, spawner.Close(context.Background()))
		assert.NoError(t, logs.Close())
	}()

	src, err := json.Marshal(object{"mcpServers": object{"a": object{
		"command": "/bin/sh", "args": []string{"-c", smallServer(t) + " legacy; exit $?"},
	}}})
	require.NoError(t, err)
	cfg, problems := config.Parse("test", src)
	require.True(t, len(problems) <= 0, problems)
	servers.Apply(cfg)

	pid := 0
	next := func() { // waits for another process, running
		t.Helper()
		eventually.Complete(t, limit(10*time.Second), func() string {
			st, _ := servers.Status("a")
			if st.State != core.StateRunning || st.PID == pid {
				return fmt.Sprintf("no new process: %+v", st)
			}
			pid = st.PID
			return ""
		})
	}
	next()
	restart := func() {
		t.Helper()
		require.NoError(t, servers.Restart(ctx, "a"))
		next()
	}
	for range 10 {
		restart()
	}
	before := held(ledger)
	require.Equal(t, 3, before.children)
	require.Equal(t, 1, before.ledger)
	n := 20 * rounds(t, 10, 10)
	began := time.Now()
	var took times
	for i := range n {
		at := time.Now()
		restart()
		took = append(took, time.Since(at))
		if (i+1)%500 == 0 && n > 1000 { // whoever ends a long run before its end has figures
			t.Logf("%d restarts after %s, the last 500 %s; %s", i+1, time.Since(began).Round(time.Second), took[i-499:], held(ledger))
		}
	}
	var after holdings
	eventually.Complete(t, limit(10*time.Second), func() string {
		runtime.GC() // closes what only the collector would close: then it was not leaked
		if after = held(ledger); !after.flat(before) {
			return fmt.Sprintf("before: %s; after %d restarts: %s", before, n, after)
		}
		return ""
	})
	st, _ := servers.Status("a")
	assert.Truef(t, st.Restarts >= n, "%d restarts are counted, %d were made", st.Restarts, n)
	t.Logf("%d restarts in %s (each %s); before: %s; after: %s", n, time.Since(began).Round(time.Millisecond), took, before, after)
	assert.Truef(t, slices.Max(took) <= limit(5*time.Second), "one restart took %s", slices.Max(took))
}
