//go:build large && linux

package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"drawbridge/backend/hub"

	"golang.org/x/sys/unix"
)

// processor is the processor time of this process so far: what a question takes on a
// machine that has nothing else to do, however busy this one is.
func processor() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestLargeHistory measures a history of as many calls as DRAWBRIDGE_LARGE_ROWS says (2,000 without it),
// of about 2 KB each, over 30 days, and prints a table. It takes minutes. The file is made at
// DRAWBRIDGE_LARGE_FILE and stays there for the next run; without it in a temporary folder.
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
	s, err := Open(t.Context(), Options{Path: path, Keep: Keep{Age: -1, Bytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := rand.New(rand.NewPCG(1, 1))
	words := rand.NewZipf(r, 1.1, 10, 50_000)
	now := time.Now()
	step := 30 * 24 * time.Hour / time.Duration(n)
	one := func(at time.Time) (*hub.Call, hub.Reply) {
		params := fmt.Sprintf(`{"name":"x","arguments":{"path":"/home/me/project/%d/file%d.go"}}`, r.IntN(500), r.IntN(50_000))
		c := &hub.Call{ID: at.UnixMicro(), At: at.UTC(), Client: hub.Client{Token: "t", Name: fmt.Sprintf("client%d", r.IntN(3)), Version: "1"}, Session: fmt.Sprintf("s%d", at.Unix()/3600),
			Server: fmt.Sprintf("server%d", r.IntN(20)), Method: "tools/call", Name: fmt.Sprintf("tool%d", r.IntN(10)), PublicName: "x",
			Params: []byte(params), Arguments: hub.Span{Start: 24, End: len(params) - 1}, Outcome: hub.OutcomeOK, Took: time.Duration(r.ExpFloat64() * float64(20*time.Millisecond)), Attempts: 1}
		if r.IntN(50) == 0 {
			c.Outcome = hub.OutcomeToolError
		}
		var text strings.Builder
		for text.Len() < 1900 {
			fmt.Fprintf(&text, "w%d ", words.Uint64()) // some words are frequent and most are rare, as in what people write
		}
		return c, hub.Reply{Result: []byte(`{"content":[{"type":"text","text":"common ` + text.String() + `"}]}`)}
	}
	before, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	flush := func() {
		for s.recorder.pending() {
			batch := s.recorder.take()
			if err := s.write(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			s.recorder.done(batch)
		}
	}
	began := time.Now()
	for i := int(before.Calls); i < n; i++ {
		c, reply := one(now.Add(-30*24*time.Hour + time.Duration(i)*step))
		if i == n/3 {
			reply = hub.Reply{Result: []byte(`{"text":"qwxrare"}`)}
		}
		s.recorder.Record(c, reply)
		if i%100 == 0 { // a full batch is not packed, as when there is no time for it
			flush()
		}
	}
	flush()
	insert := time.Since(began)
	began = time.Now()
	for {
		k, err := s.indexStep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			break
		}
	}
	indexing := time.Since(began)
	size, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("rows %d: insert %.0f/s, index %.0f/s, %.2f KB a row", max(int64(n), before.Calls), (float64(n)-float64(before.Calls))/insert.Seconds(), (float64(n)-float64(before.Calls))/indexing.Seconds(), float64(size.Bytes)/float64(max(int64(n), before.Calls))/1024)

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
	measure := func(when string) {
		for _, q := range questions {
			var took, worked []time.Duration
			for range 15 {
				began, before := time.Now(), processor()
				if err := q.ask(); err != nil {
					t.Fatalf("%s: %v", q.name, err)
				}
				took, worked = append(took, time.Since(began)), append(worked, processor()-before)
			}
			slices.Sort(took)
			slices.Sort(worked)
			t.Logf("| %s | %s | %.1f ms | %.1f ms | %.1f ms |", q.name, when, took[7].Seconds()*1e3, took[14].Seconds()*1e3, worked[7].Seconds()*1e3)
		}
	}
	measure("quiet")
	if quietOnly {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { _ = s.recorder.Run(ctx); done <- struct{}{} }()
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- struct{}{}
				return
			case <-tick.C:
				for i := range 10 {
					c, reply := one(time.Now().Add(time.Duration(i) * time.Microsecond))
					s.recorder.Record(c, reply)
				}
			}
		}
	}()
	measure("1,000 calls/s")
	began = time.Now()
	pruned, err := s.Prune(t.Context(), Keep{Age: -1, Bytes: -1, Rows: int64(n * 9 / 10)})
	t.Logf("pruned %d in %v while written, %v; %+v", pruned, time.Since(began).Round(time.Millisecond), err, s.recorder.Stats())
	cancel()
	<-done
	<-done
}
