package config

import (
	"slices"
	"strings"
	"testing"
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
	if c == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	work, ok := c.Profile("office")
	if !ok || work.ToolMode != ToolsSearch || !slices.Equal(work.Folders, []string{at("/home/me/office"), at("/srv/x")}) {
		t.Fatalf("%+v", work)
	}
	files, in := work.Offers("files")
	if !in || files.Tools.HiddenBy("write") == "" || files.Tools.HiddenBy("read_me") != "" || files.NoPrompts {
		t.Errorf("%+v", files)
	}
	if hub, in := work.Offers("Git-Hub"); !in || !hub.NoPrompts || !hub.NoResources {
		t.Errorf("%+v", hub)
	}
	if _, in := work.Offers("other"); in {
		t.Error("a server that is not named is offered")
	}
	if all, _ := c.Profile("inner"); all.Servers != nil {
		t.Error("a profile without servers must be all servers")
	}
	if none, _ := c.Profile("none"); none.Servers == nil {
		t.Error("a profile with no server in its list must be empty")
	}
	if !c.Clients["cursor"].Equal(Client{Profile: "office", ToolMode: ToolsDeferred, MaxResultTokens: 500}) {
		t.Error(c.Clients)
	}
	for folder, want := range map[string]string{
		"/home/me/office": "office", "/home/me/office/a": "office", "/home/me/officer": "", "/home/me": "",
		"/home/me/office/inner/deep": "inner", "/srv/x/y": "office",
	} {
		if got := c.ProfileOf(at(folder)); got != want {
			t.Errorf("%s is of profile %q, want %q", folder, got, want)
		}
	}
}

// Silently falling back to all servers, or to none, would both be wrong.
func TestUnknownClientProfileRefusesFile(t *testing.T) {
	c, problems := Parse("c.json", []byte(`{"profiles": {"office": {}}, "clients": {"cursor": {"profile": "wrk"}}}`))
	if c != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "'wrk'") {
		t.Fatalf("%v %v", c, problems)
	}
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
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v, want %q", src, problems, want)
		}
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
		if p.File != "c.json" || p.Column == 0 {
			t.Errorf("%+v", p)
		}
		lines[p.Key] = p.Line
	}
	if len(lines) != 2 || lines["profiles.office.servers.gone"] != 5 || lines["clients.cursor.profile"] != 8 {
		t.Error(problems)
	}
}
