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
)

func TestServerTrialWorksWithoutDaemon(t *testing.T) {
	t.Setenv("DRAWBRIDGE_KEYRING", "off")
	data := t.TempDir()
	folders, err := config.FoldersFor(data, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(folders.ConfigFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
	if r, err := try(`{"server":"My Server"}`); err != nil || !r.OK || len(r.Tools) == 0 || r.Stage != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := try(`{"server":"gone"}`); err != nil || r.OK || r.Stage != "start" || r.Error == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if sandbox.Available() {
		if r, err := try(`{"server":"confined"}`); err != nil || r.OK || !strings.Contains(r.Error, "ermission denied") {
			t.Errorf("a server in a sandbox read the configuration: %+v, %v", r, err)
		}
	}
	if _, err := try(`{"server":"other"}`); core.CodeOf(err) != core.CodeNotFound {
		t.Error(err)
	}
	if after := entries(t, data); after != before {
		t.Errorf("the data folder holds %s, before %s", after, before)
	}
	write(`{"mcpServers": [`)
	if _, err := try(`{"server":"gone"}`); err == nil {
		t.Error("a configuration that cannot be read names servers")
	}
	if r, err := try(`{"name":"server","entry":{"command":"/nowhere/at-all"}}`); err != nil || r.Stage != "start" {
		t.Errorf("a server that stands in the request needs the configuration: %+v, %v", r, err)
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
