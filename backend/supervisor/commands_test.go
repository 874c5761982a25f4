package supervisor

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
)

func TestActionsSayEachStateOnce(t *testing.T) {
	for want, s := range map[string]core.ServerStatus{
		"Stopped by the user; starts on the next call": {State: core.StateStopped, Reason: "stopped by the user; starts on the next call"},
		"Stopped, starts manually":                     {State: core.StateStopped, Reason: "starts manually"},
		"Starting again":                               {State: core.StateStarting, Reason: "starting again"},
		"Running":                                      {State: core.StateRunning},
	} {
		assert.Equal(t, want, stateWithReason(s))
	}
}

func TestConnectIsAliasOfStart(t *testing.T) {
	f := terminaltest.New(t, Commands)
	for alias, action := range map[string]string{"connect": "start", "disconnect": "stop", "reconnect": "restart"} {
		f.Answer("POST /api/v1/servers/files/"+action, `{"id":"files","state":"running"}`)
		got := f.Run(false, alias, "files")
		assert.Truef(t, got.Code == 0 && got.Out == "files: Running\n", "%s: %+v", alias, got)
	}
}

func TestToolsOfUnknownServerAreAnError(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.NotFound("GET /api/v1/tools", `{"code":"not_found","detail":"there is no such server"}`)
	got := f.Run(false, "tools", "nobody")
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Err, `there is no server named "nobody"`), "%+v", got)
}
