package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func (s *site) try(t *testing.T, body string) TestResult {
	t.Helper()
	status, text, _ := s.ask(t, "POST", "/api/v1/test", body)
	var got TestResult
	if err := json.Unmarshal([]byte(text), &got); status != 200 || err != nil {
		t.Fatalf("%d %s %v", status, text, err)
	}
	return got
}

func TestServerIsTriedBeforeSaving(t *testing.T) {
	s := newSite(t)
	var tried *config.Server
	s.api.Try = func(_ context.Context, c *config.Server, _ string, _ func(upstream.Connection)) upstream.Trial {
		tried = c
		if c.Command == "bad" {
			return upstream.Trial{Err: core.Errorf(core.CodeUnavailable, "x"), Reason: "exited with status 3", Hint: "Look.", Reached: true,
				Catalog: &core.Catalog{}, Log: []serverlog.Line{{Text: "\x1b[31mwhy"}}}
		}
		return upstream.Trial{Took: time.Second, Command: "npx files", Era: core.Legacy, Version: "2025-11-25", Catalog: &core.Catalog{
			Tools:    []core.Item{{Name: "read", Raw: []byte(`{"name":"read","description":"Reads.","inputSchema":{"type":"object","x":9007199254740993}}`)}},
			Prompts:  []core.Item{{Name: "p", Raw: []byte(`{"name":"p","title":"P"}`)}},
			Info:     []byte(`{"name":"files"}`),
			Warnings: []string{"1 of 2 tools"},
		}}
	}
	got := s.try(t, `{"name":"My files","entry":{"command":"npx","args":["files"],"disabled":true,"colour":"red"}}`)
	if !got.OK || got.Stage != "done" || len(got.Tools) != 1 || got.Tools[0].InputSchema != `{"type":"object","x":9007199254740993}` || got.Prompts[0].Title != "P" ||
		string(got.ServerInfo) != `{"name":"files"}` || len(got.Warnings) != 1 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Message, "colour") {
		t.Errorf("%+v", got)
	}
	if tried.ID != "My-files" || tried.Disabled || tried.Type != core.Stdio || tried.StartupTimeout != config.DefaultStartupTimeout {
		t.Errorf("%+v", tried)
	}
	got = s.try(t, `{"name":"x","entry":{"command":"bad"}}`)
	if got.OK || got.Stage != "connect" || got.Error != "exited with status 3" || got.Hint != "Look." || got.Code != core.CodeUnavailable || fmt.Sprint(got.Log) != "[why]" {
		t.Errorf("%+v", got)
	}
	tried = nil
	got = s.try(t, `{"name":"x","entry":{"type":"docker","command":"y"}}`)
	if got.OK || got.Stage != "configuration" || !strings.Contains(got.Error, "container") || tried != nil {
		t.Errorf("%+v", got)
	}
	for body, want := range map[string]int{`{"entry":[1]}`: 400, `{"server":"nobody"}`: 404, `{}`: 400} {
		s.want(t, "POST", "/api/v1/test", body, want)
	}
	if len(s.fakes.did) > 0 {
		t.Errorf("a try did %v", s.fakes.did)
	}
}

func TestTrialsEndWithRequestAndAreBounded(t *testing.T) {
	const maxTrials = 4
	s := newSite(t)
	began, ended := make(chan struct{}, maxTrials), make(chan error, maxTrials)
	s.api.Try = func(ctx context.Context, _ *config.Server, _ string, _ func(upstream.Connection)) upstream.Trial {
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return upstream.Trial{Err: ctx.Err(), Catalog: &core.Catalog{}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{}, maxTrials)
	for range maxTrials {
		go func() {
			_, _ = s.api.testServer(ctx, &testInput{TestRequest{Entry: web.JSON(`{"command":"x"}`)}})
			over <- struct{}{}
		}()
		<-began
	}
	s.want(t, "POST", "/api/v1/test", `{"entry":{"command":"x"}}`, 429)
	cancel()
	for range maxTrials {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-over
	}
}

func TestContainerPickerExplainsEmptyList(t *testing.T) {
	s := newSite(t)
	var got DockerView
	s.get(t, "/api/v1/docker?host="+url.QueryEscape("unix://"+filepath.Join(t.TempDir(), "none.sock")), &got)
	if got.Engine.State != "absent" || got.Engine.Message == "" || got.Engine.Hint == "" || len(got.Contexts) == 0 || got.Containers == nil {
		t.Errorf("%+v", got)
	}
	s.want(t, "GET", "/api/v1/docker/containers/x?host="+url.QueryEscape("unix:///nowhere"), "", 503)
}

func TestServersAreAddedAndRemovedAndDebugged(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	s.want(t, "POST", "/api/v1/servers", `{"name":"My Git","entry":{"command":"git"}}`, 200, `"id":"My-Git"`)
	s.want(t, "DELETE", "/api/v1/servers/files", "", 204)
	if got := strings.Join(s.did, ","); got != `expect My-Git,add My Git {"command":"git"},remove files` {
		t.Errorf("done: %s", got)
	}
	var d supervisor.Debug
	s.get(t, "/api/v1/servers/files/debug", &d)
	if d.Configured != "npx files" || len(d.Stderr) != 1 || strings.Contains(d.Stderr[0], "\x1b") || d.Status.ID != "files" || d.Frames == nil {
		t.Errorf("%+v", d)
	}
}

func TestNewCommandNoticeStaysUntilAcknowledged(t *testing.T) {
	s := newSite(t)
	s.notices = []core.Notice{{Subject: "command:files", Message: "Server \"files\" is running a new command: npx files"}}
	var st Status
	if s.get(t, "/api/v1/status", &st); len(st.Notices) == 0 || st.Notices[0] != s.notices[0] {
		t.Fatalf("notices %+v", st.Notices)
	}
	path := "/api/v1/notices/" + url.PathEscape("command:files")
	s.want(t, "DELETE", path, "", 204)
	s.want(t, "DELETE", path, "", 404)
}
