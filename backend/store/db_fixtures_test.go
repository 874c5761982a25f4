package store

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const allTablesCalls = 130

// populateAllTables writes a row to every table.
func populateAllTables(t *testing.T, b *testStore) {
	t.Helper()
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		require.NoError(t, err, what)
	}
	for i := range allTablesCalls {
		c, reply := aCall(i), longReply(i)
		switch i {
		case 1:
			c.Workspace = "/home/me/a"
		case 2:
			c.Cached = true
		case 3:
			c.Approval, c.Outcome, c.Code, c.Reason = core.Denied, core.OutcomeRejected, core.CodeRejected, "a person said no"
			reply = core.Reply{}
		case 4:
			c.Outcome, c.Code, c.Reason, c.Stack = core.OutcomeProtocolError, core.CodeInternal, "a mistake", "goroutine 7: here"
			reply = core.Reply{Error: []byte(`{"code":-32603,"message":"a mistake"}`)}
		case 5:
			c.Account = "work"
		case 6:
			c.ProgressLog = []core.ProgressNotification{{AfterMs: 20, Params: []byte(`{"progress":1}`)}}
			c.ServedBy = &core.ServedBy{Name: "fs", Version: "1.2", Package: "fs@1.2", Definition: [16]byte{1}}
		case 7:
			c.Task = &core.Task{Call: c.ID, ID: "a task", Status: "working", TTL: -1}
		}
		b.Recorder().Record(c, reply)
	}
	flushed(t, b)
	check("verdict", b.SaveVerdict(ctx, aCall(5).ID, core.SchemaMismatch{Level: "warn", Problem: "n is no number"}))
	check("note", b.SaveNote(ctx, aCall(7).ID, Note{Title: "a title", Text: "a note", Tags: []string{"kept"}}))
	check("check", b.SaveCheck(ctx, "every day", []byte(`{"name":"every day","steps":[]}`)))
	check("fact", b.SaveMetadata(ctx, "a", []byte("b")))
	check("era", b.SaveDualEra(ctx, "files", "k", true))
	check("recording", b.SaveRecording(ctx, RecordingSettings{Rules: []Rule{{Server: "files", Tool: "secret", Keep: KeepMeta}}}))
	check("catalog", b.SaveCatalog(ctx, "files", "k", &core.Catalog{Tools: []core.Item{{Name: "echo", Raw: []byte(`{"name":"echo","n":9007199254740993}`)}}, Instructions: "be kind"}))
	at := aCall(0).At
	check("trust", b.SaveTrust(ctx, "files", []Trusted{
		{Kind: "server", FirstAt: at, Hash: []byte("h0"), Definition: []byte(`{"command":"files"}`)},
		{Kind: "tool", Name: "echo", FirstAt: at, Hash: []byte("h1"), PreviousHashes: []byte("h0"), Always: true, Definition: []byte(`{"name":"echo"}`)},
		{Kind: "tool", Name: "write", FirstAt: at, AddedLater: true, Hash: []byte("h2"), Blocked: true, Definition: []byte(`{"name":"write"}`),
			PendingAt: at.Add(time.Hour), PendingHash: []byte("h3"), PendingDefinition: []byte(`{"name":"write","description":"now it is"}`)},
	}, nil, []TrustEvent{{At: at.Add(time.Hour), Server: "files", Kind: "tool", Name: "write", Action: "changed", Detail: "description", OldHash: []byte("h2"), NewHash: []byte("h3")}}))
	check("destinations", b.SaveDestinations(ctx, []Destination{{Server: "files", Protocol: "tcp", Host: "api.example.com", Port: 443, Address: "192.0.2.1", FirstAt: at, LastAt: at}}))
	indexed(t, b)
	packAll(t, b)
	for i := range 5 { // not in a block
		b.Recorder().Record(aCall(allTablesCalls+i), longReply(allTablesCalls+i))
	}
	indexed(t, b)
	_, err := b.RenameServer(ctx, "files", "docs")
	check("rename", err)
}

// requireAllTables fails the test unless everything that populateAllTables wrote exists and is
// found.
func requireAllTables(t *testing.T, b *testStore) {
	t.Helper()
	ctx := t.Context()
	const server = "docs"
	calls, _, err := b.Calls(ctx, Query{Limit: 500})
	require.NoError(t, err)
	require.Len(t, calls, allTablesCalls+5)
	for i := range allTablesCalls + 5 {
		r, err := b.Call(ctx, aCall(i).ID)
		require.NoErrorf(t, err, "call %d", i)
		if i != 3 && i != 4 && !bytes.Equal(r.Result, longReply(i).Result) || r.Server != server {
			t.Errorf("call %d of %s came back with %.80s", i, r.Server, r.Result)
		}
		want := aCall(i)
		if i == 1 && r.Workspace != "/home/me/a" || i == 2 && !r.Cached || i == 3 && (r.Approval != core.Denied || r.Reason != "a person said no") ||
			i == 4 && (r.Code != core.CodeInternal || !strings.Contains(string(r.Error), "a mistake")) || r.Took != want.Took || r.Session != want.Session || r.Client != want.Client ||
			!bytes.Equal(r.Arguments, want.Params[want.Arguments.Start:want.Arguments.End]) {
			t.Errorf("call %d came back as %+v", i, r)
		}
		if i == 4 && r.Stack != "goroutine 7: here" {
			t.Errorf("its stack is %q", r.Stack)
		}
		if i == 5 && (r.Verdict == nil || *r.Verdict != core.SchemaMismatch{Level: "warn", Problem: "n is no number"}) {
			t.Errorf("its verdict is %+v", r.Verdict)
		}
		if i == 6 && (r.ServedBy == nil || *r.ServedBy != core.ServedBy{Name: "fs", Version: "1.2", Package: "fs@1.2", Definition: [16]byte{1}}) {
			t.Errorf("it was answered by %+v", r.ServedBy)
		}
		if i == 6 && (len(r.ProgressLog) != 1 || r.ProgressLog[0].AfterMs != 20 || string(r.ProgressLog[0].Params) != `{"progress":1}`) {
			t.Errorf("its progress is %+v", r.ProgressLog)
		}
		if i == 7 && (r.Task == nil || r.Task.ID != "a task" || r.Task.Call != r.ID) {
			t.Errorf("its task is %+v", r.Task)
		}
		if i == 7 && (r.Note.Title != "a title" || !slices.Equal(r.Note.Tags, []string{"kept"})) {
			t.Errorf("its note is %+v", r.Note)
		}
	}
	indexed(t, b)
	got, _, err := b.Calls(ctx, Query{Text: "answer77"})
	assert.Truef(t, err == nil && len(got) == 1 && got[0].ID == aCall(77).ID, "a call of before is found as %v, %v", got, err)
	u, err := b.Usage(ctx, UsageQuery{From: aCall(0).At.Add(-time.Hour), To: aCall(0).At.Add(time.Hour)})
	assert.Truef(t, err == nil && u.Total.Calls == allTablesCalls+5, "calls of before are counted as %+v, %v", u, err)
	list, err := b.SavedChecks(ctx)
	assert.Truef(t, err == nil && len(list) == 1, "%d checks, %v", len(list), err)
	v, ok, err := b.Metadata(ctx, "a")
	assert.Truef(t, err == nil && ok && string(v) == "b", "a fact came back as %q, %v", v, err)
	dual, known, err := b.DualEra(ctx, server, "k")
	assert.Truef(t, err == nil && dual && known, "its eras: %v, %v, %v", dual, known, err)
	r := b.Recording().Rules
	assert.Truef(t, len(r) == 1 && r[0] == (Rule{Server: server, Tool: "secret", Keep: KeepMeta}), "what is recorded of it: %+v", r)
	if c, err := b.Catalog(ctx, server, "k"); err != nil || c == nil || len(c.Tools) != 1 || string(c.Tools[0].Raw) != `{"name":"echo","n":9007199254740993}` || c.Instructions != "be kind" {
		t.Errorf("its catalog is %+v, %v", c, err)
	}
	trusted, err := b.Trust(ctx, server)
	require.NoError(t, err)
	require.Len(t, trusted, 3)
	for _, one := range trusted {
		definition, err := b.TrustedDefinition(ctx, server, one.Kind, one.Name)
		assert.NoErrorf(t, err, "%s %s", one.Kind, one.Name)
		assert.NotEmptyf(t, definition, "%s %s", one.Kind, one.Name)
		if one.Name == "write" && (!one.Blocked || !one.AddedLater || one.PendingAt.IsZero() || !strings.Contains(string(one.PendingDefinition), "now it is")) ||
			one.Name == "echo" && (!one.Always || string(one.PreviousHashes) != "h0" || string(definition) != `{"name":"echo"}`) {
			t.Errorf("%+v", one)
		}
	}
	if list, _, err := b.TrustEvents(ctx, server, 0, 10); err != nil || len(list) != 1 || list[0].Action != "changed" {
		t.Errorf("what happened to definitions: %+v, %v", list, err)
	}
	if list, err := b.Destinations(ctx, server); err != nil || len(list) != 1 || list[0].Host != "api.example.com" || !list[0].FirstAt.Equal(aCall(0).At) {
		t.Errorf("its destinations: %+v, %v", list, err)
	}
	requireIntegrity(t, b)
}

func TestFullHistoryFixtureFillsEveryTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	b := openAt(t, path, later)
	populateAllTables(t, b)
	requireAllTables(t, b)
	err := b.withHandle(func(h *handle) error {
		rows, err := h.write.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%' AND name NOT LIKE 'sqlite%' AND name <> 'pending'`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		var names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		assert.Truef(t, len(names) >= 12, "the tables are %q", names)
		for _, name := range names {
			var n int
			if err := h.write.QueryRow(`SELECT count(*) FROM "` + name + `"`).Scan(&n); err != nil || n == 0 {
				t.Errorf("populateAllTables leaves the table %s empty (%v): whoever adds one says there what stands in it", name, err)
			}
		}
		return rows.Err()
	})
	require.NoError(t, err)
	b.stop()
}

// indexed waits until every call is indexed.
func indexed(t testing.TB, b *testStore) {
	t.Helper()
	flushed(t, b)
	eventually.True(t, "the index has every call", func() bool {
		st, err := b.Index(t.Context())
		return err == nil && st.Pending == 0 && st.UpTo.IsZero()
	})
}

// requireIntegrity fails the test unless file and index pass their integrity checks.
func requireIntegrity(t testing.TB, b *testStore) {
	t.Helper()
	err := b.withHandle(func(h *handle) error {
		var said string
		// Not on a connection for reading: its snapshot may be older than a merge of the index.
		if err := h.write.QueryRow(`PRAGMA integrity_check`).Scan(&said); err != nil || said != "ok" {
			t.Errorf("the file is not sound: %s, %v", said, err)
		}
		_, err := h.write.Exec(`INSERT INTO search (search) VALUES ('integrity-check')`)
		return err
	})
	assert.NoError(t, err, "the index is not sound")
}
