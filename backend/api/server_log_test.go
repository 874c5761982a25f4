package api

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
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
		if status, body, _ := s.ask(t, "GET", path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestStatusReportsMemoryAndCPU(t *testing.T) {
	s := newSite(t)
	s.api.Usage = func(id string) (process.Usage, error) {
		if id != "files" {
			return process.Usage{}, errors.New("no process")
		}
		return process.Usage{RSS: 2e6, CPU: 1.5, Tree: []process.Proc{{PID: 7}, {PID: 8}}}, nil
	}
	s.statuses = []core.ServerStatus{{ID: "files", PID: 7}, {ID: "stopped"}, {ID: "remote", PID: 9}}
	want := ServerUsage{Server: "files", RSS: 2e6, CPU: 1.5, Processes: 2}
	var list List[ServerUsage]
	var st Status
	s.get(t, "/api/v1/server-usage", &list)
	s.get(t, "/api/v1/status", &st)
	if len(list.Items) != 1 || list.Items[0] != want || len(st.Usage) != 1 || st.Usage[0] != want {
		t.Errorf("%+v, %+v", list, st.Usage)
	}
}

func TestNewCommandNoticeStaysUntilAcknowledged(t *testing.T) {
	s := newSite(t)
	s.notices = []event.Notice{{Subject: "command:files", Message: "Server \"files\" is running a new command: npx files"}}
	var st Status
	if s.get(t, "/api/v1/status", &st); len(st.Notices) == 0 || st.Notices[0] != s.notices[0] {
		t.Fatalf("notices %+v", st.Notices)
	}
	path := "/api/v1/notices/" + url.PathEscape("command:files")
	if status, body, _ := s.ask(t, "DELETE", path, ""); status != 204 {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := s.ask(t, "DELETE", path, ""); status != 404 {
		t.Errorf("a second time: %d", status)
	}
}
