package marketplace

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPackageOfEntryIsFoundAndPinned(t *testing.T) {
	for _, c := range []struct {
		command, image string
		args           []string
		pkg, wanted    string
		pinned         bool
		at             string // expected result of At("9.9.9")
	}{
		{"npx", "", []string{"-y", "@modelcontextprotocol/server-memory"}, "@modelcontextprotocol/server-memory", "", false, "@modelcontextprotocol/server-memory@9.9.9"},
		{"/usr/bin/npx", "", []string{"--yes", "thing@1.2.3", "--flag"}, "thing", "1.2.3", true, "thing@9.9.9"},
		{`C:\node\npx.cmd`, "", []string{"thing@latest"}, "thing", "latest", false, "thing@9.9.9"},
		{"npx", "", []string{"-p", "@a/b@^1.0.0", "run"}, "@a/b", "^1.0.0", false, "@a/b@9.9.9"},
		{"npx", "", []string{"--package=@a/b", "run"}, "@a/b", "", false, "@a/b@9.9.9"},
		{"uvx", "", []string{"mcp-server-time"}, "mcp-server-time", "", false, "mcp-server-time@9.9.9"},
		{"uvx", "", []string{"--python", "3.12", "--from", "a[x]==1.0", "run"}, "a[x]", "1.0", true, "a[x]==9.9.9"},
		{"uvx", "", []string{"pkg@1.2"}, "pkg", "1.2", true, "pkg@9.9.9"},
		{"uvx", "", []string{"pkg==1.2", "--flag"}, "pkg", "1.2", true, "pkg==9.9.9"},
		{"uvx", "", []string{"pkg@latest"}, "pkg", "latest", false, "pkg@9.9.9"},
		{"uvx", "", []string{"pkg[a,b]@1.2"}, "pkg[a,b]", "1.2", true, "pkg[a,b]@9.9.9"},
		{"uvx", "", []string{"pkg[a,b]"}, "pkg[a,b]", "", false, "pkg[a,b]@9.9.9"},
		{"uvx", "", []string{"--from", "pkg", "cmd"}, "pkg", "", false, "pkg==9.9.9"},
		{"uvx", "", []string{"--from=pkg==1.2", "cmd"}, "pkg", "1.2", true, "pkg==9.9.9"},
		{"uvx", "", []string{"--from", "pkg@1.2", "cmd"}, "pkg", "1.2", true, "pkg==9.9.9"},
		{"uvx", "", []string{"--with", "other==2", "-p", "3.12", "pkg"}, "pkg", "", false, "pkg@9.9.9"},
		{"uvx", "", []string{"-q", "--isolated", "--with=other", "pkg@1.2"}, "pkg", "1.2", true, "pkg@9.9.9"},
		{`C:\bin\uvx.exe`, "", []string{"pkg@1.2"}, "pkg", "1.2", true, "pkg@9.9.9"},
		{"uv", "", []string{"tool", "run", "pkg@1.2"}, "pkg", "1.2", true, "pkg@9.9.9"},
		{"uv", "", []string{"--offline", "tool", "run", "--from", "pkg[x]==1.2", "cmd"}, "pkg[x]", "1.2", true, "pkg[x]==9.9.9"},
		{"uv", "", []string{"--cache-dir", "/c", "tool", "run", "--python=3.12", "pkg"}, "pkg", "", false, "pkg@9.9.9"},
		{"pipx", "", []string{"run", "pkg==1.2"}, "pkg", "1.2", true, "pkg==9.9.9"},
		{"pipx", "", []string{"run", "--python", "3.12", "pkg"}, "pkg", "", false, "pkg==9.9.9"},
		{"pipx", "", []string{"run", "--spec", "pkg[x]==1.2", "cmd"}, "pkg[x]", "1.2", true, "pkg[x]==9.9.9"},
		{"pipx", "", []string{"run", "--spec=pkg", "--no-cache", "cmd"}, "pkg", "", false, "pkg==9.9.9"},
		{"uv", "", []string{"run", "pkg"}, "", "", false, ""},
		{"uv", "", []string{"tool", "run"}, "", "", false, ""},
		{"uv", "", []string{"tool", "install", "pkg"}, "", "", false, ""},
		{"uv", "", nil, "", "", false, ""},
		{"pipx", "", []string{"install", "pkg"}, "", "", false, ""},
		{"uvx", "", []string{"--from", "git+https://example.com/x", "cmd"}, "", "", false, ""},
		{"uvx", "", []string{"pkg>=1,<2"}, "", "", false, ""},
		{"uvx", "", []string{"--from", "pkg~=1.2", "cmd"}, "", "", false, ""},
		{"uvx", "", []string{"--from"}, "", "", false, ""},
		{"uvx", "", []string{"./dir"}, "", "", false, ""},
		{"docker", "", []string{"run", "-i", "mcp/time:1.0@" + someDigest}, "mcp/time", someDigest, true, "mcp/time:9.9.9"},
		{"docker", "", []string{"run", "-i", "--rm", "-e", "A=b", "mcp/time:1.0", "x"}, "mcp/time", "1.0", false, "mcp/time:9.9.9"},
		{"", "localhost:5000/mcp/time", nil, "localhost:5000/mcp/time", "", false, "localhost:5000/mcp/time:9.9.9"},
		{"npx", "", []string{"-y", "/home/me/server"}, "", "", false, ""},
		{"npx", "", []string{"-y", "${PKG}"}, "", "", false, ""},
		{"npx", "", []string{"github:me/it"}, "", "", false, ""},
		{"node", "", []string{"x.js"}, "", "", false, ""},
	} {
		s := config.Server{Type: core.Stdio, Command: c.command, Args: c.args}
		if c.image != "" {
			s = config.Server{Type: core.Docker, Docker: config.Docker{Image: c.image}}
		}
		spec, ok := Find(&s)
		if ok != (c.pkg != "") {
			t.Errorf("%s %v: found is %v: %+v", c.command, c.args, ok, spec)
			continue
		}
		if !ok {
			continue
		}
		at, valid := spec.At("9.9.9")
		if spec.Package != c.pkg || spec.Wanted != c.wanted || spec.Pinned() != c.pinned || at != c.at || !valid {
			t.Errorf("%s %v: %+v, at %q", c.command, c.args, spec, at)
		}
		again := spec.Apply(s, at)
		if next, ok := Find(&again); !ok || next.Wanted != "9.9.9" || next.Package != c.pkg {
			t.Errorf("%s %v: with another version it is %+v", c.command, c.args, again)
		}
		if _, valid := spec.At("1.0 --evil"); valid {
			t.Error("an option passes as a version")
		}
	}
}

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImageIsPinnedToDigestWithTag(t *testing.T) {
	for text, want := range map[string]string{
		"mcp/time":                              "mcp/time@" + someDigest,
		"mcp/time:1.0":                          "mcp/time:1.0@" + someDigest,
		"localhost:5000/a/b:x":                  "localhost:5000/a/b:x@" + someDigest,
		"localhost:5000/a/b":                    "localhost:5000/a/b@" + someDigest,
		"mcp/time:1.0@sha256:" + someDigest[7:]: "mcp/time:1.0@" + someDigest,
	} {
		spec, ok := parseImage(text, -1)
		at, valid := spec.At(someDigest)
		assert.Truef(t, ok && valid && at == want, "%s: %q, %v", text, at, valid)
		if next, ok := parseImage(at, -1); !ok || !next.Pinned() || next.Package != spec.Package {
			t.Errorf("%s: %+v", at, next)
		}
		for _, bad := range []string{"sha256:" + someDigest[8:], "sha256:x", "1 2", "a@b", ""} {
			if at, valid := spec.At(bad); valid {
				t.Errorf("%s at %q is %q", text, bad, at)
			}
		}
	}
	spec, _ := parseImage("mcp/time@sha256:0123", -1)
	assert.False(t, spec.Pinned(), "a torn digest passes for a pin")
}

func TestImageIDIsPinnedUnderItsName(t *testing.T) {
	spec, ok := parseImage(someDigest, 3)
	require.Truef(t, ok && spec.Pinned() && spec.Arg == 3, "%+v, %v", spec, ok)
	at, valid := spec.At("2")
	assert.Falsef(t, valid, "an id alone has no other version, and is given %q", at)
	spec = spec.WithImageName("mcp/time:1")
	at, valid = spec.At("2")
	assert.Truef(t, valid && at == "mcp/time:2", "%q, %v", at, valid)
	assert.Equal(t, "mcp/time", spec.WithImageName("other:3").Package, "named twice")
	assert.Empty(t, (Spec{Launcher: NPX}).WithImageName("mcp/time:1").Package)
}

func TestResolvedVersionNamesItsSource(t *testing.T) {
	home := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		full := filepath.Join(home, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o700))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
	}
	put(".npm/_npx/0123456789abcdef/node_modules/@a/b/package.json", `{"version":"1.4.2"}`)
	put(".cache/uv/archive-v0/xyz/lib/python3.12/site-packages/mcp_server_time-2025.1.dist-info/METADATA", "")
	where := Environment{Home: home, Getenv: func(string) string { return "" }}
	info := json.RawMessage(`{"name":"x","version":"0.1"}`)
	for args, want := range map[[2]string]Resolved{
		{"npx", "@a/b"}:            {"1.4.2", FromCache},
		{"npx", "@a/b@1.0.0"}:      {"1.0.0", FromConfig},
		{"npx", "other"}:           {"0.1", FromServer},
		{"uvx", "mcp-server-time"}: {"2025.1", FromCache},
	} {
		spec, ok := Find(&config.Server{Type: core.Stdio, Command: args[0], Args: []string{args[1]}})
		got := Resolve(spec, where, []int{os.Getpid()}, info)
		assert.Truef(t, ok && got == want, "%v: %+v", args, got)
		if cached := args[1] == "@a/b" || args[0] == "uvx"; Cached(spec, where) != cached { // not of another version
			t.Errorf("%v: cached is not %v", args, cached)
		}
	}
}

func TestRegistryResponsesAreParsed(t *testing.T) {
	for out, want := range map[string]string{"\"2026.8.31\"\n": "2026.8.31", "mcp-server-time (2025.9.25)\nAvailable versions: 2025.9.25, 2025.8\n": "2025.9.25"} {
		launcher := NPX
		if out[0] != '"' {
			launcher = UVX
		}
		got, err := parseLatest(launcher, out)
		assert.Truef(t, err == nil && got == want, "%q is read as %q, %v", out, got, err)
	}
	_, err := parseLatest(NPX, "npm ERR! --evil")
	assert.Error(t, err, "an error is read as a version")
}

// The error of an unknown newest version has the reason that npm or pip has printed.
func TestUnknownNewestVersionHasItsReason(t *testing.T) {
	failed := &exec.ExitError{Stderr: []byte("npm error code ENOTFOUND\nnpm error network request failed,\n  reason: no host\nnpm error A log of this run is in: x\n")}
	for _, c := range []struct {
		err       error
		out, want string
	}{
		{failed, `{"error":{"code":"E404","summary":"Not Found - GET x","detail":""}}`, "Not Found - GET x"},
		{failed, "", "npm error network request failed,"},
		{&exec.ExitError{Stderr: []byte("Traceback\nno such package\n")}, "", "no such package"},
		{exec.ErrNotFound, "", exec.ErrNotFound.Error()},
	} {
		got := withOutput(c.err, []byte(c.out))
		assert.Truef(t, strings.HasSuffix(got.Error(), c.want) && errors.Is(got, c.err), "%v, want %s", got, c.want)
	}
}

func TestNewestVersionIsLookedUpInTheRegistryOfTheServer(t *testing.T) {
	s := &config.Server{}
	s.Env = map[string]string{
		"npm_config_registry": "http://a", "NPM_CONFIG_@SCOPE:REGISTRY": "http://b", "UV_INDEX_URL": "http://c", "PIP_INDEX_URL": "${secret:x}",
		"API_KEY": "k", "NODE_OPTIONS": "--require x", "npm_config_script_shell": "x",
	}
	got := registryEnv(s)
	slices.Sort(got)
	want := []string{"NPM_CONFIG_@SCOPE:REGISTRY=http://b", "UV_INDEX_URL=http://c", "npm_config_registry=http://a"}
	assert.Equal(t, want, got)
}
