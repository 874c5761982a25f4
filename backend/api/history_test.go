package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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
		s.recorder.Record(c, core.Reply{Result: []byte(fmt.Sprintf(`{"content":[{"type":"text","text":"word%d"}],"big":12345678901234567890}`, i))})
		ids = append(ids, fmt.Sprint(c.ID))
	}
	s.recorder.Flush(t.Context())
	return ids
}

// The history keeps the id of a task that looks like a secret, but it is not shown.
func TestIDOfATaskIsShownWithoutSecrets(t *testing.T) {
	for id, want := range map[string]string{"0190a1b2-c3d4": "0190a1b2-c3d4", "ghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36]: "[redacted]"} {
		if got := newCallTask(&core.Task{ID: id}).ID; got != want {
			t.Errorf("%s is shown as %s", id, got)
		}
	}
}

func TestHistoryIsServed(t *testing.T) {
	s := newSite(t)
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		return core.Reply{Result: []byte(`{"content":[{"type":"text","text":"again"}]}`)}, nil
	}
	ids := s.fill(t, 10)
	var calls web.List[Call]
	s.get(t, "/api/v1/calls?q=word3", &calls)
	if len(calls.Items) != 1 || calls.Items[0].ID != ids[3] {
		t.Errorf("search: %+v", calls)
	}
	s.get(t, "/api/v1/calls?from="+time.Now().Add(-10*time.Second).UTC().Format(time.RFC3339), &calls)
	if len(calls.Items) != 0 {
		t.Errorf("from: %+v", calls)
	}
	var f store.Facets
	s.get(t, "/api/v1/facets?server=git", &f)
	if f.Total != 5 || len(f.Servers) != 2 {
		t.Errorf("facets: %+v", f)
	}
	var u UsageReport
	s.get(t, "/api/v1/usage", &u)
	if u.Total.Calls != 10 || u.Total.Errors != 5 || len(u.Tools) != 2 || len(u.Series) == 0 || u.Total.P50Ns < 950_000 || u.Total.P50Ns > 1_050_000 {
		t.Errorf("usage: %+v", u)
	}
	var sessions web.List[Session]
	s.get(t, "/api/v1/sessions", &sessions)
	if len(sessions.Items) != 1 || sessions.Items[0].Calls != 10 {
		t.Errorf("sessions: %+v", sessions)
	}
	note := "/api/v1/calls/" + ids[0] + "/note"
	s.want(t, "PUT", note, `{"title":"x","note":"y","tags":["b","a"]}`, 200, `"note":{"title":"x","note":"y","tags":["a","b"]}`)
	s.want(t, "PUT", note, `{"title":"`+strings.Repeat("x", 501)+`","note":"","tags":[]}`, 400, `"field":"title"`)

	// Recorded with its secret redacted: it can only be repeated with new arguments and a
	// confirmation.
	replay := "/api/v1/calls/" + ids[0] + "/replay"
	s.want(t, "POST", replay, `{"confirm":true}`, 400)
	s.want(t, "POST", replay, `{"arguments":{"n":1}}`, 403)
	s.want(t, "POST", replay, `{"arguments":{"n":1},"confirm":true}`, 200, "again")

	for _, format := range []string{"jsonl", "csv"} {
		status, body, _ := s.ask(t, "GET", "/api/v1/export?server=files&q=word*&format="+format, "")
		lines := strings.Split(strings.TrimSpace(body), "\n")
		if status != 200 || len(lines) != map[string]int{"jsonl": 5, "csv": 6}[format] || strings.Contains(body, "qwxSecret") {
			t.Errorf("%s: %d %s", format, status, body)
		}
		if format == "csv" && (!strings.Contains(body, ",'=cmd(),") || strings.Contains(body, ",=cmd")) {
			t.Errorf("a formula is left alone: %s", body)
		}
	}
	s.want(t, "GET", "/api/v1/export?from=x&format=exe", "", 400, "query.from", "query.format")

	s.want(t, "PUT", "/api/v1/checks/smoke", `{"steps":[{"server":"files","tool":"echo","arguments":"{\"n\":1}","expect":{"contains":["again"]}},{"server":"files","tool":"echo","expect":{"result":"{\"content\":[]}"}}]}`, 200)
	status, body, _ := s.ask(t, "POST", "/api/v1/checks/smoke/run", "")
	if status != 200 || !strings.Contains(body, `"ok":false`) || !strings.Contains(body, `"path":"/content/0"`) || strings.Count(body, `"ok":true`) != 1 {
		t.Errorf("the check: %d %s", status, body)
	}
	s.want(t, "DELETE", "/api/v1/checks/smoke", "", 204)

	s.want(t, "PUT", "/api/v1/history/recording", `{"paused":true}`, 200, `"state":"paused"`)
	s.want(t, "POST", "/api/v1/calls/delete", `{"session":"s1"}`, 200, `"deleted":10`)
	s.want(t, "POST", "/api/v1/calls/delete", `{}`, 400)
	for _, what := range []string{"prune", "vacuum"} {
		s.want(t, "POST", "/api/v1/history/"+what, `{}`, 200)
	}
}

func TestFramesAreServed(t *testing.T) {
	s := newSite(t)
	s.fill(t, 4)
	var frames web.List[Message]
	s.get(t, "/api/v1/frames?server=files", &frames)
	if frames.Items == nil {
		t.Error("no list")
	}
	for _, wrong := range []string{"", "?server=a&session=b"} {
		if code, _, _ := s.ask(t, "GET", "/api/v1/frames"+wrong, ""); code != 400 {
			t.Errorf("%q gives %d", wrong, code)
		}
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
		s.want(t, "POST", "/api/v1/history/retention-preview", c.ask, 200, c.want)
	}
	var state HistoryState
	s.get(t, "/api/v1/history", &state)
	if state.Calls != 10 {
		t.Errorf("%d calls are left of 10 after a question", state.Calls)
	}
}

// TestExportHasTheFiltersOfTheList checks that an export contains the calls that the list finds
// for the same query, and that it rejects the queries that the list rejects, before it sends the
// first byte.
func TestExportHasTheFiltersOfTheList(t *testing.T) {
	s := newSite(t)
	ids := s.fill(t, 10)
	odd := time.Now()
	s.recorder.Record(&core.Call{ID: odd.UnixMicro(), At: odd, Client: core.Client{Token: "t2", Name: "Zed"}, Session: "s2", Workspace: "/home/me/a b",
		Server: "git", Method: "tools/call", Name: "commit", Outcome: core.OutcomeToolError, Took: time.Second}, core.Reply{Result: []byte(`{"x":"rare"}`)})
	s.recorder.Flush(t.Context())
	s.want(t, "PUT", "/api/v1/calls/"+ids[4]+"/note", `{"title":"","note":"","tags":["kept"]}`, 200)
	sixth, err := strconv.ParseInt(ids[5], 10, 64)
	must(t, err)
	middle := time.UnixMicro(sixth).UTC().Format(time.RFC3339)
	for filter, least := range map[string]int{
		"": 11, "server=git": 6, "client=Zed": 1, "client=t2": 1, "tool=commit": 1, "session=s2": 1, "workspace=/home/me/a b": 1, "tag=kept": 1,
		"outcome=timeout": 5, "q=rare": 1, "q=word*": 10, "minTookNs=2000000": 1, "maxTookNs=2000000": 10, "from=" + middle: 6, "to=" + middle: 5,
		"server=git&outcome=tool_error&q=rare": 1,
	} {
		v, err := url.ParseQuery(filter)
		must(t, err)
		var list web.List[Call]
		s.get(t, "/api/v1/calls?"+v.Encode(), &list)
		status, body, _ := s.ask(t, "GET", "/api/v1/export?"+v.Encode(), "")
		var listed, written []string
		for _, c := range list.Items {
			listed = append(listed, c.ID)
		}
		for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
			var c struct{ ID string }
			must(t, json.Unmarshal(lines.Bytes(), &c))
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
		must(t, err)
		for _, path := range []string{"/api/v1/calls?", "/api/v1/export?"} {
			status, body, head := s.ask(t, "GET", path+v.Encode(), "")
			var said web.ErrorDocument
			if err := json.Unmarshal([]byte(body), &said); err != nil || status != 400 || len(said.Errors) != 1 || strings.TrimPrefix(said.Errors[0].Field, "query.") != field || head.Get("Content-Disposition") != "" {
				t.Errorf("%s%.80s: %d %.300s", path, filter, status, body)
			}
		}
	}
	for filter, most := range map[string]int{"limit=3": 3, "limit=1000000": 11, "server=" + long(64): 0, "q=" + long(1000): 0} {
		v, _ := url.ParseQuery(filter)
		if status, body, _ := s.ask(t, "GET", "/api/v1/export?"+v.Encode(), ""); status != 200 || strings.Count(body, "\n") != most {
			t.Errorf("%.80s: %d, %d lines, want %d", filter, status, strings.Count(body, "\n"), most)
		}
	}
}

// failingHistory is a history that fails after its first page.
type failingHistory struct{ History }

func (b failingHistory) Calls(ctx context.Context, q store.Query) ([]core.Call, int64, error) {
	if q.Before != 0 {
		return nil, 0, errors.New("the disk is gone")
	}
	calls, _, err := b.History.Calls(ctx, q)
	return calls, 1, err
}

// TestAbortedExportIsNotWellFormed checks for each format that a truncated export does not parse.
func TestAbortedExportIsNotWellFormed(t *testing.T) {
	s := newSite(t)
	s.fill(t, 3)
	s.api.History = failingHistory{s.store}
	for _, format := range []string{"jsonl", "csv", "har"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/export?format="+format, nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+s.admin)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue // it failed before the response started
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil {
			t.Errorf("%s: it ends as if it were whole, with status %d: %s", format, resp.StatusCode, body)
		}
	}
}

// TestReducedRetentionReportsDeletedCalls uses three calls that are ten days old and one of
// today.
func TestReducedRetentionReportsDeletedCalls(t *testing.T) {
	s := newSite(t)
	for i := range 4 {
		at := time.Now().Add(time.Duration(i) * time.Millisecond)
		if i < 3 {
			at = at.AddDate(0, 0, -10)
		}
		s.recorder.Record(&core.Call{ID: at.UnixMicro(), At: at, Server: "files", Method: "tools/call", Name: "echo", Outcome: core.OutcomeOK}, core.Reply{Result: []byte(`{}`)})
	}
	s.recorder.Flush(t.Context())
	for _, c := range []struct {
		was, text string
		calls     int64
		about     bool
	}{
		{`{}`, `{"history":{"keepDays":7}}`, 3, false},
		{`{}`, `{"history":{"keepDays":9}}`, 3, false},
		{`{}`, `{"history":{"keepDays":11}}`, 0, false},
		{`{}`, `{"history":{"keepDays":0}}`, 0, false},
		{`{}`, `{"history":{"maxBytes":1}}`, 3, true},
		{`{"history":{"keepDays":7}}`, `{"history":{"keepDays":7},"mcpServers":{}}`, 0, false}, // unchanged
		{`{"history":{"keepDays":7}}`, `{"history":{"keepDays":9}}`, 0, false},                 // longer retention
		{`{"history":{"keepDays":0}}`, `{"history":{"keepDays":9}}`, 3, false},                 // 0 means unlimited
		{`{"history":{"keepDays":365,"maxBytes":0}}`, `{}`, 0, false},                          // the default is 30 days
		{`{"history":{"keepDays":`, `{"history":{"keepDays":9}}`, 3, false},                    // the current file cannot be parsed
		{`{}`, `{"history":{"keepDays":"soon"}}`, 0, false},                                    // rejected anyway
		{`{}`, `{"history":`, 0, false},
	} {
		s.text = c.was
		status, body, _ := s.ask(t, "POST", "/api/v1/config/retention-preview", `{"text":`+strconv.Quote(c.text)+`}`)
		want := `"calls":` + strconv.FormatInt(c.calls, 10) + `,`
		if status != 200 || !strings.Contains(body, want) || strings.Contains(body, `"estimated":true`) != c.about {
			t.Errorf("from %s to %s: %d %s, want %s", c.was, c.text, status, body, want)
		}
		if c.calls > 0 && !strings.Contains(body, `"total":4`) {
			t.Errorf("from %s to %s: %s does not say of how many", c.was, c.text, body)
		}
	}

	// The same applies to a copy that is restored.
	s.text = `{}`
	s.api.Copies = config.BackupsOf(filepath.Join(t.TempDir()))
	name, err := s.api.Copies.Create("/home/me/config.jsonc", []byte(`{"history":{"keepDays":7}}`), time.Now())
	must(t, err)
	s.want(t, "POST", "/api/v1/config/retention-preview", `{"copy":"`+name+`"}`, 200, `"calls":3,`)
	s.want(t, "POST", "/api/v1/config/retention-preview", `{"copy":"none.jsonc"}`, http.StatusNotFound)
	var state HistoryState
	s.get(t, "/api/v1/history", &state)
	if state.Calls != 4 {
		t.Errorf("%d calls are left of 4 after a question", state.Calls)
	}
}
