package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

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
		var list List[Call]
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
			var said ErrorDocument
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
