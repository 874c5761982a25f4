//go:build large && linux

package store

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLargeHistoryFilters measures the newest page of every filter, and of every pair of filters,
// on the history DRAWBRIDGE_LARGE_FILE of TestLargeHistory, and prints those that take more than a
// millisecond. It also measures the facets of every filter.
func TestLargeHistoryFilters(t *testing.T) {
	path := os.Getenv("DRAWBRIDGE_LARGE_FILE")
	if path == "" {
		t.Skip("no DRAWBRIDGE_LARGE_FILE")
	}
	began := time.Now()
	s, err := Open(t.Context(), Options{Path: path, Keep: RetentionLimits{Age: -1, Bytes: -1}})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	size, err := s.Size(t.Context())
	require.NoError(t, err)
	t.Logf("%v: open with %d calls", time.Since(began).Round(time.Millisecond), size.Calls)
	newest, _, err := s.Calls(t.Context(), Query{Limit: 1})
	require.NoError(t, err)
	last := newest[0].At
	filters := []struct {
		name string
		set  func(*Query)
	}{
		{"none", func(*Query) {}},
		{"outcome ok", func(q *Query) { q.Outcome = core.OutcomeOK }},
		{"outcome tool_error", func(q *Query) { q.Outcome = core.OutcomeToolError }},
		{"outcome protocol_error", func(q *Query) { q.Outcome = core.OutcomeProtocolError }},
		{"outcome timeout", func(q *Query) { q.Outcome = core.OutcomeTimeout }},
		{"outcome cancelled", func(q *Query) { q.Outcome = core.OutcomeCancelled }},
		{"outcome rejected", func(q *Query) { q.Outcome = core.OutcomeRejected }},
		{"outcome working", func(q *Query) { q.Outcome = TaskWorking }},
		{"server", func(q *Query) { q.Server = "server3" }},
		{"rare server", func(q *Query) { q.Server = "rare" }},
		{"tool of all servers", func(q *Query) { q.Tool = "tool4" }},
		{"rare tool", func(q *Query) { q.Tool = "raretool" }},
		{"client", func(q *Query) { q.Client = "client1" }},
		{"client with 20 versions", func(q *Query) { q.Client = "t" }},
		{"rare client", func(q *Query) { q.Client = "rare" }},
		{"session", func(q *Query) { q.Session = newest[0].Session }},
		{"folder", func(q *Query) { q.Workspace = "/home/me/many" }},
		{"rare folder", func(q *Query) { q.Workspace = "/home/me/rare" }},
		{"account", func(q *Query) { q.Account = "many" }},
		{"rare account", func(q *Query) { q.Account = "rare" }},
		{"version", func(q *Query) { q.Version = "1.0" }},
		{"rare version", func(q *Query) { q.Version = "0.1" }},
		{"tag", func(q *Query) { q.Tag = "rare" }},
		{"slower than 0.1 s", func(q *Query) { q.MinTook = 100 * time.Millisecond }},
		{"slower than 1 s", func(q *Query) { q.MinTook = time.Second }},
		{"slower than 10 s", func(q *Query) { q.MinTook = 10 * time.Second }},
		{"one hour", func(q *Query) { q.From, q.To = last.Add(-241*time.Hour), last.Add(-240*time.Hour) }},
		{"seven days", func(q *Query) { q.From = last.Add(-7 * 24 * time.Hour) }},
		{"common word", func(q *Query) { q.Text = "common" }},
		{"rare word", func(q *Query) { q.Text = "qwxrare" }},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slow := 0
	for i, one := range filters {
		for _, other := range filters[:i+1] {
			q, name := Query{Limit: 50}, other.name+" + "+one.name
			other.set(&q)
			one.set(&q)
			if other.name == "none" || other.name == one.name {
				name = one.name
			}
			if other.name == one.name && i > 0 {
				continue // measured with none
			}
			if q.Check() != nil {
				continue
			}
			best, n := time.Hour, 0
			for range 3 {
				began := threadProcessorTime()
				calls, _, err := s.Calls(t.Context(), q)
				assert.NoError(t, err, name)
				best, n = min(best, threadProcessorTime()-began), len(calls)
			}
			if name == one.name || best > time.Millisecond {
				t.Logf("| %s | %d | %.1f ms |", name, n, best.Seconds()*1e3)
			}
			if best > 5*time.Millisecond {
				slow++
			}
		}
	}
	for _, one := range filters {
		q := Query{}
		one.set(&q)
		best, total := time.Hour, int64(0)
		for range 3 {
			began := threadProcessorTime()
			f, err := s.Facets(t.Context(), q)
			require.NoErrorf(t, err, "facets of %s", one.name)
			best, total = min(best, threadProcessorTime()-began), f.Total
		}
		t.Logf("| facets of %s | %d | %.1f ms |", one.name, total, best.Seconds()*1e3)
	}
	t.Logf("%d pairs take more than 5 ms of processor time", slow)
}
