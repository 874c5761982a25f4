package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, src string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(src), 0o600))
	return path
}

func labels(c *Config) (out []string) {
	for _, s := range c.Servers {
		out = append(out, s.Label)
	}
	return out
}

func TestHigherSourceReplacesLower(t *testing.T) {
	dir := t.TempDir()
	s := Sources{DefaultFile: filepath.Join(dir, "config.jsonc"), ConfDir: filepath.Join(dir, "conf.d")}
	expect := func(step string, want ...string) *Config {
		t.Helper()
		c, err := s.Load()
		require.NoError(t, err, step)
		require.Equal(t, want, labels(c), step)
		return c
	}
	expect("nothing there")
	write(t, s.DefaultFile, `{"mcpServers": {"main": {"command": "a"}}, "bridge": {"listen": "127.0.0.1:1"}}`)
	write(t, filepath.Join(s.ConfDir, "20.yaml"), "mcpServers:\n  late: {command: b}\n")
	write(t, filepath.Join(s.ConfDir, "10.json"), `{"mcpServers": {"early": {"command": "b"}}}`)
	write(t, filepath.Join(s.ConfDir, ".hidden.json"), `{{{`)
	write(t, filepath.Join(s.ConfDir, "old.json~"), `{{{`)
	expect("default files", "main", "early", "late")
	s.File = write(t, filepath.Join(dir, "named.json"), `{"mcpServers": {"named": {"command": "c"}}, "bridge": {"listen": "127.0.0.1:2"}}`)
	expect("--config", "named")
	s.JSON = `[{"name": "env", "command": "d"}]`
	if c := expect(EnvServers, "env"); c.Locked == "" || c.Bridge.Listen != "127.0.0.1:2" {
		t.Errorf("locked %q, listens at %q", c.Locked, c.Bridge.Listen)
	}
	write(t, s.File, `{`)
	if c := expect("with a broken file", "env"); len(c.Problems) != 1 || !c.Problems[0].Warning {
		t.Errorf("%v", c.Problems)
	}
	s.JSON = `[{"command"`
	_, err := s.Load()
	problems, ok := errors.AsType[Problems](err)
	assert.True(t, ok && problems[0].File == EnvServers, err)
}

func TestNamedFileMustExist(t *testing.T) {
	_, err := Sources{File: filepath.Join(t.TempDir(), "no.json")}.Load()
	require.ErrorContains(t, err, "cannot read file")
}

func TestServersOfTwoFilesConflictByName(t *testing.T) {
	dir := t.TempDir()
	s := Sources{DefaultFile: write(t, filepath.Join(dir, "c.json"), `{"mcpServers": {"a": {"command": "first"}}}`), ConfDir: filepath.Join(dir, "d")}
	write(t, filepath.Join(s.ConfDir, "x.json"), `{"mcpServers": {"a": {"command": "second"}}}`)
	c, err := s.Load()
	require.NoError(t, err)
	require.Truef(t, len(c.Servers) == 1 && c.Servers[0].Command == "first" && c.Broken() && strings.Contains(c.Problems[0].Message, s.DefaultFile), "%+v", c)
}

func TestBackupRoundTrips(t *testing.T) {
	dir := t.TempDir()
	s := Sources{DefaultFile: write(t, filepath.Join(dir, "c.json"), `{"mcpServers": {"a": {"command": "x", "env": {"K": "v"}}, "bad": {}}}`), ConfDir: filepath.Join(dir, "d")}
	write(t, filepath.Join(s.ConfDir, "x.yaml"), "mcpServers:\n  b: {command: y}\n")
	c, err := s.Load()
	require.NoError(t, err)
	back, err := FromSourceTexts(c.SourceTexts())
	require.Truef(t, err == nil && Same(c, back) && len(back.Servers) == 2 && len(back.Problems) == len(c.Problems), "%v\n%+v\n%+v", err, c, back)
	_, err = FromSourceTexts([]byte("{torn"))
	assert.Error(t, err, "a torn copy passes")
}

func TestDiffListsChangedServers(t *testing.T) {
	old := parse(t, `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}}}`)
	now := parse(t, "// moved\n\n"+`{"mcpServers": {"d": {"command": "d"}, "b": {"command": "b", "args": ["x"]}, "a": {"command": "a"}}}`)
	added, changed, removed := Diff(old, now)
	if !slices.Equal(added, []string{"d"}) || !slices.Equal(changed, []string{"b"}) || !slices.Equal(removed, []string{"c"}) {
		t.Fatalf("added %v, changed %v, removed %v", added, changed, removed)
	}
	if added, _, _ := Diff(nil, now); len(added) != 3 {
		t.Errorf("from nothing: %v", added)
	}
	assert.True(t, !Same(old, now) && Same(now, now), "Same is wrong")
}

func TestOmittedAndEmptyValuesAreEqual(t *testing.T) {
	a := parse(t, `{"mcpServers": {"s": {"url": "http://a/"}, "l": {"command": "x"}, "o": {"url": "http://o/"}, "same": {"command": "x"}}}`)
	b := parse(t, `{"mcpServers": {"s": {"url": "http://a/", "headers": {"A": "b"}}, "l": {"command": "x", "inheritEnv": ["A"]}, "o": {"url": "http://o/", "oauth": {"clientId": "c"}},
		"same": {"args": [], "env": {}, "command": "x"}}}`)
	_, changed, _ := Diff(a, b)
	assert.Equal(t, []string{"s", "l", "o"}, changed)
}

func TestUnsetVariablesAreReportedWithPosition(t *testing.T) {
	c := parse(t, `{"mcpServers": {
		"a": {"command": "a", "env": {"K": "${MISSING_KEY}"}},
		"b": {"command": "b", "args": ["${HOME}", "${X:-d}", "${secret:s}"], "cwd": "${workspaceFolder}"},
		"c": {"command": "${MISSING_TOO}", "disabled": true},
	}}`)
	problems := c.UnsetVariables(func(name string) (string, bool) { return "/home", name == "HOME" })
	if len(problems) != 1 || problems[0].Line != 2 || problems[0].Server != "a" ||
		problems[0].Message != "variable ${MISSING_KEY} is not set for server 'a'" {
		t.Fatalf("%v", problems)
	}
}

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "1", "EMPTY": "", "secret:k": "s${A}"}[name]
		return v, ok
	}
	for in, want := range map[string]string{
		"plain": "plain", "$A": "$A", "${A}": "1", "x${A}y${A}": "x1y1", "${env:A}": "1", "${B:-d}": "d", "${EMPTY:-d}": "d",
		"${EMPTY}": "", "${secret:k}": "s${A}", "$${A}": "${A}", "${A": "${A", "${B:-}": "", "${env:B:-a:-b}": "a:-b", "a$$b": "a$$b",
		"${B:-${A}/x}y": "1/xy", "${A:-${B}/x}y": "1y", "${B:-${C:-${A}}}": "1", "${B:-$${A}}": "${A}", "${B:-${A}": "${B:-${A}", "${B:-{d}}": "{d}",
	} {
		got, err := Expand(in, lookup)
		assert.Truef(t, err == nil && got == want, "Expand(%q) = %q, %v, want %q", in, got, err, want)
	}
	for in, name := range map[string]string{"${B}": "B", "${env:B}": "B", "${A}${secret:x}": "secret:x", "${}": "", "${B:-${C}}": "C"} {
		_, err := Expand(in, lookup)
		_, ok := errors.AsType[*UnsetError](err)
		assert.Truef(t, ok && strings.Contains(err.Error(), "${"+name+"}"), "Expand(%q): %v", in, err)
	}
}

func TestFolders(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	abs := func(path string) string {
		path, err := filepath.Abs(path) // with its volume on Windows
		require.NoError(t, err)
		return path
	}
	own, err := foldersFor("linux", "/d", env(map[string]string{"XDG_CONFIG_HOME": "/x", "DRAWBRIDGE_DATA": "/e"}))
	if err != nil || own.Config != abs("/d") || own.Data != own.Config || own.State != own.Config || own.Logs != abs("/d/logs") || !own.CustomData || own.Web != nil {
		t.Errorf("%+v, %v", own, err)
	}
	if f, _ := foldersFor("linux", "", env(map[string]string{"DRAWBRIDGE_DATA": "/e"})); f.Data != abs("/e") || !f.CustomData {
		t.Errorf("%+v", f)
	}
	f, _ := foldersFor("linux", "", env(map[string]string{"HOME": abs("/h"), "XDG_CONFIG_HOME": abs("/x"), "XDG_DATA_HOME": "relative"}))
	if f.ConfigFile() != abs("/x/drawbridge/config.jsonc") || f.Data != abs("/h/.local/share/drawbridge") || f.Logs != abs("/h/.local/state/drawbridge/logs") || f.CustomData ||
		!slices.Equal(f.Web, []string{abs("/h/.local/share/drawbridge-window"), abs("/h/.cache/drawbridge-window")}) {
		t.Errorf("%+v", f)
	}
	t.Setenv("HOME", "")
	_, err = foldersFor("linux", "", env(nil))
	assert.Falsef(t, runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), "--data")), "without a home folder: %v", err)
	f, _ = foldersFor("darwin", "", env(map[string]string{"HOME": abs("/h")}))
	windows, _ := foldersFor("windows", "", env(map[string]string{"HOME": "/c/users/h", "USERPROFILE": abs("/h"), "APPDATA": abs("/roaming")}))
	assert.Equal(t, abs("/roaming/Drawbridge"), windows.Config)
	assert.Equal(t, abs("/h/AppData/Local/Drawbridge"), windows.Data)
	assert.Equal(t, abs("/h/Library/Application Support/Drawbridge"), f.Data)
}

func TestMaskedConfigContainsNoSecret(t *testing.T) {
	for name, src := range map[string]string{
		"c.jsonc": `{ // canary0 in a comment
  "mcpServers": {
    "a": {"command": "npx", "args": ["-y", "pkg@1.2.3", "--api-key", "canary1", "--token=canary2", "-e", "KEY=canary3", "--url", "https://u:canary4@h/p?k=canary5#canary6", "-e", "PLAIN",
          "--env=A=canary18", "--header=X-A: canary19", "-u=canary20", "https://canary21abcdef0123456:x@h.example/s/canary22abcdef0123456789/mcp"], "inheritEnv": ["INHERITED", "network"],
          "env": {"X": "canary7", "Y": "${HOME}", "Z": "a${T:-canary8}b", "N": 12345678}},
    "b": {"url": "https://h/canary9abcdef0123456789/mcp?key=canary10", "headers": {"Authorization": "Bearer canary11", "X-A": "${secret:x}"}},
    "c": {"command": "sk-proj-canary12abcdefghijk0123456789", "tools": {"t": {"description": "see"}}},
    "d": {"command": "x", "password": "canary13", "nested": {"clientSecret": ["canary14"], "auth": {"value": "plain words"}}},
    "e": {"command": ["x"], "environment": {"P": "canary23"}, "envs": ["P=canary24"], "http_headers": {"P": "canary25"}, "requestInit": {"headers": {"P": "canary26"}}}
  },
  "history": {"redact": ["canary15-\\d+"]},
  "metrics": {"otlp": {"endpoint": "http://u:canary16@127.0.0.1", "headers": {"k": "canary17"}}},
}`,
		"c.yaml": "mcpServers:\n  a:\n    # canary0\n    command: x\n    env: {A: canary7}\n",
	} {
		text, values, variables, err := Masked(name, []byte(src))
		require.NoError(t, err)
		assert.NotContains(t, string(text), "canary", name)
		assert.NotContains(t, string(text), "12345678", name)
		assert.Truef(t, json.Valid(text) && strings.Contains(string(text), `"mcpServers"`), "%s: %s", name, text)
		assert.Contains(t, values, "canary7", name)
		if name == "c.jsonc" {
			if !slices.Contains(variables, "HOME") || !slices.Contains(variables, "T") || !slices.Contains(variables, "INHERITED") {
				t.Errorf("it refers to %q", variables)
			}
			for _, hidden := range []string{"canary21abcdef0123456", "canary22abcdef0123456789"} { // as they may occur in a log
				assert.Contains(t, values, hidden)
			}
			for _, stays := range []string{`"--env=A=[masked]"`, `"--header=X-A:[masked]"`, `"https://[masked]@h.example/s/[masked]/mcp"`, `"npx"`, `"-y"`, `"pkg@1.2.3"`, `"${HOME}"`, `"${secret:x}"`, `[masked]${T:-[masked]}[masked]`, `KEY=[masked]`, `"--api-key"`} {
				assert.Contains(t, string(text), stays)
			}
		}
	}
	_, _, _, err := Masked("c.jsonc", []byte(`{"a": canary}`))
	assert.Truef(t, err != nil && !strings.Contains(err.Error(), "canary"), "a file that is not understood: %v", err)
}

func TestMaskedReadsLineCommentAtTheEndOfTheFile(t *testing.T) {
	text, _, _, err := Masked("c.jsonc", []byte(`{"mcpServers": {}} // end`))
	require.NoError(t, err)
	require.Contains(t, string(text), "mcpServers")
}

func TestMaskedExamplesStayReadable(t *testing.T) {
	files, err := filepath.Glob("examples/*")
	require.Truef(t, err == nil && len(files) >= 5, "%v %v", files, err)
	for _, f := range files {
		src, err := os.ReadFile(f)
		require.NoError(t, err)
		text, _, _, err := Masked(f, src)
		require.NoError(t, err)
		c, problems := Parse("x.json", text)
		assert.Truef(t, c != nil && !HasErrors(problems), "%s: what is shown is not a configuration: %v\n%s", f, problems, text)
	}
}

func FuzzMaskedHidesEnvironmentValues(f *testing.F) {
	f.Add("canary-value-1")
	f.Add("a${X:-secretvalue}b")
	f.Add(`quote " and \ and ü`)
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) < 8 || strings.Contains(value, "$") || strings.Contains(value, "masked") {
			return
		}
		quoted, _ := json.Marshal(value)
		text, _, _, err := Masked("x.json", []byte(`{"mcpServers":{"s":{"command":"c","env":{"K":`+string(quoted)+`}}}}`))
		if err != nil {
			return
		}
		if inner := string(quoted[1 : len(quoted)-1]); strings.Contains(string(text), inner) && !strings.Contains(`{"mcpServers":{"s":{"command":"c","env":{"K":`, inner) {
			t.Errorf("%q is left in %s", value, text)
		}
	})
}
