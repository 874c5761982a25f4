package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, src string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if got := labels(c); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", step, got, want)
		}
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
	if problems, ok := errors.AsType[Problems](err); !ok || problems[0].File != EnvServers {
		t.Errorf("%v", err)
	}
}

func TestNamedFileMustExist(t *testing.T) {
	_, err := Sources{File: filepath.Join(t.TempDir(), "no.json")}.Load()
	if err == nil || !strings.Contains(err.Error(), "cannot read file") {
		t.Fatal(err)
	}
}

func TestServersOfTwoFilesConflictByName(t *testing.T) {
	dir := t.TempDir()
	s := Sources{DefaultFile: write(t, filepath.Join(dir, "c.json"), `{"mcpServers": {"a": {"command": "first"}}}`), ConfDir: filepath.Join(dir, "d")}
	write(t, filepath.Join(s.ConfDir, "x.json"), `{"mcpServers": {"a": {"command": "second"}}}`)
	c, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 1 || c.Servers[0].Command != "first" || !c.Broken() || !strings.Contains(c.Problems[0].Message, s.DefaultFile) {
		t.Fatalf("%+v", c)
	}
}

func TestBackupRoundTrips(t *testing.T) {
	dir := t.TempDir()
	s := Sources{DefaultFile: write(t, filepath.Join(dir, "c.json"), `{"mcpServers": {"a": {"command": "x", "env": {"K": "v"}}, "bad": {}}}`), ConfDir: filepath.Join(dir, "d")}
	write(t, filepath.Join(s.ConfDir, "x.yaml"), "mcpServers:\n  b: {command: y}\n")
	c, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromSourceTexts(c.SourceTexts())
	if err != nil || !Same(c, back) || len(back.Servers) != 2 || len(back.Problems) != len(c.Problems) {
		t.Fatalf("%v\n%+v\n%+v", err, c, back)
	}
	if _, err := FromSourceTexts([]byte("{torn")); err == nil {
		t.Error("a torn copy passes")
	}
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
	if Same(old, now) || !Same(now, now) {
		t.Error("Same is wrong")
	}
}

func TestOmittedAndEmptyValuesAreEqual(t *testing.T) {
	a := parse(t, `{"mcpServers": {"s": {"url": "http://a/"}, "l": {"command": "x"}, "o": {"url": "http://o/"}, "same": {"command": "x"}}}`)
	b := parse(t, `{"mcpServers": {"s": {"url": "http://a/", "headers": {"A": "b"}}, "l": {"command": "x", "inheritEnv": ["A"]}, "o": {"url": "http://o/", "oauth": {"clientId": "c"}},
		"same": {"args": [], "env": {}, "command": "x"}}}`)
	if _, changed, _ := Diff(a, b); !slices.Equal(changed, []string{"s", "l", "o"}) {
		t.Errorf("changed are %v", changed)
	}
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
		if got, err := Expand(in, lookup); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for in, name := range map[string]string{"${B}": "B", "${env:B}": "B", "${A}${secret:x}": "secret:x", "${}": "", "${B:-${C}}": "C"} {
		_, err := Expand(in, lookup)
		if _, ok := errors.AsType[*UnsetError](err); !ok || !strings.Contains(err.Error(), "${"+name+"}") {
			t.Errorf("Expand(%q): %v", in, err)
		}
	}
}

func TestFolders(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	own, err := foldersFor("linux", "/d", env(map[string]string{"XDG_CONFIG_HOME": "/x", "DRAWBRIDGE_DATA": "/e"}))
	if err != nil || own.Config != "/d" || own.Data != "/d" || own.State != "/d" || own.Logs != "/d/logs" || !own.CustomData || own.Web != nil {
		t.Errorf("%+v, %v", own, err)
	}
	if f, _ := foldersFor("linux", "", env(map[string]string{"DRAWBRIDGE_DATA": "/e"})); f.Data != "/e" || !f.CustomData {
		t.Errorf("%+v", f)
	}
	f, _ := foldersFor("linux", "", env(map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x", "XDG_DATA_HOME": "relative"}))
	if f.ConfigFile() != "/x/drawbridge/config.jsonc" || f.Data != "/h/.local/share/drawbridge" || f.Logs != "/h/.local/state/drawbridge/logs" || f.CustomData ||
		!slices.Equal(f.Web, []string{"/h/.local/share/drawbridge-window", "/h/.cache/drawbridge-window"}) {
		t.Errorf("%+v", f)
	}
	t.Setenv("HOME", "")
	if _, err := foldersFor("linux", "", env(nil)); runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), "--data")) {
		t.Errorf("without a home folder: %v", err)
	}
	f, _ = foldersFor("darwin", "", env(map[string]string{"HOME": "/h"}))
	if f.Data != "/h/Library/Application Support/Drawbridge" {
		t.Errorf("%+v", f)
	}
}
