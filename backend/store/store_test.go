package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// testStore is a store with a running recorder.
type testStore struct {
	*Store
	path string
	stop func()

	mu                sync.Mutex
	notifiedSentences []string
}

// waitLimit is the time limit of all waits.
const waitLimit = 30 * time.Second

func (b *testStore) sentences() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.notifiedSentences...)
}

func open(t testing.TB, path string) *testStore {
	t.Helper()
	return openAt(t, path, time.Now)
}

func openAt(t testing.TB, path string, now func() time.Time) *testStore {
	t.Helper()
	return openWith(t, Options{Path: path, Now: now})
}

func openWith(t testing.TB, o Options) *testStore {
	t.Helper()
	return openTimed(t, o, storeTimeouts{flush: waitLimit, read: waitLimit}) // most tests do not measure time
}

func openTimed(t testing.TB, o Options, timeouts storeTimeouts) *testStore {
	t.Helper()
	b := &testStore{path: o.Path}
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	o.Notify = func(sentence string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notifiedSentences = append(b.notifiedSentences, sentence)
	}
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	b.Store = s
	s.timeouts = timeouts
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Recorder().Run(ctx) }()
	var once sync.Once
	b.stop = func() {
		once.Do(func() {
			cancel()
			<-done
			assert.NoError(t, s.Close(), "cannot close")
		})
	}
	t.Cleanup(b.stop)
	return b
}

// otherProgram opens the file as another program. It waits for locks of the Store.
func otherProgram(t testing.TB, path, lock string, pragmas ...string) *sql.DB {
	t.Helper()
	pragmas = append([]string{fmt.Sprintf("busy_timeout(%d)", waitLimit.Milliseconds())}, pragmas...)
	db, err := sql.Open("sqlite", dsn(path, lock, pragmas...))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func fresh(t testing.TB) *testStore { return open(t, filepath.Join(t.TempDir(), "history.db")) }

// aCall returns the finished call number n, which started n ms after the first.
func aCall(n int) *core.Call {
	params := fmt.Sprintf(`{"name":"echo","arguments":{"n":%d}}`, n)
	return &core.Call{
		ID: int64(1_800_000_000_000_000 + n*1000), At: time.UnixMicro(int64(1_800_000_000_000_000 + n*1000)).UTC(),
		Client: core.Client{Token: "cursor", Name: "Cursor", Version: "1.2"}, Session: "s1", Shim: "shim-1", Era: core.Modern,
		Server: "files", Method: "tools/call", Name: "echo", PublicName: "files__echo",
		Params: []byte(params), Arguments: core.Span{Start: 27, End: len(params) - 1},
		Outcome: core.OutcomeOK, Took: 1500 * time.Microsecond, Queued: 20, BytesIn: len(params), BytesOut: 17,
		Attempts: 1, Instance: "files#1", Progress: 3, TraceID: "abc",
	}
}

var aReply = core.Reply{Result: []byte(`{"content":[]}`)}

func TestMain(m *testing.M) {
	if recordUntilKilledIfAsked() || packerIfAsked() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestHistorySurvivesShutdown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "history.db")
	b := open(t, path)
	for n := range 1000 {
		b.Recorder().Record(aCall(n), core.Reply{Error: []byte(`{"code":-1,"message":"no"}`)})
	}
	b.stop()
	b = open(t, path)
	require.Equal(t, 1000, count(t, b))
	got, err := b.Call(t.Context(), aCall(7).ID)
	require.Truef(t, err == nil && string(got.Error) == `{"code":-1,"message":"no"}` && got.Result == nil, "got %+v, %v", got, err)
}

// flushed waits until the queue is written. Flush alone returns immediately while the recorder
// retries after an error.
func flushed(t testing.TB, b *testStore) {
	t.Helper()
	eventually.True(t, "all that was recorded is written", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		b.Recorder().Flush(ctx)
		return b.Recorder().Stats().Queued == 0
	})
}

func count(t testing.TB, b *testStore) (n int) {
	t.Helper()
	flushed(t, b)
	err := b.withHandle(func(h *handle) error {
		return h.read.QueryRow(`SELECT count(*) FROM call JOIN body USING (id)`).Scan(&n)
	})
	require.NoError(t, err)
	return n
}

func TestFiltersMatchExactly(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	for n := range 120 {
		c := aCall(n)
		c.Server = []string{"files", "git", "web"}[n%3]
		c.Client.Name = []string{"Cursor", "Claude"}[n%2]
		c.Name = []string{"echo", "add"}[(n/3)%2]
		c.Workspace = []string{"", "/home/me/a", "/home/me/b"}[n%3]
		if n%10 == 0 {
			c.Outcome = core.OutcomeTimeout
		}
		reply := aReply
		if n == 33 {
			reply.Result = []byte(`{"content":[{"type":"text","text":"a Needle in it"}]}`)
		}
		b.Recorder().Record(c, reply)
	}
	flushed(t, b) // a query with Before does not wait for queued calls
	for name, c := range map[string]struct {
		q    Query
		want int
	}{
		"all":             {Query{Limit: 500}, 120},
		"server":          {Query{Server: "git", Limit: 500}, 40},
		"client":          {Query{Client: "Claude", Limit: 500}, 60},
		"token":           {Query{Client: "cursor", Limit: 500}, 120},
		"tool":            {Query{Tool: "add", Limit: 500}, 60},
		"server and tool": {Query{Server: "web", Tool: "add", Limit: 500}, 20},
		"outcome":         {Query{Outcome: core.OutcomeTimeout, Limit: 500}, 12},
		"ok":              {Query{Outcome: core.OutcomeOK, Limit: 500}, 108},
		"all together":    {Query{Server: "files", Client: "Cursor", Tool: "echo", Outcome: core.OutcomeTimeout, Limit: 500}, 4},
		"text":            {Query{Text: "nEEDLE"}, 1},
		"text in tool":    {Query{Text: "ADD", Limit: 500}, 60},
		"before":          {Query{Before: aCall(20).ID, Limit: 500}, 20},
		"session":         {Query{Session: "s1", Limit: 500}, 120},
		"workspace":       {Query{Workspace: "/home/me/a", Limit: 500}, 40},
		"no such server":  {Query{Server: "nope"}, 0},
		"injection":       {Query{Server: "' OR 1=1 --"}, 0},
		"percent":         {Query{Text: "%"}, 0},
	} {
		got, next, err := b.Calls(t.Context(), c.q)
		assert.Truef(t, err == nil && len(got) == c.want && next == 0, "%s: %d calls, next %d, %v; want %d", name, len(got), next, err, c.want)
	}
}

func TestPagesCoverEveryCallOnce(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 95)
	for _, text := range []string{"", "echo"} {
		var seen []int64
		q := Query{Limit: 10, Text: text}
		for {
			page, next, err := b.Calls(t.Context(), q)
			require.NoError(t, err)
			for _, c := range page {
				seen = append(seen, c.ID)
			}
			if next == 0 {
				break
			}
			q.Before = next
		}
		require.Lenf(t, seen, 95, "text %q", text)
		for i, id := range seen {
			require.Equalf(t, aCall(94-i).ID, id, "text %q", text)
		}
	}
}

func TestCatalogRoundTripsEveryByte(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	want := &core.Catalog{
		Tools:        []core.Item{{Name: "a<b", Raw: []byte(`{"name":"a<b", "n":9007199254740993,  "x":"\u003c&"}`)}},
		Instructions: "be kind", ListedAt: time.Now().UTC(),
	}
	require.NoError(t, b.SaveCatalog(t.Context(), "files", "k1", &core.Catalog{}))
	require.NoError(t, b.SaveCatalog(t.Context(), "files", "k2", want))
	got, err := b.Catalog(t.Context(), "files", "k2")
	if err != nil || string(got.Tools[0].Raw) != string(want.Tools[0].Raw) || got.Instructions != "be kind" || got.Info != nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	old, err := b.Catalog(t.Context(), "files", "k1")
	require.Truef(t, old == nil && err == nil, "another key finds %+v, %v", old, err)
}

func TestEraIsForgottenWhenCommandChanges(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	_, known, err := b.DualEra(t.Context(), "files", "k1")
	require.Truef(t, !known && err == nil, "known before it was saved: %v", err)
	require.NoError(t, b.SaveDualEra(t.Context(), "files", "k1", true))
	dual, known, err := b.DualEra(t.Context(), "files", "k1")
	require.Truef(t, dual && known && err == nil, "got %v, %v, %v", dual, known, err)
	_, known, _ = b.DualEra(t.Context(), "files", "k2")
	require.False(t, known, "the era of another program is taken for this one's")
}

// What is committed reaches the disk at each checkpoint, also in a file that was created by this process.
func TestConnectionsOfANewFileWaitForTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	for _, which := range []string{"new", "existing"} {
		s, err := Open(t.Context(), Options{Path: path})
		require.NoError(t, err)
		require.NoError(t, s.withHandle(func(h *handle) error {
			for name, db := range map[string]*sql.DB{"write": h.write, "writeCalls": h.writeCalls} {
				var synchronous, vacuum int
				require.NoError(t, db.QueryRowContext(t.Context(), `SELECT s.synchronous, v.auto_vacuum FROM pragma_synchronous() s, pragma_auto_vacuum() v`).Scan(&synchronous, &vacuum))
				assert.Equalf(t, 1, synchronous, "%s of the %s", name, which)
				assert.Equalf(t, 2, vacuum, "%s of the %s", name, which)
			}
			return nil
		}))
		require.NoError(t, s.Close())
	}
}
