package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSessionSettings(t *testing.T) {
	for src, want := range map[string]Server{
		`{"command": "a"}`:                                                              {Session: SessionShared},
		`{"command": "a", "idleStopMs": 5000}`:                                          {Session: SessionShared, IdleStop: 5 * time.Second},
		`{"command": "a", "start": "onDemand"}`:                                         {Session: SessionShared, IdleStop: DefaultIdleStop},
		`{"command": "a", "start": "onDemand", "idleStopMs": 0}`:                        {Session: SessionShared},
		`{"command": "a", "session": "perClient"}`:                                      {Session: SessionPerClient, IdleStop: DefaultIdleStop},
		`{"command": "a", "cwd": "${workspaceFolder}/sub"}`:                             {Session: SessionPerRoot, IdleStop: DefaultIdleStop},
		`{"command": "a", "args": ["${workspaceFolder:-/tmp}"]}`:                        {Session: SessionPerRoot, IdleStop: DefaultIdleStop},
		`{"command": "a", "session": "perSession", "env": {"A": "${workspaceFolder}"}}`: {Session: SessionPerSession, IdleStop: DefaultIdleStop},
	} {
		c, problems := Parse("c.json", []byte(`{"mcpServers": {"a": `+src+`}}`))
		require.Truef(t, c != nil && len(problems) <= 0 && len(c.Servers) == 1, "%s: %v", src, problems)
		if s := c.Servers[0]; s.Session != want.Session || s.IdleStop != want.IdleStop || s.MaxRequest != 10*time.Minute || s.CatalogRefresh != 10*time.Minute {
			t.Errorf("%s: %s, %s, %s, %s", src, s.Session, s.IdleStop, s.MaxRequest, s.CatalogRefresh)
		}
	}
}

func TestNewCommandApprovalIsOptIn(t *testing.T) {
	for src, want := range map[string]bool{`{}`: false, `{"globalSettings": {"approveNewCommands": "ask"}}`: true, `{"globalSettings": {"approveNewCommands": "off"}}`: false} {
		c, problems := Parse("c.json", []byte(src))
		assert.Truef(t, c != nil && c.Global.ApproveNewCommands == want, "%s: %v", src, problems)
	}
}
