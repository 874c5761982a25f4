package shim

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"
)

func TestFinderStartsNothingWhenDisabled(t *testing.T) {
	f := terminaltest.New(t, Commands)
	folders, _ := (&terminal.Env{Getenv: func(string) string { return f.Data }}).Folders()
	find := &daemonFinder{folders: folders, path: "/s/demo/mcp", client: "cursor"}
	address, err := find.find(t.Context(), false)
	if err != nil || !strings.HasSuffix(address.URL, "/s/demo/mcp") {
		t.Fatal(address, err)
	}
	tokens, _ := loopback.NewTokens(f.Data, nil)
	if name, ok := tokens.Client(address.Token); !ok || name != "cursor" {
		t.Errorf("the shim's token is that of %q", name)
	}
	folders.Data = t.TempDir()
	find.folders = folders
	if _, err := find.find(t.Context(), false); core.CodeOf(err) != core.CodeUnavailable {
		t.Error(err)
	}
}
