//go:build large && linux

package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// threadProcessorTime returns the processor time of this thread, which does not depend on the load
// of the machine and excludes the writer.
func threadProcessorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// formatMedianAndMax formats the median and the maximum.
func formatMedianAndMax(took []time.Duration) string {
	slices.Sort(took)
	return fmt.Sprintf("%.1f | %.1f", took[len(took)/2].Seconds()*1e3, took[len(took)-1].Seconds()*1e3)
}

// TestLargeHistory measures queries on a history with DRAWBRIDGE_LARGE_ROWS calls (default 2,000)
// of about 2 KB over 30 days, and prints a table. It takes minutes. The file DRAWBRIDGE_LARGE_FILE
// is created if necessary and kept; by default, a temporary file is used. DRAWBRIDGE_LARGE_QUIET
// omits the measurements during recording, and DRAWBRIDGE_LARGE_VACUUM vacuums the file first.
func TestLargeHistory(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("DRAWBRIDGE_LARGE_ROWS"))
	if n == 0 {
		n = 2000
	}
	path := os.Getenv("DRAWBRIDGE_LARGE_FILE")
	quietOnly := os.Getenv("DRAWBRIDGE_LARGE_QUIET") != ""
	if path == "" {
		path = filepath.Join(t.TempDir(), "history.db")
	}
	s, err := Open(t.Context(), Options{Path: path, Keep: RetentionLimits{Age: -1, Bytes: -1}})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	r := rand.New(rand.NewPCG(1, 1))
	words := rand.NewZipf(r, 1.1, 10, 50_000)
	now := time.Now()
	step := 30 * 24 * time.Hour / time.Duration(n)
	one := func(at time.Time) (*core.Call, core.Reply) {
		params := fmt.Sprintf(`{"name":"x","arguments":{"path":"/home/me/project/%d/file%d.go"}}`, r.IntN(500), r.IntN(50_000))
		c := &core.Call{ID: at.UnixMicro(), At: at.UTC(), Client: core.Client{Token: "t", Name: fmt.Sprintf("client%d", r.IntN(3)), Version: "1"}, Session: fmt.Sprintf("s%d", at.Unix()/3600),
			Server: fmt.Sprintf("server%d", r.IntN(20)), Method: "tools/call", Name: fmt.Sprintf("tool%d", r.IntN(10)), PublicName: "x",
			Params: []byte(params), Arguments: core.Span{Start: 24, End: len(params) - 1}, Outcome: core.OutcomeOK, Took: time.Duration(r.ExpFloat64() * float64(20*time.Millisecond)), Attempts: 1}
		if r.IntN(50) == 0 {
			c.Outcome = core.OutcomeToolError
		}
		var text strings.Builder
		for text.Len() < 1900 {
			fmt.Fprintf(&text, "w%d ", words.Uint64()) // few words are frequent, as in natural text
		}
		return c, core.Reply{Result: []byte(`{"content":[{"type":"text","text":"common ` + text.String() + `"}]}`)}
	}
	before, err := s.Size(t.Context())
	require.NoError(t, err)
	flush := func() {
		for s.recorder.pending() {
			batch := s.recorder.nextBatch()
			require.NoError(t, s.write(t.Context(), batch))
			s.recorder.completeBatch(batch)
		}
	}
	began := time.Now()
	for i := int(before.Calls); i < n; i++ {
		c, reply := one(now.Add(-30*24*time.Hour + time.Duration(i)*step))
		if i == n/3 {
			reply = core.Reply{Result: []byte(`{"text":"qwxrare"}`)}
		}
		s.recorder.Record(c, reply)
		if i%100 == 0 { // flush regularly
			flush()
		}
	}
	flush()
	insert := time.Since(began)
	began = time.Now()
	for {
		k, err := s.indexStep(t.Context())
		require.NoError(t, err)
		if k == 0 {
			break
		}
	}
	indexing := time.Since(began)
	added := float64(n) - float64(before.Calls)
	t.Logf("insert %.0f/s, index %.0f/s", added/insert.Seconds(), added/indexing.Seconds())
	room := func(when string) {
		size, err := s.Size(t.Context())
		require.NoError(t, err)
		t.Logf("%s: %d rows, %.2f KB a row in use, %.2f KB in the files", when, size.Calls, float64(size.Bytes-size.FreeBytes)/float64(size.Calls)/1024, float64(size.Bytes)/float64(size.Calls)/1024)
	}
	room("as recorded")
	began = time.Now()
	for more := true; more; {
		if more, err = s.packStep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	room(fmt.Sprintf("packed in %v", time.Since(began).Round(time.Millisecond)))
	if os.Getenv("DRAWBRIDGE_LARGE_VACUUM") != "" {
		require.NoError(t, s.Vacuum(t.Context()))
		room("after a vacuum")
	}

	deep := now.Add(-15 * 24 * time.Hour).UnixMicro()
	list := func(q Query) func() error {
		return func() error { _, _, err := s.Calls(t.Context(), q); return err }
	}
	facets := func(q Query) func() error {
		return func() error { _, err := s.Facets(t.Context(), q); return err }
	}
	questions := []struct {
		name string
		ask  func() error
	}{
		{"newest page", list(Query{Limit: 50})},
		{"deep keyset page", list(Query{Limit: 50, Before: deep})},
		{"server + tool + time", list(Query{Limit: 50, Server: "server3", Tool: "tool4", From: now.Add(-20 * 24 * time.Hour), To: now.Add(-10 * 24 * time.Hour)})},
		{"search, rare", list(Query{Limit: 50, Text: "qwxrare"})},
		{"search, common", list(Query{Limit: 50, Text: "common"})},
		{"search, common + server", list(Query{Limit: 50, Text: "common", Server: "server3"})},
		{"facets", facets(Query{})},
		{"facets with text", facets(Query{Text: "common"})},
		{"30-day percentiles", func() error {
			_, err := s.Usage(t.Context(), UsageQuery{From: now.Add(-30 * 24 * time.Hour)})
			return err
		}},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.Log("| question | while | p50 ms | worst ms | processor p50 ms | processor worst ms |")
	measure := func(when string) {
		for _, q := range questions {
			var took, work []time.Duration
			for range 15 {
				began, before := time.Now(), threadProcessorTime()
				require.NoError(t, q.ask(), q.name)
				took, work = append(took, time.Since(began)), append(work, threadProcessorTime()-before)
			}
			t.Logf("| %s | %s | %s | %s |", q.name, when, formatMedianAndMax(took), formatMedianAndMax(work))
		}
	}
	measure("quiet")
	if quietOnly {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { _ = s.recorder.Run(ctx); done <- struct{}{} }()
	calls := make([]*core.Call, 1000) // created before the measurement
	replies := make([]core.Reply, len(calls))
	for i := range calls {
		calls[i], replies[i] = one(now)
	}
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; {
			select {
			case <-ctx.Done():
				done <- struct{}{}
				return
			case <-tick.C:
				for range 10 {
					c := *calls[n%len(calls)]
					c.At = time.Now().UTC()
					c.ID = c.At.UnixMicro() + int64(n%10)
					s.recorder.Record(&c, replies[n%len(replies)])
					n++
				}
			}
		}
	}()
	for !s.recorder.busy() { // calls have been written for more than a second
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	measure("1,000 calls/s")
	state, err := s.Index(t.Context())
	t.Logf("the index is %d calls behind, %v; %+v", state.Pending, err, s.recorder.Stats())
	writes, inWrites := s.writes.Read()
	var steps, work []time.Duration
	began = time.Now()
	for range min(n/10/firstPruneRows, 100) {
		began, before := time.Now(), threadProcessorTime()
		if _, _, err := s.prune(t.Context(), RetentionLimits{Age: -1, Bytes: -1, Rows: int64(n / 2)}, firstPruneRows); err != nil {
			t.Fatal(err)
		}
		steps, work = append(steps, time.Since(began)), append(work, threadProcessorTime()-before)
	}
	if len(steps) > 0 {
		after, inAll := s.writes.Read()
		t.Logf("prune while written: %d calls in %v, a step of %d took | %s | ms, of the processor | %s |; %d batches meanwhile took %v on average; %+v", len(steps)*firstPruneRows, time.Since(began).Round(time.Millisecond),
			firstPruneRows, formatMedianAndMax(steps), formatMedianAndMax(work), after-writes, ((inAll - inWrites) / time.Duration(max(after-writes, 1))).Round(time.Microsecond), s.recorder.Stats())
	}
	cancel()
	<-done
	<-done
}
