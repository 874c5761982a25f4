package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func textReply(text string) core.Reply {
	return core.Reply{Result: []byte(`{"content":[{"type":"text","text":"` + text + `"}]}`)}
}

func found(t *testing.T, b *testStore, q Query) []int64 {
	t.Helper()
	calls, _, err := b.Calls(t.Context(), q)
	require.NoError(t, err)
	out := []int64{}
	for _, c := range calls {
		out = append(out, (c.ID-aCall(0).ID)/1000)
	}
	return out
}

func TestSearchFindsCallsByTheirWords(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	texts := []string{`The Quick brown-fox`, `line\nbreak C:\\new\\path`, `Ünïcödé été \u00dcber`, `snake_case and camelCase`, `quick 42 3.14`, `日本語 text`, `nothing`}
	for n, text := range texts {
		c := aCall(n)
		if n == 6 {
			c.Outcome, c.Reason = core.OutcomeTimeout, "the deadline was exceeded"
		}
		b.Recorder().Record(c, textReply(text))
	}
	for query, want := range map[string][]int64{
		"quick": {4, 0}, "QUICK fox": {0}, "fox quick": {0}, "qui": {}, "qui*": {4, 0}, "break": {1}, "new": {1}, "path": {1},
		"été": {2}, "über": {2}, "ÜNÏCÖDÉ": {2}, "uber": {}, "snake": {3}, "snake_case": {3}, "camelcase": {3}, "case": {3}, "14": {4},
		"日本語": {5}, "deadline exceeded": {6}, "echo text": {6, 5, 4, 3, 2, 1, 0}, "\"": {}, "quick AND": {}, "NOT": {}, "*": {}, "files__echo nothing": {6},
	} {
		assert.Equalf(t, want, found(t, b, Query{Text: query}), "%q", query)
	}
	requireIntegrity(t, b)
}

func TestFilteredSearchPagesThroughEveryHit(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	n := 7000
	if raceDetectorEnabled {
		n = 3000
	}
	for i := range n {
		c := aCall(i)
		if i%1000 == 5 {
			c.Server = "rare"
		}
		b.Recorder().Record(c, textReply("common words"))
		if i%500 == 0 {
			flushed(t, b)
		}
	}
	indexed(t, b)
	var got []int64
	q := Query{Text: "common", Server: "rare", Limit: 2}
	for {
		calls, next, err := b.Calls(t.Context(), q)
		require.NoError(t, err)
		for _, c := range calls {
			got = append(got, (c.ID-aCall(0).ID)/1000)
		}
		if next == 0 {
			break
		}
		q.Before = next
	}
	assert.Equal(t, []int64{6005, 5005, 4005, 3005, 2005, 1005, 5}[7-n/1000:], got)
	f, err := b.Facets(t.Context(), Query{Text: "common"})
	if err != nil || f.Total != int64(n) || len(f.Servers) != 2 || f.Servers[1].Value != "rare" || f.Servers[1].Calls != int64(n/1000) {
		t.Errorf("facets %+v, %v", f, err)
	}
}

func TestQueriesFilterByTimeDurationTagAndSession(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	for n := range 100 {
		c := aCall(n)
		c.Took = time.Duration(n) * time.Millisecond
		c.Session = fmt.Sprintf("s%d", n/50)
		b.Recorder().Record(c, aReply)
	}
	require.NoError(t, b.SaveNote(t.Context(), aCall(42).ID, Note{Title: "odd", Text: "why?", Tags: []string{" bug ", "a", "bug"}}))
	for name, c := range map[string]struct {
		q    Query
		want int
	}{
		"from":          {Query{From: aCall(90).At}, 10},
		"to":            {Query{To: aCall(90).At}, 90},
		"range":         {Query{From: aCall(10).At, To: aCall(20).At}, 10},
		"range, text":   {Query{From: aCall(10).At, To: aCall(20).At, Text: "echo"}, 10},
		"slow":          {Query{MinTook: 95 * time.Millisecond}, 5},
		"fast":          {Query{MaxTook: 4 * time.Millisecond, Text: "echo"}, 5},
		"session":       {Query{Session: "s1"}, 50},
		"tag":           {Query{Tag: "bug"}, 1},
		"tag, no other": {Query{Tag: "nope"}, 0},
	} {
		assert.Len(t, found(t, b, c.q), c.want, name)
		f, err := b.Facets(t.Context(), c.q)
		assert.Truef(t, err == nil && !(f.Total != int64(c.want) && !c.q.fromRollups()), "%s: the facets count %+v, %v; want %d", name, f, err, c.want)
	}
	r, err := b.Call(t.Context(), aCall(42).ID)
	if err != nil || r.Note.Title != "odd" || r.Note.Text != "why?" || !slices.Equal(r.Note.Tags, []string{"a", "bug"}) {
		t.Errorf("the note came back as %+v, %v", r.Note, err)
	}
	stories, next, err := b.Sessions(t.Context(), 0, 1)
	if err != nil || len(stories) != 1 || stories[0].Session != "s1" || stories[0].Calls != 50 || next == 0 || len(stories[0].Servers) != 1 || stories[0].Servers[0] != aCall(1).Server {
		t.Fatalf("stories %+v, %d, %v", stories, next, err)
	}
	if stories, next, err = b.Sessions(t.Context(), next, 1); err != nil || len(stories) != 1 || stories[0].Session != "s0" || next != 0 {
		t.Errorf("stories %+v, %d, %v", stories, next, err)
	}
}

func TestInvalidLimitNamesItsField(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 1)
	id := aCall(0).ID
	many := make([]string, MaxTags+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	save := func(n Note) func() error { return func() error { return b.SaveNote(t.Context(), id, n) } }
	ask := func(q Query) func() error {
		return func() error { _, _, err := b.Calls(t.Context(), q); return err }
	}
	for name, c := range map[string]struct {
		do    func() error
		field string
	}{
		"query":    {ask(Query{Text: strings.Repeat("é", MaxText+1)}), "q"},
		"range":    {ask(Query{From: time.Unix(2, 0), To: time.Unix(1, 0)}), "to"},
		"duration": {ask(Query{MinTook: 2, MaxTook: 1}), "maxTookNs"},
		"note":     {save(Note{Text: strings.Repeat("é", MaxNote+1)}), "note"},
		"title":    {save(Note{Title: strings.Repeat("é", MaxTitle+1)}), "title"},
		"tags":     {save(Note{Tags: many}), "tags"},
		"tag":      {save(Note{Tags: []string{"a", strings.Repeat("é", MaxTag+1)}}), "tags[1]"},
		"no tag":   {save(Note{Tags: []string{" "}}), "tags[0]"},
	} {
		err := c.do()
		ours, ok := err.(*core.Error)
		assert.Truef(t, ok && ours.Code == core.CodeValidation && len(ours.Fields) == 1 && ours.Fields[0].Field == c.field, "%s: %v", name, err)
	}
	assert.NoError(t, save(Note{Text: strings.Repeat("é", MaxNote), Title: strings.Repeat("é", MaxTitle), Tags: many[:MaxTags]})())
	assert.NoError(t, ask(Query{Text: strings.Repeat("é", MaxText)})(), "what is just short enough")
}

func TestPruningRemovesCallsFromIndex(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	for n := range 500 {
		b.Recorder().Record(aCall(n), textReply(fmt.Sprintf("number%d", n)))
	}
	indexed(t, b)
	n, err := b.Prune(t.Context(), RetentionLimits{Age: -1, Bytes: -1, Rows: 100})
	require.NoError(t, err)
	require.EqualValues(t, 400, n)
	got := found(t, b, Query{Text: "echo", Limit: 500})
	assert.Truef(t, len(got) == 100 && got[99] == 400, "%d are found", len(got))
	requireIntegrity(t, b)
	require.NoError(t, b.Vacuum(t.Context()))
	size, err := b.Size(t.Context())
	assert.Truef(t, err == nil && size.Calls == 100 && size.FreeBytes == 0, "after a vacuum %+v, %v", size, err)
	requireIntegrity(t, b)
	backup := filepath.Join(t.TempDir(), "sub", "copy.db")
	require.NoError(t, b.Backup(t.Context(), backup))
	assert.Equal(t, core.CodeConflict, core.CodeOf(b.Backup(t.Context(), backup)), "a backup over another")
	within := filepath.Join(backup, "a.db")
	if err := b.Backup(t.Context(), within); core.CodeOf(err) != core.CodeValidation {
		t.Errorf("a backup within a file: %v", err)
	} else if said, hint := core.Describe(err); !strings.Contains(said, "is a file") || hint == "" {
		t.Errorf("%q, %q: nobody can tell what to do", said, hint)
	}
	info, err := os.Stat(backup)
	assert.Truef(t, err == nil && !(info.Mode().Perm() != 0o600 && os.PathSeparator == '/'), "the backup is %v, %v", info, err)
	c := open(t, backup)
	assert.Equal(t, []int64{499}, found(t, c, Query{Text: "number499"}), "in the backup")
}

// Ids have precedence over the client of a selection.
func TestOnlySelectedCallsAreErased(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 40)
	flushed(t, b)
	sel := Selection{Client: aCall(0).Client.Name}
	for n := range 3 * firstEraseRows {
		sel.IDs = append(sel.IDs, aCall(n).ID)
	}
	n, err := b.Erase(t.Context(), sel)
	assert.Truef(t, err == nil && n == 3*firstEraseRows, "%d calls were erased, %v", n, err)
	assert.Equal(t, 40-3*firstEraseRows, count(t, b))
}
