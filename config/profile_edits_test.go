package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, x.SetProfile(t.Context(), "office", json.RawMessage(entry), p.Tag()))
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
	assert.Empty(t, cmp.Diff(want, string(src)))
	now, _ := x.Current().Profile("office")
	require.Equal(t, ToolsSearch, now.ToolMode)
	require.NotEqual(t, p.Tag(), now.Tag())
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
		assert.Equalf(t, core.CodeConflict, core.CodeOf(x.SetProfile(t.Context(), "office", entry, p.Tag())), "%q", raw)
	}
	assert.Equal(t, core.CodeConflict, core.CodeOf(x.SetProfile(t.Context(), "office", json.RawMessage(`{}`), NewProfile)))
	assert.Equal(t, core.CodeConflict, core.CodeOf(x.SetProfile(t.Context(), "lost", json.RawMessage(`{}`), p.Tag())), "a profile that is gone")
	src, _ := os.ReadFile(x.file)
	assert.Equal(t, changed, string(src), "written all the same")
	assert.NoError(t, x.SetProfile(t.Context(), "second", json.RawMessage(`{"servers":{}}`), NewProfile))
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
	require.NoError(t, x.SetProfile(t.Context(), "office", json.RawMessage(`{"toolMode":"search"}`), p.Tag()))
	now, _ := x.Current().Profile("office")
	assert.Equal(t, ToolsSearch, now.ToolMode)
	src, _ := os.ReadFile(beside)
	assert.Contains(t, string(src), "search")
	// The main file is invalid without the other file, but can still be edited.
	assert.NoError(t, x.SetClient(t.Context(), "cursor", json.RawMessage(`{"profile":"office","toolMode":"all"}`)))
	assert.Equal(t, core.CodeValidation, core.CodeOf(x.SetClient(t.Context(), "cursor", json.RawMessage(`{"profile":"nobody"}`))))
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
		require.NoError(t, x.HideTools(t.Context(), tools, true))
	}
	files, _ := x.Current().Server("files")
	web, _ := x.Current().Server("web")
	if files.Filter.HiddenBy("read") == "" || files.Filter.HiddenBy("write") == "" || web.Filter.HiddenBy("get") == "" || files.Filter.Tools["read"].Approval != "ask" {
		t.Errorf("%+v %+v", files.Filter, web.Filter)
	}
	assert.Equal(t, []string{"read", "write", "get"}, append(files.Filter.HiddenNames(), web.Filter.HiddenNames()...))
	if hidden, _ := os.ReadFile(x.file); strings.Count(string(hidden), "\n") != strings.Count(src, "\n")+1 || strings.Count(string(hidden), `"write"`) != 1 {
		t.Errorf("more than one line for each server:\n%s", hidden)
	}
	require.NoError(t, x.HideTools(t.Context(), tools, false))
	back, _ := os.ReadFile(x.file)
	assert.Empty(t, cmp.Diff(src, string(back)))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(x.HideTools(t.Context(), map[string][]string{"files": {"read"}, "nobody": {"x"}}, true)))
	again, _ := os.ReadFile(x.file)
	assert.Equal(t, src, string(again), "half of it was written")
}

// A name that would be a pattern must not hide other tools.
func TestToolWithPatternNameIsNotHidden(t *testing.T) {
	t.Parallel()
	x := run(t, `{"mcpServers": {"web": {"command": "w"}}}`)
	err := x.HideTools(t.Context(), map[string][]string{"web": {"get_all", "get*"}}, true)
	web, _ := x.Current().Server("web")
	assert.Truef(t, core.CodeOf(err) == core.CodeValidation && web.Filter.HiddenBy("get_all") == "", "%v %+v", err, web.Filter)
}

// With servers from the environment, a mistake in a file does not lift access restrictions.
func TestBrokenEnvironmentConfigDeniesClientAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := dir + "/config.jsonc"
	writeConfig(t, file, boundProfile)
	begin := func(lastGood string) *Reloader {
		r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file, JSON: `[{"name": "env", "command": "e"}]`}, LastGood: lastGood, Debounce: 1})
		require.NoError(t, r.Load())
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
	assert.NotEmpty(t, r.Current().VisibilityUnknown)
	for range 3 {
		r.Reload(t.Context())
		assert.NotEmpty(t, r.Current().VisibilityUnknown, "open after another reading")
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
