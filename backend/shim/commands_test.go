package shim

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFinderStartsNothingWhenDisabled(t *testing.T) {
	f := terminaltest.New(t, Commands)
	folders, _ := (&terminal.Env{Getenv: func(string) string { return f.Data }}).Folders()
	find := &daemonFinder{folders: folders, path: "/s/demo/mcp", client: "cursor"}
	address, err := find.find(t.Context(), false)
	require.Truef(t, err == nil && strings.HasSuffix(address.URL, "/s/demo/mcp"), "%v %v", address, err)
	tokens, _ := loopback.NewTokens(f.Data, nil)
	name, ok := tokens.Client(address.Token)
	assert.Truef(t, ok && name == "cursor", "the shim's token is that of %q", name)
	folders.Data = t.TempDir()
	find.folders = folders
	_, err = find.find(t.Context(), false)
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}
