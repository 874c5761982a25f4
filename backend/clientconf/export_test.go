package clientconf

import (
	"context"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const exportedConfig = `{"mcpServers": {
  "Files": {"command": "npx", "args": ["-y", "files"], "env": {"TOKEN": "${secret:files.token}", "A": "b"}, "inheritEnv": ["LANG"], "cwd": "/srv"},
  "wiki": {"type": "http", "url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${secret:wiki}"}, "disabled": true},
  "old": {"type": "sse", "url": "https://old.example/sse"},
  "box": {"type": "docker", "docker": {"image": "x"}}
}}`

// What is exported and imported again is the same.
func TestExportedServersAreTheSameAfterImport(t *testing.T) {
	c, _ := config.Parse("c.jsonc", []byte(exportedConfig))
	none := func(context.Context, string) (string, error) { return "", nil }
	text, left, err := Export(t.Context(), c, nil, none)
	require.NoError(t, err)
	require.Equal(t, "box", strings.Join(left, " "))
	all, err := ReadPasted(string(text))
	require.NoError(t, err)
	members := []string{}
	for _, s := range all {
		members = append(members, `"`+s.Label+`":`+string(s.Entry))
	}
	again, _ := config.Parse("c.jsonc", []byte(`{"mcpServers":{`+strings.Join(members, ",")+`}}`))
	require.Lenf(t, again.Servers, 3, "%s\n%v", text, members)
	for _, now := range again.Servers {
		was, _ := c.Server(now.ID)
		assert.Truef(t, was.Equal(now), "%+v\n%+v", was, now)
	}

	values := func(_ context.Context, name string) (string, error) { return "value of \"" + name + `"`, nil }
	text, _, err = Export(t.Context(), c, []string{"files"}, values)
	if err != nil || strings.Contains(string(text), "${secret") || !strings.Contains(string(text), `"value of \"files.token\""`) || strings.Contains(string(text), "wiki") {
		t.Errorf("%s %v", text, err)
	}
	_, _, err = Export(t.Context(), c, []string{"nobody"}, none)
	assert.Error(t, err, "a missing server is exported")
}
