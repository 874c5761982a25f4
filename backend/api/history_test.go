package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
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
	var calls List[Call]
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
	var sessions List[Session]
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
	var frames List[Message]
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
