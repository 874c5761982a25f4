package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallUsesChosenAccountOrFails(t *testing.T) {
	root := filepath.ToSlash(filepath.VolumeName(t.TempDir())) // of an absolute path: empty, or a drive of Windows
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {
		"hub": {"command": "h", "accounts": {"work": {"folders": ["`+root+`/projects"]}}}, "plain": {"command": "p"}}}`))
	require.NotNil(t, c, problems)
	a := &accountChooser{}
	if err := a.choose(&core.Call{Server: "hub"}); err != nil {
		t.Error(err) // before the first configuration
	}
	a.apply(c)
	for _, q := range []struct{ server, preset, folder, want, code string }{
		{"hub", "", "", "default", ""},
		{"hub", "", root + "/projects/x", "work", ""},
		{"hub", "default", root + "/projects/x", "default", ""},
		{"hub", "gone", root + "/projects/x", "gone", "not_found"},
		{"plain", "", root + "/projects/x", "", ""},
		{"plain", "default", "", "", ""},
		{"plain", "work", "", "work", "not_found"},
		{"unknown", "", "", "", ""},
	} {
		call := &core.Call{Server: q.server, Account: q.preset, Workspace: filepath.FromSlash(q.folder)}
		err := a.choose(call)
		if call.Account != q.want || (err != nil) != (q.code != "") || err != nil && string(core.CodeOf(err)) != q.code {
			t.Errorf("%+v: %q, %v", q, call.Account, err)
		}
	}
}

func TestCredentialsOfAccountsAreRedacted(t *testing.T) {
	c, problems := config.Parse("c.json", []byte(`{"mcpServers": {
		"a": {"command": "x", "accounts": {"w": {"env": {"API_TOKEN": "first-secret-value"}}}},
		"b": {"url": "http://b.test", "accounts": {"w": {"headers": {"Authorization": "Bearer second-secret-value"}}}}}}`))
	require.NotNil(t, c, problems)
	found, _ := configuredValues(c, func(string) (string, bool) { return "", false })
	for _, want := range []string{"first-secret-value", "second-secret-value"} {
		assert.Truef(t, slices.ContainsFunc(found, func(s string) bool { return s == want || s == "Bearer "+want }), "%s is not known as a secret: %v", want, found)
	}
}
