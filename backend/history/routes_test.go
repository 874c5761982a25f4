package history

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is the feature with a store, and a gateway whose calls a function answers.
type site struct {
	*webtest.Site
	feature  *Feature
	store    *store.Store
	views    *registry.Registry
	call     func(context.Context, *core.Call) (core.Reply, error)
	sessions []bridge.Session
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	kept, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "history.db")})
	require.NoError(t, err)
	tokens, err := loopback.NewTokens(dir, nil)
	require.NoError(t, err)
	s := &site{store: kept, views: registry.New(registry.Options{})}
	s.feature = &Feature{
		Store: kept, Gateway: s, Views: s.views, Config: config.Default, FrameLog: &FrameLog{}, Tokens: tokens, Log: slog.New(slog.DiscardHandler),
		Sessions: func() []bridge.Session { return s.sessions },
		Checks:   &CheckRunner{Store: kept, ServerHash: func(string) (string, bool) { return "", false }, Log: slog.New(slog.DiscardHandler)},
		Live: func(ctx context.Context, server, method, name string, params json.RawMessage) (core.Reply, error) {
			return s.Call(ctx, &core.Call{Server: server, Method: method, Name: name, Params: params}, nil)
		},
	}
	s.Site = webtest.New(s.feature)
	ctx, stop := context.WithCancel(context.Background())
	var recorder sync.WaitGroup
	recorder.Go(func() { _ = kept.Recorder().Run(ctx) })
	t.Cleanup(func() { stop(); recorder.Wait(); _ = kept.Close() })
	return s
}

func (s *site) Call(ctx context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	c.ID, c.At = time.Now().UnixMicro(), time.Now().UTC()
	reply, err := s.call(ctx, c)
	if c.Outcome = cmp.Or(c.Outcome, core.OutcomeOK); err != nil {
		c.Outcome = core.OutcomeProtocolError
	}
	s.store.Recorder().Record(c, reply)
	return reply, err
}

func (s *site) Running() []core.Call                { return nil }
func (s *site) RunningCall(int64) (core.Call, bool) { return core.Call{}, false }

// fill records calls of two servers, half of them failed.
func (s *site) fill(t *testing.T, n int) (ids []string) {
	t.Helper()
	began := time.Now().Add(-time.Hour)
	for i := range n {
		at := began.Add(time.Duration(i) * time.Second)
		params := fmt.Sprintf(`{"name":"echo","arguments":{"n":%d,"password":"qwxSecret"}}`, i)
		c := &core.Call{ID: at.UnixMicro(), At: at.UTC(), Client: core.Client{Token: "t", Name: "=cmd()", Version: "1"}, Session: "s1", Server: []string{"files", "git"}[i%2],
			Method: "tools/call", Name: "echo", PublicName: "echo", Params: []byte(params), Arguments: core.Span{Start: 27, End: len(params) - 1},
			Outcome: []core.Outcome{core.OutcomeOK, core.OutcomeTimeout}[i%2], Took: time.Millisecond}
		s.store.Recorder().Record(c, core.Reply{Result: []byte(fmt.Sprintf(`{"content":[{"type":"text","text":"word%d"}],"big":12345678901234567890}`, i))})
		ids = append(ids, fmt.Sprint(c.ID))
	}
	s.store.Recorder().Flush(t.Context())
	return ids
}

// The history keeps the id of a task that looks like a secret, but it is not shown.
func TestIDOfATaskIsShownWithoutSecrets(t *testing.T) {
	for id, want := range map[string]string{"0190a1b2-c3d4": "0190a1b2-c3d4", "ghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36]: "[redacted]"} {
		assert.Equal(t, want, newCallTask(&core.Task{ID: id}).ID, id)
	}
}

func TestHistoryIsServed(t *testing.T) {
	s := newSite(t)
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		return core.Reply{Result: []byte(`{"content":[{"type":"text","text":"again"}]}`)}, nil
	}
	ids := s.fill(t, 10)
	var calls web.List[Call]
	s.Get(t, "/api/v1/calls?q=word3", &calls)
	require.Len(t, calls.Items, 1)
	require.Equal(t, ids[3], calls.Items[0].ID)
	s.Get(t, "/api/v1/calls?from="+time.Now().Add(-10*time.Second).UTC().Format(time.RFC3339), &calls)
	assert.Empty(t, calls.Items)
	var f store.Facets
	s.Get(t, "/api/v1/facets?server=git&outcome=unavailable", &f)
	s.Get(t, "/api/v1/facets?server=git", &f)
	assert.EqualValues(t, 5, f.Total)
	assert.Len(t, f.Servers, 2)
	var u UsageReport
	s.Get(t, "/api/v1/usage", &u)
	if u.Total.Calls != 10 || u.Total.Errors != 5 || len(u.Tools) != 2 || len(u.Series) == 0 || u.Total.P50Ns < 950_000 || u.Total.P50Ns > 1_050_000 {
		t.Errorf("usage: %+v", u)
	}
	var sessions web.List[Session]
	s.Get(t, "/api/v1/sessions", &sessions)
	require.Len(t, sessions.Items, 1)
	require.EqualValues(t, 10, sessions.Items[0].Calls)
	note := "/api/v1/calls/" + ids[0] + "/note"
	s.Want(t, "PUT", note, `{"title":"x","note":"y","tags":["b","a"]}`, 200, `"note":{"title":"x","note":"y","tags":["a","b"]}`)
	s.Want(t, "PUT", note, `{"title":"`+strings.Repeat("x", 501)+`","note":"","tags":[]}`, 400, `"field":"title"`)

	// Recorded with its secret redacted: it can only be repeated with new arguments and a
	// confirmation.
	replay := "/api/v1/calls/" + ids[0] + "/replay"
	s.Want(t, "POST", replay, `{"confirm":true}`, 400)
	s.Want(t, "POST", replay, `{"arguments":{"n":1}}`, 403)
	s.Want(t, "POST", replay, `{"arguments":{"n":1},"confirm":true}`, 200, "again")

	for _, format := range []string{"jsonl", "csv"} {
		status, body := s.Ask("GET", "/api/v1/export?server=files&q=word*&format="+format, "")
		lines := strings.Split(strings.TrimSpace(body), "\n")
		if status != 200 || len(lines) != map[string]int{"jsonl": 5, "csv": 6}[format] || strings.Contains(body, "qwxSecret") {
			t.Errorf("%s: %d %s", format, status, body)
		}
		assert.Falsef(t, format == "csv" && (!strings.Contains(body, ",'=cmd(),") || strings.Contains(body, ",=cmd")), "a formula is left alone: %s", body)
	}
	s.Want(t, "GET", "/api/v1/export?from=x&format=exe", "", 400, "query.from", "query.format")

	s.Want(t, "PUT", "/api/v1/checks/smoke", `{"steps":[{"server":"files","tool":"echo","arguments":"{\"n\":1}","expect":{"contains":["again"]}},{"server":"files","tool":"echo","expect":{"result":"{\"content\":[]}"}}]}`, 200)
	status, body := s.Ask("POST", "/api/v1/checks/smoke/run", "")
	if status != 200 || !strings.Contains(body, `"ok":false`) || !strings.Contains(body, `"path":"/content/0"`) || strings.Count(body, `"ok":true`) != 1 {
		t.Errorf("the check: %d %s", status, body)
	}
	s.Want(t, "DELETE", "/api/v1/checks/smoke", "", 204)

	s.Want(t, "PUT", "/api/v1/history/recording", `{"paused":true}`, 200, `"state":"paused"`)
	s.Want(t, "POST", "/api/v1/calls/delete", `{"session":"s1"}`, 200, `"deleted":10`)
	s.Want(t, "POST", "/api/v1/calls/delete", `{}`, 400)
	for _, what := range []string{"prune", "vacuum"} {
		s.Want(t, "POST", "/api/v1/history/"+what, `{}`, 200)
	}
}

func TestFramesAreServed(t *testing.T) {
	s := newSite(t)
	s.fill(t, 4)
	var frames web.List[Message]
	s.Get(t, "/api/v1/frames?server=files", &frames)
	assert.NotNil(t, frames.Items, "no list")
	for _, wrong := range []string{"", "?server=a&session=b"} {
		code, _ := s.Ask("GET", "/api/v1/frames"+wrong, "")
		assert.Equalf(t, 400, code, "%q", wrong)
	}
}

func TestRetentionPreviewComesBeforeDeletion(t *testing.T) {
	s := newSite(t)
	s.fill(t, 10)
	for _, c := range []struct{ ask, want string }{
		{`{"keepDays":30,"maxBytes":0}`, `"calls":0`},
		{`{"keepDays":0,"maxBytes":0}`, `"calls":0`},
		{`{"keepDays":0,"maxBytes":1}`, `"estimated":true`},
	} {
		s.Want(t, "POST", "/api/v1/history/retention-preview", c.ask, 200, c.want)
	}
	var state HistoryState
	s.Get(t, "/api/v1/history", &state)
	assert.EqualValues(t, 10, state.Calls)
}

// TestExportHasTheFiltersOfTheList checks that an export contains the calls that the list finds
// for the same query, and that it rejects the queries that the list rejects, before it sends the
// first byte.
func TestExportHasTheFiltersOfTheList(t *testing.T) {
	s := newSite(t)
	ids := s.fill(t, 10)
	odd := time.Now()
	s.store.Recorder().Record(&core.Call{ID: odd.UnixMicro(), At: odd, Client: core.Client{Token: "t2", Name: "Zed"}, Session: "s2", Workspace: "/home/me/a b",
		Server: "git", Method: "tools/call", Name: "commit", Outcome: core.OutcomeToolError, Took: time.Second}, core.Reply{Result: []byte(`{"x":"rare"}`)})
	s.store.Recorder().Flush(t.Context())
	s.Want(t, "PUT", "/api/v1/calls/"+ids[4]+"/note", `{"title":"","note":"","tags":["kept"]}`, 200)
	sixth, err := strconv.ParseInt(ids[5], 10, 64)
	require.NoError(t, err)
	middle := time.UnixMicro(sixth).UTC().Format(time.RFC3339)
	for filter, least := range map[string]int{
		"": 11, "server=git": 6, "client=Zed": 1, "client=t2": 1, "tool=commit": 1, "session=s2": 1, "workspace=/home/me/a b": 1, "tag=kept": 1,
		"outcome=timeout": 5, "q=rare": 1, "q=word*": 10, "minTookNs=2000000": 1, "maxTookNs=2000000": 10, "from=" + middle: 6, "to=" + middle: 5,
		"server=git&outcome=tool_error&q=rare": 1,
	} {
		v, err := url.ParseQuery(filter)
		require.NoError(t, err)
		var list web.List[Call]
		s.Get(t, "/api/v1/calls?"+v.Encode(), &list)
		status, body := s.Ask("GET", "/api/v1/export?"+v.Encode(), "")
		var listed, written []string
		for _, c := range list.Items {
			listed = append(listed, c.ID)
		}
		for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
			var c struct{ ID string }
			require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
			written = append(written, c.ID)
		}
		if status != 200 || !slices.Equal(listed, written) || len(listed) < least || filter != "" && len(listed) == 11 {
			t.Errorf("%q: listed %v, written %v (%d)", filter, listed, written, status)
		}
	}
	long := func(n int) string { return strings.Repeat("ä", n) }
	for filter, field := range map[string]string{
		"server=" + long(257): "server", "client=" + long(1001): "client", "tool=" + long(1001): "tool", "session=" + long(201): "session",
		"workspace=" + long(1001): "workspace", "tag=" + long(51): "tag", "q=" + long(1001): "q", "outcome=fine": "outcome",
		"from=yesterday": "from", "to=yesterday": "to", "from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z": "to",
		"minTookNs=-1": "minTookNs", "maxTookNs=x": "maxTookNs", "minTookNs=5&maxTookNs=4": "maxTookNs", "limit=0": "limit", "limit=-1": "limit", "limit=x": "limit",
	} {
		v, err := url.ParseQuery(filter)
		require.NoError(t, err)
		for _, path := range []string{"/api/v1/calls?", "/api/v1/export?"} {
			w := s.Record("GET", path+v.Encode(), "")
			status, body, head := w.Code, w.Body.String(), w.Header()
			var said web.ErrorDocument
			if err := json.Unmarshal([]byte(body), &said); err != nil || status != 400 || len(said.Errors) != 1 || strings.TrimPrefix(said.Errors[0].Field, "query.") != field || head.Get("Content-Disposition") != "" {
				t.Errorf("%s%.80s: %d %.300s", path, filter, status, body)
			}
		}
	}
	for filter, most := range map[string]int{"limit=3": 3, "limit=1000000": 11, "server=" + long(64): 0, "q=" + long(1000): 0} {
		v, _ := url.ParseQuery(filter)
		if status, body := s.Ask("GET", "/api/v1/export?"+v.Encode(), ""); status != 200 || strings.Count(body, "\n") != most {
			t.Errorf("%.80s: %d, %d lines, want %d", filter, status, strings.Count(body, "\n"), most)
		}
	}
}

// closingWriter closes the store when the first part of a response is written.
type closingWriter struct {
	*httptest.ResponseRecorder
	store *store.Store
}

func (w closingWriter) Write(p []byte) (int, error) {
	_ = w.store.Close()
	return w.ResponseRecorder.Write(p)
}

// An export that ends early must not look whole, in any format.
func TestAbortedExportIsNotWellFormed(t *testing.T) {
	for _, format := range []string{"jsonl", "csv"} {
		s := newSite(t)
		s.fill(t, 100)
		func() {
			defer func() {
				cause := recover()
				assert.Truef(t, cause == http.ErrAbortHandler, "%s: it ends as if it were whole: %v", format, cause)
			}()
			s.Mux.ServeHTTP(closingWriter{httptest.NewRecorder(), s.store}, httptest.NewRequest("GET", "/api/v1/export?format="+format, nil))
		}()
	}
}

// When two users or tabs edit the note of the same call, the second gets a conflict and nothing
// of the first is lost.
func TestChangedNoteIsAConflict(t *testing.T) {
	s := newSite(t)
	at := "/api/v1/calls/" + s.fill(t, 1)[0] + "/note"
	none, theirs := `{"title":"","note":"","tags":[]}`, `{"title":"theirs","note":"","tags":["a"]}`
	s.Want(t, "PUT", at, `{"title":"theirs","note":"","tags":["a"],"base":`+none+`}`, 200)
	s.Want(t, "PUT", at, `{"title":"mine","note":"","tags":[],"base":`+none+`}`, 409, `"conflict"`, "changed in the meantime")
	s.Want(t, "PUT", at, `{"title":"mine","note":"","tags":[],"base":`+theirs+`}`, 200, `"mine"`)
}

func TestOpenSessionsAreMarked(t *testing.T) {
	s := newSite(t)
	for i, session := range []string{"ended", "open"} {
		s.store.Recorder().Record(&core.Call{ID: int64(5_000_000 + i), At: time.UnixMicro(5_000_000), Session: session, Method: "tools/call", Outcome: core.OutcomeOK}, core.Reply{})
	}
	s.sessions = []bridge.Session{{ID: "open"}}
	var list web.List[Session]
	s.Get(t, "/api/v1/sessions", &list)
	require.Len(t, list.Items, 2)
	for _, one := range list.Items {
		assert.Equal(t, one.Session == "open", one.Open, one.Session)
	}
}

func TestClientsJoinHistorySessionsAndTokens(t *testing.T) {
	s := newSite(t)
	cursor := core.Client{Token: "cursor", Name: "Cursor", Version: "1"}
	s.store.Recorder().Record(&core.Call{ID: 5_000_000, At: time.UnixMicro(5_000_000), Client: cursor, Method: "tools/call", Outcome: core.OutcomeOK}, core.Reply{})
	s.sessions = []bridge.Session{{Client: cursor, LastUsed: time.UnixMicro(9_000_000)}}
	for _, name := range []string{"cursor", "claude"} {
		_, err := s.feature.Tokens.Create(name)
		require.NoError(t, err)
	}
	var list web.List[Client]
	s.Get(t, "/api/v1/clients", &list)
	if len(list.Items) != 2 || list.Items[0].Name != "Cursor" || list.Items[0].Calls != 1 || list.Items[0].Sessions != 1 ||
		list.Items[0].LastSeen.UnixMicro() != 9_000_000 || list.Items[1].Token != "claude" || list.Items[1].LastSeen != nil || !list.Items[0].HasToken || !list.Items[1].HasToken {
		t.Errorf("got %+v", list)
	}
	require.NoError(t, s.feature.Tokens.Revoke("cursor"))
	s.Get(t, "/api/v1/clients", &list)
	assert.Truef(t, list.Items[0].Token == "cursor" && !list.Items[0].HasToken, "the token that ended: %+v", list)
}
