package api

import (
	"net/url"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

func TestServerLogIsFilteredByLevelAndTime(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files"}}
	logs := s.api.Logs.(*serverlog.Logs)
	logs.Append("files", serverlog.Info, "started")
	w := logs.Writer("files")
	if _, err := w.Write([]byte("\x1b[31mhello\n")); err != nil {
		t.Fatal(err)
	}
	logs.Append("files", serverlog.Error, "failed")
	texts := func(query string) (list []string, last time.Time) {
		t.Helper()
		var l List[serverlog.Line]
		s.get(t, "/api/v1/servers/files/log"+query, &l)
		for _, line := range l.Items {
			list, last = append(list, line.Text), line.At
		}
		return list, last
	}
	equal := func(query string, want ...string) time.Time {
		t.Helper()
		got, last := texts(query)
		if len(got) != len(want) {
			t.Fatalf("%s: %q", query, got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q", query, got)
			}
		}
		return last
	}
	last := equal("", "started", "hello", "failed")
	equal("?level=stderr", "hello")
	equal("?level=lifecycle", "started", "failed")
	equal("?level=warn", "failed")
	equal("?limit=1&level=lifecycle", "failed")
	equal("?after=" + url.QueryEscape(last.Format(time.RFC3339Nano)))
	for path, want := range map[string]int{"/api/v1/servers/nobody/log": 404, "/api/v1/servers/files/log?level=loud": 400, "/api/v1/servers/files/log?limit=0": 400} {
		s.want(t, "GET", path, "", want)
	}
}
