package store

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page of calls reads an index of its filter from the end: never all calls, and never all calls
// of a filter, which SQLite would then have to sort. The page is the same as without an index.
func TestNoFilterReadsAllCalls(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer b.stop()
	const n = 60
	for i := range n {
		c := aCall(i)
		c.Client = core.Client{Token: "t", Name: "app", Version: fmt.Sprint(i % 3)}
		c.Server, c.Name = fmt.Sprint("server", i%2), "echo"
		c.Session, c.Workspace, c.Account = fmt.Sprint("s", i%4), "/a", "work"
		c.ServedBy = &core.ServedBy{Name: "fs", Version: "1.2", Definition: [16]byte{byte(i % 5)}}
		c.Took = time.Duration(i) * 20 * time.Millisecond
		c.Outcome = []core.Outcome{core.OutcomeOK, core.OutcomeToolError, core.OutcomeTimeout}[i%3]
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	for name, c := range map[string]struct {
		q       Query
		matches func(i int) bool
		index   string
	}{
		"outcome":           {Query{Outcome: core.OutcomeToolError}, func(i int) bool { return i%3 == 1 }, "call_failed (outcome=?)"},
		"failed":            {Query{Outcome: outcomeFailed}, func(i int) bool { return i%3 > 0 }, "COVERING INDEX call_failed (outcome=?)"},
		"outcome + server":  {Query{Outcome: core.OutcomeTimeout, Server: "server1"}, func(i int) bool { return i%3 == 2 && i%2 == 1 }, "call_by_server (server_id=?)"},
		"slow":              {Query{MinTook: time.Second}, func(i int) bool { return i >= 50 }, "call_slow"},
		"slow + client":     {Query{MinTook: 200 * time.Millisecond, Client: "app"}, func(i int) bool { return i >= 10 }, "call_by_client (client_id=?)"},
		"server":            {Query{Server: "server1"}, func(i int) bool { return i%2 == 1 }, "call_by_server (server_id=?)"},
		"tool of a server":  {Query{Server: "server1", Tool: "echo"}, func(i int) bool { return i%2 == 1 }, "call_by_target (target_id=?)"},
		"tool of all":       {Query{Tool: "echo"}, func(int) bool { return true }, "call_by_target (target_id=?)"},
		"client":            {Query{Client: "app"}, func(int) bool { return true }, "call_by_client (client_id=?)"},
		"client + server":   {Query{Client: "t", Server: "server0"}, func(i int) bool { return i%2 == 0 }, "call_by_server (server_id=?)"},
		"session":           {Query{Session: "s3", Client: "app"}, func(i int) bool { return i%4 == 3 }, "call_by_session (session_id=?)"},
		"folder":            {Query{Workspace: "/a", Server: "server0"}, func(i int) bool { return i%2 == 0 }, "call_by_server (server_id=?)"},
		"folder alone":      {Query{Workspace: "/a"}, func(int) bool { return true }, "call_by_workspace (workspace_id=?)"},
		"account":           {Query{Account: "work"}, func(int) bool { return true }, "call_by_account (account_id=?)"},
		"version":           {Query{Version: "1.2", Outcome: core.OutcomeOK}, func(i int) bool { return i%3 == 0 }, "call_by_version (version_id=?)"},
		"version of a tool": {Query{Version: "04000000"}, func(i int) bool { return i%5 == 4 }, "call_by_version (version_id=?)"},
		"open task":         {Query{Outcome: TaskWorking}, func(int) bool { return false }, "INTEGER PRIMARY KEY"},
	} {
		err := b.query(t.Context(), func(ctx context.Context, h *handle) error {
			q := c.q
			q.now = b.opts.Now()
			where, args, by, err := conditions(ctx, h.read, q)
			if err != nil {
				return err
			}
			where, args = by.newest(where, args, 8)
			var plan strings.Builder
			err = eachRow(ctx, h.read, func(row scanner) error {
				var id, parent, unused int
				var detail string
				err := row.Scan(&id, &parent, &unused, &detail)
				plan.WriteString(detail + "\n")
				return err
			}, `EXPLAIN QUERY PLAN SELECT c.id`+callTables+` WHERE `+strings.Join(where, ` AND `)+` ORDER BY c.id DESC LIMIT 8`, args...)
			if text := plan.String(); !strings.Contains(text, c.index) || strings.Contains(text, "SCAN c\n") || len(by.list) > 0 && len(by.list[0].ids) == 1 && strings.Contains(text, "TEMP B-TREE") {
				t.Errorf("%s: its plan is\n%s", name, text)
			}
			return err
		})
		assert.NoError(t, err, name)
		var got, want []int64
		for i := n - 1; i >= 0; i-- {
			if c.matches(i) {
				want = append(want, aCall(i).ID)
			}
		}
		c.q.Limit = 7
		for pages := 0; pages == 0 || c.q.Before > 0 && pages < n; pages++ {
			calls, next, err := b.Calls(t.Context(), c.q)
			require.NoError(t, err, name)
			for i := range calls {
				got = append(got, calls[i].ID)
			}
			c.q.Before = next
		}
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got), name)
	}
}

// The calls of a version with many tools are counted from the newest ones, without sorting all of
// them.
func TestNewestCallsOfAFilterWithSeveralIDsAreFound(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer b.stop()
	for i := range 100 { // ten calls of each definition; in the newer half, half of the calls have no version
		c := aCall(i)
		if i < 50 || i%2 == 0 {
			c.ServedBy = &core.ServedBy{Name: "fs", Version: "1", Definition: [16]byte{byte(i % 10)}}
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	for _, c := range []struct {
		q           Query
		limit       int
		least, most int // matching calls after the id; 0: no id
	}{
		{Query{Version: "1"}, 10, 11, 12},
		{Query{Version: "1"}, 40, 41, 42},
		{Query{Version: "1", Before: aCall(50).ID}, 10, 11, 12},
		{Query{Version: "1"}, 75, 0, 0},
		{Query{Version: "1", Session: "s1"}, 10, 0, 0},
		{Query{Session: "s1"}, 10, 0, 0}, // one id
	} {
		require.NoError(t, b.query(t.Context(), func(ctx context.Context, h *handle) error {
			_, _, by, err := conditions(ctx, h.read, c.q)
			if err != nil {
				return err
			}
			from, err := by.newestFrom(ctx, h.read, c.q, c.limit)
			if err != nil || from == 0 {
				assert.Truef(t, c.least <= 0, "%+v: no id", c.q)
				return err
			}
			n := 0
			err = h.read.QueryRowContext(ctx, `SELECT count(*) FROM call WHERE id > ? AND id < ? AND version_id IS NOT NULL`, from, cmp.Or(c.q.Before, 1<<62)).Scan(&n)
			assert.Truef(t, n >= c.least && n <= c.most, "%+v: %d calls after %d, want %d to %d", c.q, n, from, c.least, c.most)
			return err
		}))
	}
}
