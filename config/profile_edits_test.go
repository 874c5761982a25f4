package config

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/google/go-cmp/cmp"
)

const boundProfile = `{
  "mcpServers": {"files": {"command": "f"}},
  // who sees what
  "profiles": {
    // the day job
    "office": {
      "description": "What the day job needs", // mine
      "servers": {
        // only to look
        "files": {
          "includeTools": [
            "read", // safe
            "list" // safe too
          ],
        },
      },
    },
  },
  "clients": {"cursor": {"profile": "office"}}, // bound
}
`

func TestProfileEditKeepsComments(t *testing.T) {
	t.Parallel()
	x := run(t, boundProfile)
	p, _ := x.Current().Profile("office")
	entry := `{"description":"Now another","servers":{"files":{"includeTools":["list","stat"]},"more":{}},"toolMode":"search"}`
	must(t, x.SetProfile(t.Context(), "office", json.RawMessage(entry), p.Tag()))
	want := `{
  "mcpServers": {"files": {"command": "f"}},
  // who sees what
  "profiles": {
    // the day job
    "office": {
      "description": "Now another", // mine
      "servers": {
        // only to look
        "files": {
          "includeTools": [
            "list", // safe too
            "stat"
          ],
        },
        "more": {},
      },
      "toolMode": "search",
    },
  },
  "clients": {"cursor": {"profile": "office"}}, // bound
}
`
	src, _ := os.ReadFile(x.file)
	if diff := cmp.Diff(want, string(src)); diff != "" {
		t.Error(diff)
	}
	now, _ := x.Current().Profile("office")
	if now.ToolMode != ToolsSearch || now.Tag() == p.Tag() {
		t.Errorf("%+v", now)
	}
}

func TestConcurrentProfileEditIsNotOverwritten(t *testing.T) {
	t.Parallel()
	x := run(t, boundProfile)
	p, _ := x.Current().Profile("office")
	changed := strings.Replace(boundProfile, `"read", // safe`, `"write",`, 1)
	writeConfig(t, x.file, changed) // possibly not reloaded yet
	for _, raw := range []string{`{"servers":{}}`, ""} {
		var entry json.RawMessage
		if raw != "" {
			entry = json.RawMessage(raw)
		}
		if err := x.SetProfile(t.Context(), "office", entry, p.Tag()); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("%q over a change: %v", raw, err)
		}
	}
	if err := x.SetProfile(t.Context(), "office", json.RawMessage(`{}`), NewProfile); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("a new profile over an old one: %v", err)
	}
	if err := x.SetProfile(t.Context(), "lost", json.RawMessage(`{}`), p.Tag()); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("a profile that is gone: %v", err)
	}
	if src, _ := os.ReadFile(x.file); string(src) != changed {
		t.Errorf("written all the same:\n%s", src)
	}
	if err := x.SetProfile(t.Context(), "second", json.RawMessage(`{"servers":{}}`), NewProfile); err != nil {
		t.Error(err)
	}
}

// A profile of conf.d is changed in its own file: a change of the main file would have no effect.
func TestProfileIsChangedInItsFile(t *testing.T) {
	t.Parallel()
	x := run(t, `{"mcpServers": {}, "clients": {"cursor": {"profile": "office"}}}`)
	beside := strings.Replace(x.file, "config.jsonc", "conf.d/work.jsonc", 1)
	writeConfig(t, beside, `{"profiles": {"office": {"servers": {}}}}`)
	x.Reload(t.Context())
	p, ok := x.Current().Profile("office")
	if !ok {
		t.Fatal(x.Problems())
	}
	must(t, x.SetProfile(t.Context(), "office", json.RawMessage(`{"toolMode":"search"}`), p.Tag()))
	if now, _ := x.Current().Profile("office"); now.ToolMode != ToolsSearch {
		t.Errorf("%+v", now)
	}
	if src, _ := os.ReadFile(beside); !strings.Contains(string(src), "search") {
		t.Errorf("%s", src)
	}
	// The main file is invalid without the other file, but can still be edited.
	if err := x.SetClient(t.Context(), "cursor", json.RawMessage(`{"profile":"office","toolMode":"all"}`)); err != nil {
		t.Error(err)
	}
	if err := x.SetClient(t.Context(), "cursor", json.RawMessage(`{"profile":"nobody"}`)); core.CodeOf(err) != core.CodeValidation {
		t.Errorf("a profile that does not exist: %v", err)
	}
}

func TestHideThenShowToolsRestoresBytes(t *testing.T) {
	t.Parallel()
	const src = `{
  // mine
  "mcpServers": {
    "files": {
      "command": "f", // stays
      "tools": {
        "read": {"approval": "ask"} // careful
      }
    },
    "web": {"command": "w"},
  },
}
`
	x := run(t, src)
	tools := map[string][]string{"files": {"read", "write"}, "web": {"get"}}
	for range 2 {
		must(t, x.HideTools(t.Context(), tools, true))
	}
	files, _ := x.Current().Server("files")
	web, _ := x.Current().Server("web")
	if files.Filter.HiddenBy("read") == "" || files.Filter.HiddenBy("write") == "" || web.Filter.HiddenBy("get") == "" || files.Filter.Tools["read"].Approval != "ask" {
		t.Errorf("%+v %+v", files.Filter, web.Filter)
	}
	if got := append(files.Filter.HiddenNames(), web.Filter.HiddenNames()...); !slices.Equal(got, []string{"read", "write", "get"}) {
		t.Errorf("hidden: %q", got)
	}
	if hidden, _ := os.ReadFile(x.file); strings.Count(string(hidden), "\n") != strings.Count(src, "\n")+1 || strings.Count(string(hidden), `"write"`) != 1 {
		t.Errorf("more than one line for each server:\n%s", hidden)
	}
	must(t, x.HideTools(t.Context(), tools, false))
	back, _ := os.ReadFile(x.file)
	if diff := cmp.Diff(src, string(back)); diff != "" {
		t.Error(diff)
	}
	if err := x.HideTools(t.Context(), map[string][]string{"files": {"read"}, "nobody": {"x"}}, true); core.CodeOf(err) != core.CodeNotFound {
		t.Error(err)
	}
	if again, _ := os.ReadFile(x.file); string(again) != src {
		t.Errorf("half of it was written:\n%s", again)
	}
}

// A name that would be a pattern must not hide other tools.
func TestToolWithPatternNameIsNotHidden(t *testing.T) {
	t.Parallel()
	x := run(t, `{"mcpServers": {"web": {"command": "w"}}}`)
	err := x.HideTools(t.Context(), map[string][]string{"web": {"get_all", "get*"}}, true)
	if web, _ := x.Current().Server("web"); core.CodeOf(err) != core.CodeValidation || web.Filter.HiddenBy("get_all") != "" {
		t.Errorf("%v %+v", err, web.Filter)
	}
}

// With servers from the environment, a mistake in a file does not lift access restrictions.
func TestBrokenEnvironmentConfigDeniesClientAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := dir + "/config.jsonc"
	writeConfig(t, file, boundProfile)
	begin := func(lastGood string) *Reloader {
		r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file, JSON: `[{"name": "env", "command": "e"}]`}, LastGood: lastGood, Debounce: 1})
		must(t, r.Load())
		return r
	}
	held := func(what string, c *Config) {
		t.Helper()
		if _, known := c.Profile("office"); !known || c.Clients["cursor"].Profile != "office" || c.VisibilityUnknown != "" || c.Servers[0].ID != "env" || c.Locked == "" {
			t.Errorf("%s: %+v %+v %q", what, c.Profiles, c.Clients, c.VisibilityUnknown)
		}
	}
	r := begin(dir + "/good.json")
	held("sound", r.Current())
	for range 2 {
		writeConfig(t, file, strings.Replace(boundProfile, "clients", "clients\" , ,", 1))
		r.Reload(t.Context())
		held("with a slip", r.Current())
	}
	held("after a restart", begin(dir+"/good.json").Current())
	// Without a last valid copy, nobody has access until the file is repaired.
	r = begin("")
	if c := r.Current(); c.VisibilityUnknown == "" {
		t.Errorf("%+v %+v", c.Profiles, c.Clients)
	}
	for range 3 {
		r.Reload(t.Context())
		if r.Current().VisibilityUnknown == "" {
			t.Error("open after another reading")
		}
	}
	writeConfig(t, file, boundProfile)
	r.Reload(t.Context())
	held("mended", r.Current())
	// The same applies if no file has ever been read.
	writeConfig(t, file, "{")
	r = NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file}})
	if err := r.Load(); err == nil || r.Current().VisibilityUnknown == "" {
		t.Errorf("%v %q", err, r.Current().VisibilityUnknown)
	}
}
