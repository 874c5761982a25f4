package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the sentences of testdata again")

// Each bad_<what>.json has a bad_<what>.txt with the problems that it must produce.
func TestInvalidFilesReportPositionAndReason(t *testing.T) {
	files, err := filepath.Glob("testdata/bad_*.json")
	require.Truef(t, err == nil && len(files) >= 20, "%d samples, %v", len(files), err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			c, problems := Parse(name+".json", src)
			require.Truef(t, HasErrors(problems), "passes with %v", problems)
			var got strings.Builder
			for _, p := range problems {
				assert.Truef(t, p.Line >= 1 && p.Column >= 1, "no place: %v", p)
				fmt.Fprintln(&got, p)
			}
			if c == nil {
				fmt.Fprintln(&got, "refused")
			} else {
				fmt.Fprintf(&got, "accepted with %d servers\n", len(c.Servers))
			}
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
			}
			want, _ := os.ReadFile(golden)
			assert.Empty(t, cmp.Diff(string(want), got.String()))
		})
	}
}

func parse(t *testing.T, src string) *Config {
	t.Helper()
	c, problems := Parse("config.jsonc", []byte(src))
	require.NotNilf(t, c, "refused: %v", problems)
	return c
}

func TestTypeIsInferred(t *testing.T) {
	c := parse(t, `{"mcpServers": {
		"a": {"command": "a"},
		"b": {"url": "http://127.0.0.1:1/mcp"},
		"c": {"httpUrl": "http://127.0.0.1:1/mcp"},
		"d": {"type": "sse", "url": "http://127.0.0.1:1/sse"},
		"e": {"container": "box", "command": "e", "cwd": "/app"},
		"f": {"type": "streamable-http", "url": "https://${HOST}/mcp"},
		"g": {"command": "serve", "args": ["--port", 1], "url": "http://127.0.0.1:1/mcp"},
		"h": {"docker": {"image": "mcp/time"}, "args": ["--utc"]},
		"i": {"docker": {"service": "web", "project": "shop"}, "command": "serve"},
	}}`)
	want := map[string]core.Transport{"a": core.Stdio, "b": core.HTTP, "c": core.HTTP, "d": core.SSE, "e": core.Docker, "f": core.HTTP, "g": core.HTTP, "h": core.Docker, "i": core.Docker}
	for _, s := range c.Servers {
		assert.Equal(t, want[s.ID], s.Type)
	}
	require.Len(t, c.Servers, len(want))
	require.Empty(t, c.Problems)
	e, _ := c.Server("E")
	assert.Truef(t, e.Docker.Workdir == "/app" && e.Docker.Container == "box", "%+v", e.Docker)
	g, _ := c.Server("g")
	assert.Truef(t, g.Command == "serve" && len(g.Args) == 2, "%+v", g)
	s, _ := c.Server("c")
	assert.NotEmpty(t, s.URL, "httpUrl is not the url")
}

func TestEveryShapeOfServerMapIsRead(t *testing.T) {
	for _, src := range []string{
		`{"mcpServers": {"files": {"command": "x"}}}`,
		`{"servers": {"files": {"command": "x"}}}`,
		`{"mcp": {"servers": {"files": {"command": "x"}}}}`,
		`{"mcpServers": [{"name": "files", "command": "x"}]}`,
		"\xef\xbb\xbf{\"mcpServers\": {\"files\": {\"command\": \"x\",},},}",
		"// a comment\n{/* another */\"mcpServers\": {\"files\": {\"command\": \"x\"}}}\n",
		`{"mcpServers": {"files": {"command": "x"}}} // done`,
		`{"mcpServers": {"files": {"command": "x"}}} /* done */`,
	} {
		c := parse(t, src)
		assert.Truef(t, len(c.Servers) == 1 && c.Servers[0].ID == "files" && len(c.Problems) == 0, "%s: %+v", src, c)
	}
}

func TestAliasesAndGlobalDefaults(t *testing.T) {
	c := parse(t, `{
		"mcpServers": {
			"a": {"command": "a", "timeout": 5000, "disabled": true, "trust": true, "debug": false, "cwd": "/x"},
			"b": {"command": "b", "enabled": false},
			"c": {"command": "c", "timeout": 5000, "requestTimeoutMs": 7000},
		},
		"globalSettings": {"timeout": 9000, "debug": true, "loginShellTimeoutMs": 25000},
	}`)
	a, b, both := c.Servers[0], c.Servers[1], c.Servers[2]
	assert.Truef(t, a.RequestTimeout.Milliseconds() == 5000 && a.Disabled && a.Trust && !a.Debug && a.Cwd == "/x", "%+v", a)
	require.Equal(t, 25*time.Second, c.Global.LoginShellTimeout, "the login shell")
	require.Equal(t, 10*time.Second, Default().Global.LoginShellTimeout, "the login shell")
	assert.Truef(t, b.RequestTimeout.Milliseconds() == 9000 && b.Disabled && b.Debug, "%+v", b)
	assert.EqualValues(t, 7000, both.RequestTimeout.Milliseconds(), "the alias wins over the key")
	if b.StartupTimeout != DefaultStartupTimeout || b.Heartbeat != DefaultHeartbeat || b.Stale != DefaultStale ||
		b.Restart.MaxAttempts != DefaultMaxAttempts || b.Start != StartAuto {
		t.Errorf("defaults are missing: %+v", b)
	}
}

func TestMCPDisabledMeansNoServers(t *testing.T) {
	c := parse(t, `{"mcp": {"enabled": false}, "mcpServers": {"a": {"command": "a"}}}`)
	require.Truef(t, !c.MCPEnabled && len(c.Servers) == 0, "%+v", c)
}

func TestOnlyInvalidServerIsLeftOut(t *testing.T) {
	c := parse(t, `{"mcpServers": {"a": {"command": 5}, "b": {"command": "b"}}}`)
	require.Truef(t, len(c.Servers) == 1 && c.Servers[0].ID == "b" && c.Broken(), "%+v", c)
	p := c.Problems[0]
	assert.Truef(t, p.Server == "a" && p.Key == "mcpServers.a.command" && !p.Warning, "%+v", p)
}

func TestErrorInSettingsHidesNoOtherError(t *testing.T) {
	c, problems := Parse("c.jsonc", []byte(`{
  "bridge": {"listen": "0.0.0.0:1"}, "history": {"keepDays": "x"},
  "profiles": {"bad name": {}, "kind": 5, "half": {"toolMode": 5}},
  "clients": {"a": {"profile": "bad name"}, "b": {"profile": "kind"}, "c": {"profile": "half"}, "d": {"profile": "absent"}},
  "mcpServers": {"one": {}, "two": {"command": 5, "timeout": "x"}, "three": {"command": "x"}}
}`))
	var keys []string
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	// The clients a, b and c refer to a profile whose own error is reported.
	want := []string{"bridge.listen", "history.keepDays", "profiles.bad name", "profiles.kind", "profiles.half.toolMode",
		"mcpServers.one.command", "mcpServers.two.command", "mcpServers.two.timeout", "clients.d.profile"}
	diff := cmp.Diff(want, keys)
	assert.Truef(t, c == nil && diff == "", "accepted: %v\n%s", c != nil, diff)
	for _, src := range []string{`{"profiles": [], "clients": {"a": {"profile": "p"}}}`, `{"profiles": {"p": {}}, "profiles": {}, "clients": {"a": {"profile": "q"}}}`} {
		if _, problems := Parse("c.jsonc", []byte(src)); len(problems) != 1 || problems[0].Key != "profiles" {
			t.Errorf("%s: %v", src, problems)
		}
	}
}

// A client may send any name.
func TestNearestIsCloseAndBounded(t *testing.T) {
	known := []string{"files__read_file", "files__write", "demo__echo", strings.Repeat("y", 300)}
	for word, want := range map[string]string{
		"files__raed_file": "files__read_file", "Files.Write": "files__write", "demo": "demo__echo", "xyz": "",
		strings.Repeat("x", 300): "", strings.Repeat("x", 1<<20): "",
	} {
		assert.Equal(t, want, Nearest(word, known))
	}
}

func TestUnknownKeyWarningSuggestsNearestKey(t *testing.T) {
	c := parse(t, `{"mcpserver": {}, "mcpServers": {"a": {"command": "a", "arg": [], "Env": {}, "zzz": 1}}, "files": {"command": "x"}}`)
	want := map[string]string{
		"mcpserver":        "did you mean 'mcpServers'?",
		"mcpServers.a.arg": "did you mean 'args'?",
		"mcpServers.a.env": "to tidy it, write 'env' for 'Env'",
		"mcpServers.a.zzz": "",
		"files":            "servers belong in 'mcpServers'",
	}
	for _, p := range c.Problems {
		suggestion, known := want[p.Key]
		assert.Truef(t, known && p.Suggestion == suggestion && p.Warning, "%+v", p)
		delete(want, p.Key)
	}
	assert.Truef(t, len(want) <= 0 && len(c.Servers) == 1, "missing %v", want)
}

// A key that is not read because of its spelling would stop servers or lift a limit.
func TestMisspelledKeyThatMustBeReadIsAnError(t *testing.T) {
	const server = `{"a": {"command": "a"}}`
	for key, src := range map[string]string{
		"mcpservers":          `{"mcpservers": ` + server + `}`,
		"MCPServers":          `{"MCPServers": {}, "mcpServers": ` + server + `}`,
		"mcpSevers":           `{"mcpSevers": ` + server + `}`,
		"mcpServer":           `{"mcpServer": [], "bridge": {}}`,
		"Servers":             `{"Servers": ` + server + `}`,
		"mcp.server":          `{"mcp": {"server": ` + server + `}}`,
		"policys":             `{"policys": {}, "mcpServers": ` + server + `}`,
		"profles":             `{"profles": {}, "mcpServers": ` + server + `}`,
		"clents":              `{"clents": {}, "mcpServers": ` + server + `}`,
		"policy.rule":         `{"policy": {"rule": []}}`,
		"profiles.p.Servers":  `{"profiles": {"p": {"Servers": {}}}}`,
		"profiles.p.server":   `{"profiles": {"p": {"server": {}}}}`,
		"clients.c.profle":    `{"profiles": {"p": {}}, "clients": {"c": {"profle": "p"}}}`,
		"mcpServers.a.sanbox": `{"mcpServers": {"a": {"command": "a", "sanbox": "on"}}}`,
	} {
		_, problems := Parse("c.jsonc", []byte(src))
		if len(problems) != 1 || problems[0].Warning || problems[0].Key != key || !strings.Contains(problems[0].Suggestion, "did you mean") {
			t.Errorf("%s: %+v", src, problems)
		}
	}
}

// People write ~/ as in a shell, but only a shell expands it. Containers have other folders.
func TestHomeFolderIsExpandedInPaths(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("USERPROFILE", "/home/ada") // Windows
	c := parse(t, `{"mcpServers": {
		"a": {"command": "~/bin/a", "cwd": "~/notes", "args": ["~/notes"]}, "b": {"command": "b", "cwd": "~"}, "c": {"command": "c", "cwd": "~ada/x"},
		"d": {"container": "box", "command": "~/d", "cwd": "~/d"}, "e": {"from": {"file": "~/e.jsonl"}}}}`)
	var got []string
	for _, s := range c.Servers {
		got = append(got, strings.Join([]string{s.Command, s.Cwd, strings.Join(s.Args, " "), s.Docker.Workdir, s.Replay.File}, "|"))
	}
	assert.Equal(t, "/home/ada/bin/a|/home/ada/notes|~/notes|| b|/home/ada||| c|~ada/x||| ~/d|||~/d| ||||/home/ada/e.jsonl", filepath.ToSlash(strings.Join(got, " ")))
}

func TestLabelBecomesSlug(t *testing.T) {
	c := parse(t, `{"mcpServers": {"@scope/My Server": {"command": "a"}}}`)
	s := c.Servers[0]
	require.Truef(t, s.Label == "@scope/My Server" && s.ID == core.Slug(s.Label) && core.ValidServerID(s.ID), "%+v", s)
}

func TestColumnsCountCharacters(t *testing.T) {
	_, problems := Parse("c.json", []byte(`{"日本語日本語": 1}`+"\n{"))
	require.True(t, len(problems) == 1 && problems[0].Line == 2 && problems[0].Column == 1, problems)
	_, problems = Parse("c.json", []byte(`{"mcpServers": {"äöü": {"command": "äöü"}, "b": {"command": 5}}}`))
	require.Equal(t, 61, problems[len(problems)-1].Column, problems)
}

func TestYAMLAndJSONAreEquivalent(t *testing.T) {
	y, problems := Parse("a.yaml", []byte(`
defaults: &defaults
  command: npx
  env: {PORT: 8080, ON: true}
mcpServers:
  files:
    <<: *defaults
    args: [-y, "@x/files", 3]
    timeout: 30000
  search:
    url: http://127.0.0.1:1/mcp
    disabled: true
`))
	require.NotNil(t, y, problems)
	j := parse(t, `{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "@x/files", "3"], "env": {"PORT": "8080", "ON": "true"}, "timeout": 30000},
		"search": {"url": "http://127.0.0.1:1/mcp", "disabled": true},
	}}`)
	if a, ch, r := Diff(y, j); a != nil || ch != nil || r != nil {
		t.Errorf("added %v, changed %v, removed %v\n%+v\n%+v", a, ch, r, y.Servers, j.Servers)
	}
}

func TestInvalidYAMLReportsPosition(t *testing.T) {
	for src, line := range map[string]int{
		"mcpServers:\n  a:\n   command: [":         3,
		"mcpServers:\n  a:\n    command: {x: 1}\n": 3,
		"mcpServers: *nowhere\n":                   1,
		"a: 1\n---\nb: 2\n":                        3,
		strings.Repeat("- ", 1000) + "x":           1,
		strings.Repeat("[", 100000):                1,
		"":                                         1,
	} {
		_, problems := Parse("a.yml", []byte(src))
		assert.Truef(t, HasErrors(problems) && problems[len(problems)-1].Line == line, "%.40q: %v, want line %d", src, problems, line)
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	for _, src := range []string{strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<19), `"` + strings.Repeat("\n[", 1<<19)} {
		c, problems := Parse("c.json", []byte(src))
		assert.Truef(t, c == nil && len(problems) != 0, "%.10q passes", src)
	}
}

func TestShortTimeoutIsProbablySeconds(t *testing.T) {
	c := parse(t, `{"mcpServers": {"a": {"command": "a", "timeout": 60}}}`)
	if len(c.Problems) != 1 || !c.Problems[0].Warning || c.Problems[0].Suggestion != "60 seconds is 60000" {
		t.Fatalf("%v", c.Problems)
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.json", "examples/*", "default.jsonc"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(src, IsYAML(file))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, yaml bool) {
		file := "c.jsonc"
		if yaml {
			file = "c.yaml"
		}
		c, problems := Parse(file, src)
		if c == nil {
			require.True(t, HasErrors(problems), "refused without a reason")
			return
		}
		checkValid(t, c)
	})
}

// checkValid checks the invariants of every Config that is returned.
func checkValid(t *testing.T, c *Config) {
	t.Helper()
	ids, prefixes := map[string]bool{}, map[string]bool{}
	for _, s := range c.Servers {
		id, prefix := strings.ToLower(s.ID), prefix(c.Bridge.Naming, s)
		assert.Truef(t, core.ValidServerID(s.ID) && !ids[id] && !prefixes[prefix], "id %q is not valid or not unique", s.ID)
		ids[id], prefixes[prefix] = true, true
		switch s.Type {
		case core.Stdio:
			assert.NotEmptyf(t, s.Command, "%q has no command", s.ID)
		case core.Docker:
			assert.Truef(t, !(s.Command == "" && s.Docker.Image == "") && len(s.Docker.named()) == 1, "%q has no command or not one container", s.ID)
		case core.HTTP, core.SSE:
			assert.NotEmptyf(t, s.URL, "%q has no url", s.ID)
		default:
			t.Errorf("%q has the type %q", s.ID, s.Type)
		}
		if s.StartupTimeout <= 0 || s.RequestTimeout <= 0 || s.Start == "" || s.Framing == "" || s.Restart.Strategy == "" {
			t.Errorf("%q has no defaults: %+v", s.ID, s)
		}
	}
	assert.Empty(t, validateLoopback(c.Bridge.Listen))
	assert.False(t, !c.MCPEnabled && len(c.Servers) > 0, "servers although MCP is off")
}

func TestMissingQuotesErrorHidesValue(t *testing.T) {
	_, problems := Parse("c.jsonc", []byte(`{"mcpServers": {"d": {"command": "x", "env": {"T": abc123DEFsecret}}}}`))
	require.Len(t, problems, 1)
	require.NotContains(t, problems[0].String(), "secret")
}

func TestPatternMatchingEverythingIsRefused(t *testing.T) {
	for pattern, fine := range map[string]bool{`x*`: false, `|`: false, `cust-\\d+`: true, strings.Repeat("x", maxPattern+1): false} {
		c, problems := Parse("c.json", []byte(`{"history": {"redact": ["`+pattern+`"]}}`))
		assert.Equalf(t, fine, c != nil, "%.20q: %v", pattern, problems)
	}
}

func TestMetricsReceiverIsParsed(t *testing.T) {
	c, problems := Parse("c.json", []byte(`{"metrics": {"otlp": {"endpoint": "http://127.0.0.1:4318", "headers": {"x-key": "${KEY}"}, "traces": false, "intervalMs": 5000}}, "mcpServers": {"a": {"command": "a", "record": "meta", "validateOutput": "error", "tools": {"t": {"record": "off"}}}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	o := c.Metrics.OTLP
	assert.Truef(t, o.Endpoint == "http://127.0.0.1:4318" && o.Headers["x-key"] == "${KEY}" && !o.Traces && o.Metrics && o.Interval == 5*time.Second, "%+v", o)
	s := c.Servers[0]
	assert.Truef(t, s.Record == RecordMeta && s.ValidateOutput == ValidateError && s.Filter.Tools["t"].Record == RecordOff, "%+v", s)
	d := Default()
	assert.True(t, d.Metrics.OTLP.Endpoint == "" && !Same(c, d), "something is sent by default, or no difference is seen")
}

// The original format nests the settings of all servers inside mcp.
func TestGlobalSettingsInsideMCPApply(t *testing.T) {
	c := parse(t, `{"mcp": {"servers": {"a": {"command": "a"}}, "globalSettings": {"timeout": 1000, "debug": true}}}`)
	if c.Servers[0].RequestTimeout != time.Second || !c.Servers[0].Debug || len(c.Problems) != 0 {
		t.Errorf("%+v %v", c.Servers[0], c.Problems)
	}
	if c := parse(t, `{"mcp": {"servers": {"a": {"command": "a"}}, "debug": true}}`); !c.Servers[0].Debug || len(c.Problems) != 0 {
		t.Errorf("mcp.debug: %+v %v", c.Servers[0], c.Problems)
	}
}

func TestUnknownKeySuggestsItsPlace(t *testing.T) {
	for src, want := range map[string]string{
		`{"timeout": 1000}`:           "'timeout' is a key of 'globalSettings' and of a server",
		`{"bridge": {"keepDays": 3}}`: "'keepDays' is a key of 'history'",
		`{"mcpServers": {"a": {"command": "a", "requireToken": true}}}`: "'requireToken' is a key of 'bridge'",
		`{"bridge": {"nothingLikeIt": 3}}`:                              "",
	} {
		_, problems := Parse("c.json", []byte(src))
		require.Len(t, problems, 1, src)
		require.Equal(t, want, problems[0].Suggestion, src)
	}
}

// Programs cannot be started with a NUL in an argument, because it would terminate the string.
func TestProgramTextContainsNoNUL(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`"command": "a\u0000b"`, `"args": ["a\u0000b"]`, `"env": {"K": "a\u0000b"}`, `"cwd": "/a\u0000b"`, `"inheritEnv": ["A\u0000"]`} {
		_, problems := Parse("x", []byte(`{"mcpServers": {"s": {"type": "stdio", `+bad+`}, "fine": {"command": "c"}}}`))
		if len(problems) != 1 || problems[0].Warning || problems[0].Server != "s" || !strings.Contains(problems[0].Message, "must not contain a NUL character") {
			t.Errorf("%s: %v", bad, problems)
		}
	}
}
