package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const profiled = `{
  "mcpServers": {"files": {"command": "f"}, "Git Hub": {"command": "g"}},
  "profiles": {
    "office": {
      "description": "What the day job needs",
      "servers": {"files": {"includeTools": ["read_*"]}, "git-hub": {"prompts": false, "resources": false}},
      "toolMode": "search",
      "folders": ["/home/me/office", "/srv/x/"]
    },
    "inner": {"folders": ["/home/me/office/inner"]},
    "none": {"servers": {}}
  },
  "clients": {"cursor": {"profile": "office", "toolMode": "deferred", "results": {"maxTokens": 500}}}
}`

func TestProfilesAndClientsAreRead(t *testing.T) {
	c, problems := Parse("c.json", []byte(rooted(profiled)))
	require.True(t, c != nil && len(problems) <= 0, problems)
	work, ok := c.Profile("office")
	require.Truef(t, ok && work.ToolMode == ToolsSearch && slices.Equal(work.Folders, []string{at("/home/me/office"), at("/srv/x")}), "%+v", work)
	files, in := work.Offers("files")
	assert.Truef(t, in && files.Tools.HiddenBy("write") != "" && files.Tools.HiddenBy("read_me") == "" && !files.NoPrompts, "%+v", files)
	if hub, in := work.Offers("Git-Hub"); !in || !hub.NoPrompts || !hub.NoResources {
		t.Errorf("%+v", hub)
	}
	if _, in := work.Offers("other"); in {
		t.Error("a server that is not named is offered")
	}
	all, _ := c.Profile("inner")
	assert.Nil(t, all.Servers, "a profile without servers must be all servers")
	none, _ := c.Profile("none")
	assert.NotNil(t, none.Servers, "a profile with no server in its list must be empty")
	assert.True(t, c.Clients["cursor"].Equal(Client{Profile: "office", ToolMode: ToolsDeferred, MaxResultTokens: 500}), c.Clients)
	for folder, want := range map[string]string{
		"/home/me/office": "office", "/home/me/office/a": "office", "/home/me/officer": "", "/home/me": "",
		"/home/me/office/inner/deep": "inner", "/srv/x/y": "office",
	} {
		assert.Equal(t, want, c.ProfileOf(at(folder)), folder)
	}
}

// Silently falling back to all servers, or to none, would both be wrong.
func TestUnknownClientProfileRefusesFile(t *testing.T) {
	c, problems := Parse("c.json", []byte(`{"profiles": {"office": {}}, "clients": {"cursor": {"profile": "wrk"}}}`))
	require.Truef(t, c == nil && len(problems) == 1 && strings.Contains(problems[0].Message, "'wrk'"), "%v %v", c, problems)
}

func TestProfileErrorsAreReported(t *testing.T) {
	for src, want := range map[string]string{
		`{"profiles": {"a b": {}}}`:                                                                  "is not a valid profile name",
		`{"clients": {"a": {"results": {"maxTokens": 499}}}}`:                                        "must be",
		`{"profiles": {"a": {"toolMode": "few"}}}`:                                                   "must be one of all, search, deferred",
		`{"profiles": {"a": {"folders": ["office"]}}}`:                                               "absolute paths",
		`{"profiles": {"a": {"servers": ["files"]}}}`:                                                "an object",
		`{"mcpServers": {"files": {"command": "f"}}, "profiles": {"a": {"servers": {"flies": {}}}}}`: "not configured",
	} {
		_, problems := Parse("c.json", []byte(src))
		require.Len(t, problems, 1, src)
		require.Contains(t, problems[0].Message, want, src)
	}
}

func TestReferencesOfProfilesAndClientsAreReportedAtTheirLines(t *testing.T) {
	_, problems := Parse("c.json", []byte(`{
  "mcpServers": {"files": {"command": "f"}},
  "profiles": {
    "home": {},
    "office": {"servers": {"gone": {}}}
  },
  "clients": {
    "cursor": {"profile": "nowhere"}
  }
}`))
	lines := map[string]int{}
	for _, p := range problems {
		assert.Equal(t, "c.json", p.File)
		assert.NotEqual(t, 0, p.Column)
		lines[p.Key] = p.Line
	}
	assert.True(t, len(lines) == 2 && lines["profiles.office.servers.gone"] == 5 && lines["clients.cursor.profile"] == 8, problems)
}
