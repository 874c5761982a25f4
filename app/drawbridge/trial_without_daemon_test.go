package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/cli"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerTrialWorksWithoutDaemon(t *testing.T) {
	t.Setenv("DRAWBRIDGE_KEYRING", "off")
	data := t.TempDir()
	folders, err := config.FoldersFor(data, func(string) string { return "" })
	require.NoError(t, err)
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(folders.ConfigFile(), []byte(text), 0o600))
	}
	self, _ := json.Marshal(os.Args[0])
	write(`{"mcpServers": {
		"my server": {"command": ` + string(self) + `, "args": ["-test.run=^$"], "env": {"` + mcptest.Env + `": "legacy"}},
		"confined": {"command": "/bin/sh", "args": ["-c", "cat \"$0\"; exit 3", "` + filepath.ToSlash(folders.ConfigFile()) + `"], "sandbox": {"bestEffort": true}},
		"gone": {"command": "/nowhere/at-all"}}}`)
	try := func(request string) (r supervisor.TestResult, err error) {
		t.Helper()
		raw, err := tryServer(t.Context(), cli.ServeOptions{Folders: folders, Sources: config.SourcesFor("", folders, func(string) string { return "" })}, []byte(request))
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		return r, err
	}

	before := entries(t, data)
	r, err := try(`{"server":"My Server"}`)
	assert.Truef(t, err == nil && r.OK && len(r.Tools) != 0 && r.Stage == "done", "%+v, %v", r, err)
	r, err = try(`{"server":"gone"}`)
	assert.Truef(t, err == nil && !r.OK && r.Stage == "start" && r.Error != "", "%+v, %v", r, err)
	if sandbox.Available() {
		if r, err := try(`{"server":"confined"}`); err != nil || r.OK || !strings.Contains(r.Error, "ermission denied") {
			t.Errorf("a server in a sandbox read the configuration: %+v, %v", r, err)
		}
	}
	_, err = try(`{"server":"other"}`)
	assert.Equal(t, core.CodeNotFound, core.CodeOf(err))
	assert.Equal(t, before, entries(t, data), "the data folder holds")
	write(`{"mcpServers": [`)
	_, err = try(`{"server":"gone"}`)
	assert.Error(t, err, "a configuration that cannot be read names servers")
	r, err = try(`{"name":"server","entry":{"command":"/nowhere/at-all"}}`)
	assert.Truef(t, err == nil && r.Stage == "start", "a server that stands in the request needs the configuration: %+v, %v", r, err)
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
