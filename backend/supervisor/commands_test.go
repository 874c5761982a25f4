package supervisor

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"
)

func TestDebugIsReadable(t *testing.T) {
	f := terminaltest.New(t, Commands)
	const doc = `{"status":{"id":"files","label":"files","state":"crashed","reason":"exit code 3"},"configured":"npx x","environment":["A","B"],"processes":[{"pid":7,"name":"node","rssBytes":1500000}],"stderr":["\u001b[31mbad"],"frames":[{"at":"2026-01-02T03:04:05Z","sent":true,"text":"{\"id\":1}","bytes":8}],"timings":{"startTookNs":1500000000}}`
	f.Answer("GET /api/v1/servers/files/debug", doc)
	got := f.Run(true, "debug", "files")
	for _, want := range []string{"Server        files: Failed\n", "Reason        exit code 3\n", "Configured    npx x\n", "Environment   A, B\n", "Process       7 node, 1.5 MB\n", "Startup time  1.5s\n", "bad\n", `-> 8 bytes  {"id":1}`} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("%q is not in\n%s", want, got.Out)
		}
	}
	if strings.Contains(got.Out, "\x1b") || strings.Contains(got.Out, "Executable") || got.Code != 0 {
		t.Errorf("%+v", got)
	}
	if got := f.Run(true, "debug", "files", "--json"); got.Out != doc+"\n" {
		t.Errorf("%+v", got)
	}
}

func TestActionsSayEachStateOnce(t *testing.T) {
	for want, s := range map[string]core.ServerStatus{
		"Stopped by the user; starts on the next call": {State: core.StateStopped, Reason: "stopped by the user; starts on the next call"},
		"Stopped, starts manually":                     {State: core.StateStopped, Reason: "starts manually"},
		"Starting again":                               {State: core.StateStarting, Reason: "starting again"},
		"Running":                                      {State: core.StateRunning},
	} {
		if got := stateWithReason(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestConnectIsAliasOfStart(t *testing.T) {
	f := terminaltest.New(t, Commands)
	for alias, action := range map[string]string{"connect": "start", "disconnect": "stop", "reconnect": "restart"} {
		f.Answer("POST /api/v1/servers/files/"+action, `{"id":"files","state":"running"}`)
		if got := f.Run(false, alias, "files"); got.Code != 0 || got.Out != "files: Running\n" {
			t.Errorf("%s: %+v", alias, got)
		}
	}
}

func TestToolsOfUnknownServerAreAnError(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.NotFound("GET /api/v1/tools", `{"code":"not_found","detail":"there is no such server"}`)
	if got := f.Run(false, "tools", "nobody"); got.Code != 1 || !strings.Contains(got.Err, `there is no server named "nobody"`) {
		t.Errorf("%+v", got)
	}
}
