package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const commented = `// My servers
{
  "mcpServers": { // all of them
    // the files
    "files": {
      "command": "npx", // node
      "args": ["-y", "x"],
    },
    /* search */ "search": {"url": "http://127.0.0.1:1/mcp"}, // remote
    // the last
    "db": {
      "command": "db" // no comma
    }
  }, // end
  "other": 1
}
`

func edit(t *testing.T, src string, change func(*Document) error) string {
	t.Helper()
	d, err := NewDocument([]byte(src))
	require.NoError(t, err)
	require.NoError(t, change(d))
	if _, problems := Parse("c.jsonc", d.Bytes()); HasErrors(problems) {
		t.Fatalf("%v in\n%s", problems, d.Bytes())
	}
	return string(d.Bytes())
}

func TestDisableThenEnableRestoresBytes(t *testing.T) {
	t.Parallel()
	for _, src := range []string{commented, one, two, "\xef\xbb\xbf" + one, "{\r\n\t\"servers\": {\r\n\t\t\"db\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t},\r\n\t}\r\n}\r\n",
		`{"mcp":{"servers":{"db":{"command":"x"}}}}`, `{"mcpServers": [{"name": "db", "command": "x"}]}`} {
		label := "db"
		if c, _ := Parse("c", []byte(src)); c.Servers[0].Label == "a" {
			label = "a"
		}
		off := edit(t, src, func(d *Document) error { return d.SetDisabled(label, true) })
		c, _ := Parse("c.jsonc", []byte(off))
		for _, s := range c.Servers {
			assert.Equal(t, s.Label == label, s.Disabled)
		}
		on := edit(t, off, func(d *Document) error { return d.SetDisabled(label, false) })
		assert.Empty(t, cmp.Diff(src, on))
	}
}

func TestLineCommentAtTheEndOfTheFileIsKept(t *testing.T) {
	t.Parallel()
	for _, end := range []string{" // end", "\n// end", "\r\n// end\r", "\n// end\n", "", "\n"} {
		src := `{"mcpServers": {"a": {"command": "a"}}}` + end
		assert.Equal(t, src, edit(t, src, func(*Document) error { return nil }))
		if got := edit(t, src, func(d *Document) error { return d.SetDisabled("a", true) }); !strings.HasSuffix(got, "}}}"+end) {
			t.Errorf("%q becomes %q", src, got)
		}
	}
}

func TestInvalidDocumentErrorNamesPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"{\n  \"mcpServers\" {}}": "cannot edit c.jsonc:2:16: invalid character '{' after object name (add a colon between key and value)",
		"":                        "cannot edit c.jsonc:1:1: file is empty (for a configuration without servers, write {\"mcpServers\": {}})",
		"[]":                      "cannot edit c.jsonc:1:1: a configuration must be an object, not a list",
		"\xff\xfe":                "cannot edit c.jsonc:1:1: file is not UTF-8 but UTF-16 or binary (save it as UTF-8)",
	} {
		_, err := parseDocument("c.jsonc", []byte(src))
		message, hint := core.Describe(err)
		assert.Truef(t, message == want && strings.Contains(hint, "drawbridge validate"), "%q: %s | %s\nwant %s", src, message, hint, want)
	}
}

func TestLineEndingsAreKept(t *testing.T) {
	t.Parallel()
	d, err := NewDocument([]byte("{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"a\"}\r\n  }\r\n}\r\n"))
	require.NoError(t, err)
	require.NoError(t, d.Add("b", []byte(`{"command": "b", "args": ["x"]}`)))
	got := string(d.Bytes())
	n := strings.Count(got, "\n")
	assert.Truef(t, n >= 6 && n == strings.Count(got, "\r\n"), "%q", got)
}

func TestAddedServersFollowNeighborFormatting(t *testing.T) {
	t.Parallel()
	add := func(d *Document) error { return d.Add("new", []byte(`{"command": "n", "args": ["1"]}`)) }
	for src, want := range map[string]string{
		"{}": "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"n\",\n      \"args\": [\n        \"1\"\n      ]\n    }\n  }\n}",
		"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // first\n  },\n}\n": "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // first\n    \"new\": {\n      \"command\": \"n\",\n      \"args\": [\n        \"1\"\n      ]\n    },\n  },\n}\n",
		"{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"} // first\n\t}\n}\n":   "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"}, // first\n\t\t\"new\": {\n\t\t\t\"command\": \"n\",\n\t\t\t\"args\": [\n\t\t\t\t\"1\"\n\t\t\t]\n\t\t}\n\t}\n}\n",
	} {
		assert.Empty(t, cmp.Diff(want, edit(t, src, add)), src)
	}
}

func TestAddThenRemoveRestoresBytes(t *testing.T) {
	t.Parallel()
	for _, src := range []string{commented, one, string(Starter()), "{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"a\"}\r\n  }\r\n}\r\n"} {
		added := edit(t, src, func(d *Document) error { return d.Add("new", []byte(`{"command":"n"}`)) })
		removed := edit(t, added, func(d *Document) error { return d.Remove("new") })
		assert.Empty(t, cmp.Diff(src, removed))
	}
}

func TestRemoveDeletesOnlyItsComments(t *testing.T) {
	t.Parallel()
	got := edit(t, commented, func(d *Document) error { return d.Remove("search") })
	want := `// My servers
{
  "mcpServers": { // all of them
    // the files
    "files": {
      "command": "npx", // node
      "args": ["-y", "x"],
    },
    // the last
    "db": {
      "command": "db" // no comma
    }
  }, // end
  "other": 1
}
`
	assert.Empty(t, cmp.Diff(want, got))
}

func TestSetKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	got := edit(t, "{\n  // port\n  \"bridge\": {\n    \"listen\": \"127.0.0.1:1\", // mine\n  },\n}\n", func(d *Document) error { return d.Set("127.0.0.1:2", "bridge", "listen") })
	assert.Empty(t, cmp.Diff("{\n  // port\n  \"bridge\": {\n    \"listen\": \"127.0.0.1:2\", // mine\n  },\n}\n", got))
	got = edit(t, "{\n  \"mcpServers\": {}\n}\n", func(d *Document) error { return d.Set("127.0.0.1:2", "bridge", "listen") })
	assert.Empty(t, cmp.Diff("{\n  \"mcpServers\": {},\n  \"bridge\": {\n    \"listen\": \"127.0.0.1:2\"\n  }\n}\n", got))
}

func TestEditsAreAppliedBeforeTheyReturn(t *testing.T) {
	t.Parallel()
	x := run(t, commented)
	require.NoError(t, x.Disable(t.Context(), "files"))
	s, _ := x.Current().Server("files")
	require.True(t, s.Disabled, "not applied")
	require.NoError(t, x.Enable(t.Context(), "files"))
	src, _ := os.ReadFile(x.file)
	assert.Equal(t, commented, string(src))
	assert.Equal(t, core.CodeValidation, core.CodeOf(x.Set(t.Context(), "0.0.0.0:1", "bridge", "listen")), "an address for everybody")
	assert.Equal(t, core.CodeValidation, core.CodeOf(x.Add(t.Context(), "empty", []byte(`{}`))), "an empty server")
	src, _ = os.ReadFile(x.file)
	assert.Equal(t, commented, string(src), "a refused edit was written")
	assert.NoError(t, x.Add(t.Context(), "n", []byte(`{"command": "n"}`)))
	assert.NoError(t, x.Remove(t.Context(), "n"))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(x.Disable(t.Context(), "nobody")))
}

func TestReplaceNeedsCurrentETag(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	_, _, etag, err := x.Text()
	require.NoError(t, err)
	assert.Equal(t, core.CodeConflict, core.CodeOf(x.Replace(t.Context(), []byte(two), "old")))
	assert.Equal(t, core.CodeValidation, core.CodeOf(x.Replace(t.Context(), []byte("{"), etag)))
	if _, text, now, err := x.Text(); err != nil || string(text) != one || now != etag {
		t.Errorf("after two that were refused the file is %q (%v)", text, err)
	}
	if err := x.Replace(t.Context(), []byte(two), etag); err != nil || ids(x.Current()) != "a=a b=b" {
		t.Error(err, ids(x.Current()))
	}
}

func TestEnvironmentServersAreNotEditable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.jsonc")
	writeConfig(t, file, one)
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: file, JSON: `[{"name": "env", "command": "e"}]`}})
	require.NoError(t, r.Load())
	for _, err := range []error{r.Disable(t.Context(), "env"), r.Add(t.Context(), "n", []byte(`{"command": "n"}`)), r.Remove(t.Context(), "env")} {
		message, _ := core.Describe(err)
		assert.True(t, core.CodeOf(err) == core.CodeRejected && message == "cannot change servers: DRAWBRIDGE_MCP_SERVERS is set", err)
	}
}

func TestEditsFollowLinksAndKeepMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "c.jsonc"), filepath.Join(dir, "config.jsonc")
	writeConfig(t, real, one)
	os.Chmod(real, 0o640)
	os.Symlink(real, link)
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: link}})
	require.NoError(t, r.Load())
	require.NoError(t, r.Disable(t.Context(), "a"))
	info, err := os.Lstat(link)
	assert.True(t, err == nil && info.Mode()&os.ModeSymlink != 0, "the link is gone")
	info, _ = os.Stat(real)
	assert.EqualValues(t, 0o640, info.Mode().Perm())
	left, _ := filepath.Glob(filepath.Join(dir, "*", ".drawbridge-*"))
	assert.Truef(t, len(left) <= 0, "left behind: %v", left)
}

func TestServersUnderTheKeyOfAnotherProgramAreEdited(t *testing.T) {
	for _, src := range []string{`{"context_servers": {"a": {"command": "x"}}}`, `{"extensions": {"a": {"command": "x"}}}`, `{"mcp": {"globalSettings": {}, "a": {"command": "x"}}}`} {
		d, err := NewDocument([]byte(src))
		require.NoError(t, err)
		err = errors.Join(d.SetDisabled("a", true), d.Add("b", []byte(`{"docker": {"image": "y"}}`)))
		if c, problems := Parse("c.jsonc", d.Bytes()); err != nil || c == nil || len(c.Servers) != 2 || !c.Servers[0].Disabled && !c.Servers[1].Disabled {
			t.Errorf("%v: %s %v", err, d.Bytes(), problems)
		}
	}
}

func TestServerThatIsOffInAnotherSpellingCanBeEnabled(t *testing.T) {
	for _, key := range EnabledKeys {
		d, err := NewDocument([]byte(`{"mcpServers": {"a": {"command": "x", "` + key + `": false}}}`))
		require.NoError(t, err)
		require.NoError(t, d.SetDisabled("a", false))
		if c, problems := Parse("c.json", d.Bytes()); c == nil || len(c.Servers) != 1 || c.Servers[0].Disabled {
			t.Errorf("%s: %v, %s", key, problems, d.Bytes())
		}
	}
}

func TestSandboxEditKeepsSettingsAndComments(t *testing.T) {
	t.Parallel()
	set := func(src, value string) string {
		t.Helper()
		d, err := NewDocument([]byte(src))
		require.NoError(t, err)
		require.NoError(t, d.SetSandbox("a", json.RawMessage(value)))
		return string(d.Bytes())
	}
	got, want := set(`{"mcpServers": {"a": {"command": "x", "sandbox": "on"}}}`, `"off"`), `{"mcpServers": {"a": {"command": "x", "sandbox": "off"}}}`
	assert.Equal(t, want, got, "a word")
	const own = `{
  "mcpServers": {
    "a": {
      "command": "x",
      "sandbox": {
        // the notes
        "read": ["~/notes"], // mine
        "network": "none"
      }
    }
  }
}
`
	const off = `{
  "mcpServers": {
    "a": {
      "command": "x",
      "sandbox": {
        // the notes
        "read": ["~/notes"], // mine
        "network": "none",
        "mode": "off"
      }
    }
  }
}
`
	assert.Equal(t, off, set(own, `"off"`), "off it")
	assert.Equal(t, own, set(off, `{"read":["~/notes"],"network":"none"}`), "on it")
}

func TestArgumentEditKeepsComments(t *testing.T) {
	t.Parallel()
	src := `{"mcpServers": {
  // mine
  "a": {"command": "npx", "args": ["-y", /* which */ "pkg@1.0.0", "--x"]}, // behind
  "b": {"docker": {"image": "x:1"}}
}}`
	d, err := NewDocument([]byte(src))
	require.NoError(t, err)
	require.NoError(t, d.SetArgument("a", 1, "pkg@1.0.0", "pkg@2.0.0"))
	require.NoError(t, d.SetArgument("b", -1, "x:1", "x:2"))
	want := strings.NewReplacer("pkg@1.0.0", "pkg@2.0.0", "x:1", "x:2").Replace(src)
	assert.Equal(t, want, string(d.Bytes()))
	for _, at := range []int{-1, 0, 1, 7} {
		assert.Errorf(t, d.SetArgument("a", at, "pkg@1.0.0", "y"), "argument %d is changed although it is another one", at)
	}
}

func TestToolSettingsEditKeepsRest(t *testing.T) {
	t.Parallel()
	const before = `{
  // my servers
  "mcpServers": {
    "files": {
      "command": "x", // stays
      "args": ["a"]
    },
  },
}
`
	set := func(src string, tool string, values map[string]string) string {
		t.Helper()
		d, err := NewDocument([]byte(src))
		require.NoError(t, err)
		raw := map[string]json.RawMessage{}
		for k, v := range values {
			raw[k] = json.RawMessage(v)
		}
		require.NoError(t, d.SetTool("files", tool, raw))
		return string(d.Bytes())
	}
	one := set(before, "read", map[string]string{"requestTimeoutMs": "300000", "approval": `"ask"`})
	want := `{
  // my servers
  "mcpServers": {
    "files": {
      "command": "x", // stays
      "args": ["a"],
      "tools": {
        "read": {
          "approval": "ask",
          "requestTimeoutMs": 300000
        }
      }
    },
  },
}
`
	assert.Equal(t, want, one)
	assert.Equal(t, before, set(one, "read", map[string]string{"requestTimeoutMs": "null", "approval": "null"}), "taken back it")
	if two := set(one, "read", map[string]string{"approval": `"never"`}); two != set(before, "read", map[string]string{"requestTimeoutMs": "300000", "approval": `"never"`}) {
		t.Errorf("changed it is\n%s", two)
	}
	d, _ := NewDocument([]byte(before))
	require.Error(t, d.SetTool("gone", "read", nil), "nonsense is written")
	require.Error(t, d.SetTool("files", "read", map[string]json.RawMessage{"approval": json.RawMessage(`{`)}), "nonsense is written")
	odd, _ := NewDocument([]byte(`{"mcpServers": {"files": {"tools": 7}}}`))
	assert.Error(t, odd.SetTool("files", "read", map[string]json.RawMessage{"approval": json.RawMessage(`"ask"`)}))
}

func TestInsertedRuleKeepsRest(t *testing.T) {
	t.Parallel()
	const rule = `{"tool":"files__put","then":"allow"}`
	for _, c := range []struct {
		before string
		at     int
		want   string
	}{
		{"{\n  // mine\n  \"policy\": {\n    \"rules\": [\n      // first\n      {\"then\": \"ask\"}, // a\n      {\"then\": \"deny\"} // b\n    ]\n  }\n}\n", 1,
			"{\n  // mine\n  \"policy\": {\n    \"rules\": [\n      // first\n      {\"then\": \"ask\"}, // a\n      {\n        \"tool\": \"files__put\",\n        \"then\": \"allow\"\n      },\n      {\"then\": \"deny\"} // b\n    ]\n  }\n}\n"},
		{"{\n  \"mcpServers\": {}\n}\n", -1,
			"{\n  \"mcpServers\": {},\n  \"policy\": {\n    \"rules\": [\n      {\n        \"tool\": \"files__put\",\n        \"then\": \"allow\"\n      }\n    ]\n  }\n}\n"},
	} {
		d, err := NewDocument([]byte(c.before))
		require.NoError(t, err)
		if err := d.InsertRule(c.at, []byte(rule)); err != nil || string(d.Bytes()) != c.want {
			t.Errorf("%v\n%s", err, d.Bytes())
		}
	}
}

const patched = `{
  // mine
  "mcpServers": {
    // files
    "files": {
      "command": "x", // stays
      "args": ["a", "b"],
      "accounts": {"one": {}, "two": {}}
    }, // behind
  },
  "policy": {
    "rules": [
      // first
      {"then": "ask"}, // a
      {"then": "deny"}, // b
      /* c */ {"then": "allow"}
    ]
  }
}
`

func TestPatchChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		edit     Edit
		old, now string
	}{
		{Edit{"add", "/mcpServers/files/command", "", `"y"`}, `"x", // stays`, `"y", // stays`},
		{Edit{"add", "/mcpServers/files/args", "", `["a", // new` + "\n" + `"c"]`}, `["a", "b"]`, `["a", // new` + "\n      " + `"c"]`},
		{Edit{"add", "/mcpServers/files/args/1", "", `"-y"`}, `["a", "b"]`, `["a", "-y", "b"]`},
		{Edit{"add", "/mcpServers/files/args/-", "", `1e400`}, `["a", "b"]`, `["a", "b", 1e400]`},
		{Edit{"add", "/mcpServers/files/accounts/three/env/a~1b", "", "\"\""}, `"two": {}}`, `"two": {}, "three": {` + "\n          " + `"env": {` + "\n            " + `"a/b": ""` + "\n          }\n        }}"},
		{Edit{"add", "/mcpServers/b", "", "{\n  // c\n  \"command\": \"b\"\n}"}, "}, // behind\n", "}, // behind\n    \"b\": {\n      // c\n      \"command\": \"b\"\n    },\n"},
		{Edit{"add", "/policy/rules/0", "", "{\n  \"then\": \"deny\"\n}"}, "      // first\n", "      {\n        \"then\": \"deny\"\n      },\n      // first\n"},
		{Edit{"remove", "/mcpServers/files/args", "", ""}, "\n      \"args\": [\"a\", \"b\"],", ""},
		{Edit{"remove", "/mcpServers/gone/args", "", ""}, "", ""},
		{Edit{"remove", "/policy/rules/1", "", ""}, "\n      {\"then\": \"deny\"}, // b", ""},
		{Edit{"move", "/mcpServers/files/accounts/uno", "/mcpServers/files/accounts/one", ""}, `"one"`, `"uno"`},
		{Edit{"move", "/policy/rules/1", "/policy/rules/0", ""}, "\n      // first\n      {\"then\": \"ask\"}, // a\n      {\"then\": \"deny\"}, // b", "\n      {\"then\": \"deny\"}, // b\n      // first\n      {\"then\": \"ask\"}, // a"},
		{Edit{"move", "/policy/rules/2", "/policy/rules/1", ""}, "{\"then\": \"deny\"}, // b\n      /* c */ {\"then\": \"allow\"}\n", "/* c */ {\"then\": \"allow\"},\n      {\"then\": \"deny\"} // b\n"},
		{Edit{"add", "", "", "{} // new"}, patched, "{} // new"},
	} {
		d, err := NewDocument([]byte(patched))
		require.NoError(t, err)
		if err := d.Apply([]Edit{c.edit}); err != nil || string(d.Bytes()) != strings.Replace(patched, c.old, c.now, 1) {
			t.Errorf("%+v: %v\n%s", c.edit, err, d.Bytes())
		}
	}
}

func TestSenselessPatchIsRefused(t *testing.T) {
	t.Parallel()
	for _, e := range []Edit{
		{"add", "mcpServers", "", "{}"}, {"add", "/mcpServers/files/command/x", "", "1"}, {"add", "/policy/rules/7", "", "{}"}, {"add", "/policy/rules/x", "", "{}"},
		{"add", "/a", "", "{"}, {"add", "/a", "", "1 2"}, {"add", "", "", "[]"}, {"move", "/mcpServers/a", "/policy", ""}, {"move", "/policy/rules/9", "/policy/rules/0", ""},
		{"move", "/policy/rules/0", "/policy/rules/3", ""}, {"move", "/policy/x", "/mcpServers/files", ""}, {"move", "/x", "/gone", ""}, {"move", "", "", ""}, {"move", "/mcpServers", "/policy", ""},
	} {
		d, err := NewDocument([]byte(patched))
		require.NoError(t, err)
		if err := d.Apply([]Edit{e}); core.CodeOf(err) != core.CodeValidation && core.CodeOf(err) != core.CodeConflict {
			t.Errorf("%+v: %v\n%s", e, err, d.Bytes())
		}
	}
}

func TestPatchIsTriedBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	x := run(t, one)
	_, _, etag, err := x.Text()
	require.NoError(t, err)
	off := []Edit{{Op: "add", Path: "/mcpServers/a/disabled", Text: "true"}, {Op: "add", Path: "/mcpServers/a/comand", Text: `""`}}
	text, problems, err := x.TryPatch(off, etag)
	src, _ := os.ReadFile(x.file)
	assert.Truef(t, err == nil && len(problems) == 1 && string(src) == one && strings.Contains(string(text), "comand"), "%v %v %s", err, problems, text)
	_, _, err = x.TryPatch(off, "old")
	assert.Equal(t, core.CodeConflict, core.CodeOf(err))
	assert.Equal(t, core.CodeConflict, core.CodeOf(x.Patch(t.Context(), off, "old")))
	assert.Equal(t, core.CodeValidation, core.CodeOf(x.Patch(t.Context(), []Edit{{Op: "add", Path: "/bridge/listen", Text: "1"}}, etag)))
	require.NoError(t, x.Patch(t.Context(), off, etag))
	src, _ = os.ReadFile(x.file)
	assert.Truef(t, string(src) == string(text) && x.Current().Servers[0].Disabled, "%s", src)
	writeConfig(t, x.file, " \n")
	_, _, etag, err = x.Text()
	require.NoError(t, err)
	require.NoError(t, x.Patch(t.Context(), []Edit{{Op: "add", Path: "/mcpServers/b/command", Text: `"x"`}}, etag))
}

// Servers under a misspelled key run on, from the last valid configuration. The right key beside it
// would stop them.
func TestEditBesideMisspelledKeyIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.jsonc")
	src := `{"mcpServer": {"a": {"command": "a"}}}`
	writeConfig(t, path, src)
	r := NewReloader(ReloaderOptions{Sources: Sources{DefaultFile: path}})
	ctx := t.Context()
	edits := []Edit{{Op: "add", Path: "/mcpServers", Text: `{"b": {"command": "b"}}`}}
	for what, err := range map[string]error{"add": r.Add(ctx, "b", []byte(`{"command": "b"}`)), "patch": r.Patch(ctx, edits, ETag([]byte(src))),
		"remove": r.Edit(ctx, path, func(d *Document) error { return d.Remove("a") })} {
		assert.ErrorContains(t, err, "mcpServer", what)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != src {
		t.Errorf("%s, %v", text, err)
	}
	assert.NoError(t, r.Patch(ctx, []Edit{{Op: "move", From: "/mcpServer", Path: "/mcpServers"}}, ETag([]byte(src))), "the key cannot be mended")
}
