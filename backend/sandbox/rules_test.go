//go:build !windows

// The sandbox requires Linux, and its rules have the paths of Unix.

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLaunchersHaveTheirCachesAtFirstStart(t *testing.T) {
	for launcher, caches := range map[string][]string{
		"npx": {".npm"}, "deno": {".cache/deno"}, "pnpm": {".cache/pnpm", ".local/share/pnpm/store"}, "pnpx": {".cache/pnpm"}, "yarn": {".yarn/berry"},
	} {
		home := resolved(t.TempDir())
		rules := RulesFor(Program{Home: home, Path: "/opt/bin/" + launcher})
		for _, cache := range caches {
			cache = filepath.Join(home, cache)
			_, err := os.Stat(cache)
			assert.Truef(t, err == nil && slices.Contains(rules.Write, cache), "%s may not write to %s: %v", launcher, cache, err)
		}
	}
}

func TestRulesCoverWorkAndSpareSecrets(t *testing.T) {
	home := t.TempDir()
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for _, dir := range []string{".ssh", ".config/app", "projects/one", ".npm", "Documents"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	t.Setenv("TMPDIR", filepath.Join(home, "none"))
	in := func(path string) string { return filepath.Join(home, path) }
	for file, mode := range map[string]os.FileMode{"notes.db": 0o600, "server.py": 0o600, "server": 0o700} {
		require.NoError(t, os.WriteFile(in(file), nil, mode))
	}
	base := Program{Home: home, Path: "/usr/bin/npx"}
	for name, c := range map[string]struct {
		program             func(p *Program)
		mayWrite, mayNot    []string
		mayRead, mayNotRead []string
	}{
		"default":           {func(*Program) {}, []string{".npm/x", ".cache/puppeteer/x"}, []string{".bashrc", "Documents/x", "x"}, []string{"Documents/x"}, []string{".ssh/id", ".claude.json"}},
		"working directory": {func(p *Program) { p.Dir = in("projects/one") }, []string{"projects/one/x"}, []string{"projects/two"}, nil, []string{".ssh/id"}},
		"home as directory": {func(p *Program) { p.Dir = home }, nil, []string{".bashrc", "x", "Documents/x"}, nil, []string{".ssh/id"}},
		"folder argument":   {func(p *Program) { p.Args = []string{"--dir=" + in("Documents")} }, []string{"Documents/x"}, []string{"projects/x"}, nil, nil},
		"file arguments":    {func(p *Program) { p.Args = []string{in("server.py"), in("server"), "--db=" + in("notes.db")} }, []string{"notes.db"}, []string{"server.py", "server"}, []string{"server.py"}, nil},
		"home as argument":  {func(p *Program) { p.Args = []string{home, filepath.Dir(home)} }, nil, []string{"Documents/x", ".config/app/x", ".bashrc"}, []string{"Documents/x"}, []string{".ssh/id"}},
		"private argument":  {func(p *Program) { p.Args = []string{in(".ssh")} }, nil, []string{".ssh/id"}, nil, []string{".ssh/id"}},
		"playwright":        {func(p *Program) { p.Args = []string{"-y", "@playwright/mcp@latest"} }, []string{".cache/ms-playwright-mcp/x", ".cache/ms-playwright/x"}, []string{".cache/x"}, nil, nil},
		"own parents": {func(p *Program) {
			p.Read, p.Write = []string{"/", "~/.config/gh/hosts.yml"}, []string{"~", "~/.config"}
		}, []string{"Documents/x", ".config/app/x", ".npm/x"}, []string{".ssh/id", ".config/gh/x", "x"}, []string{".config/gh/hosts.yml", ".config/app/x"}, []string{".ssh/id", ".config/gh/other"}},
		"our program": {func(p *Program) {
			p.Args, p.Unwritable = []string{in("Documents")}, []string{in("Documents/drawbridge")}
		}, nil, []string{"Documents/drawbridge"}, []string{"Documents/drawbridge"}, nil},
		"own paths": {func(p *Program) { p.Read, p.Write = []string{"~/.ssh"}, []string{"~/.bashrc"} }, []string{".bashrc"}, []string{".ssh/id"}, []string{".ssh/id"}, nil},
	} {
		p := base
		c.program(&p)
		r := RulesFor(p)
		for _, path := range c.mayWrite {
			assert.Truef(t, r.MayWrite(in(path)), "%s: %s may not be written", name, path)
		}
		for _, path := range c.mayNot {
			assert.Falsef(t, r.MayWrite(in(path)), "%s: %s may be written", name, path)
		}
		for _, path := range c.mayRead {
			assert.Truef(t, r.MayRead(in(path)), "%s: %s may not be read", name, path)
		}
		for _, path := range c.mayNotRead {
			assert.Falsef(t, r.MayRead(in(path)), "%s: %s may be read", name, path)
		}
		wide := strings.Contains(strings.Join(r.Ignored, "\n"), "home directory") || strings.Contains(strings.Join(r.Ignored, "\n"), "start programs")
		assert.Equal(t, name == "home as argument" || name == "own parents", wide, r.Ignored)
		for _, path := range []string{"/run/user/1000/containers/auth.json", "/dev/pts/0", "/dev/input/event0"} {
			assert.Falsef(t, r.MayRead(path), "%s: %s may be read", name, path)
		}
		assert.Truef(t, r.MayRead("/usr/bin/env"), "%s: programs of the system may not be run", name)
	}
	for _, folder := range []string{".cache/ms-playwright", ".cache/ms-playwright-mcp", ".cache/puppeteer"} {
		_, err := os.Stat(in(folder))
		assert.NoError(t, err, "a folder that servers cannot create")
	}
}

func TestCredentialsAndHistoriesMayNotBeRead(t *testing.T) {
	home := resolved(t.TempDir())
	in := func(path string) string { return filepath.Join(home, path) }
	private := []string{
		".config/git/credentials", ".git-credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".vault-token", ".terraform.d/x",
		".config/containers/auth.json", ".config/sops/age/keys.txt", ".my.cnf", ".s3cfg", ".boto", ".oci/config", ".config/doctl/config.yaml", ".config/glab-cli/config.yml",
		".config/ngrok/ngrok.yml", ".config/stripe/config.toml", ".config/hcloud/cli.toml", ".config/heroku/x", ".fly/config.yml", ".config/Bitwarden/data.json",
		".config/keepassxc/keepassxc.ini", ".librewolf/x", ".zen/x", ".waterfox/x", ".pki/nssdb/key4.db", ".config/Signal/x", ".config/Slack/x", ".config/Element/x",
		".Xauthority", ".bash_history", ".local/share/fish/fish_history", ".node_repl_history", ".sqlite_history", ".config/drawbridge/config.jsonc", ".local/share/drawbridge/x",
		".mcp-auth/tokens.json", ".config/JetBrains/IDE/c.kdbx", ".local/share/uv/credentials/x", ".minikube/client.key", ".config/Windsurf/User/x",
	}
	public := []string{".yarnrc.yml", ".local/share/uv/python/x", ".config/git/config", ".cargo/config.toml", ".m2/repository/x", ".config/containers/policy.json", ".gradle/caches/x", ".local/share/fish/x"}
	for _, path := range append(private, public...) {
		require.NoError(t, os.MkdirAll(filepath.Dir(in(path)), 0o755))
		require.NoError(t, os.WriteFile(in(path), nil, 0o600))
	}
	t.Setenv("TMPDIR", in("none"))
	r := RulesFor(Program{Home: home, Path: "/usr/bin/true"})
	for _, path := range private {
		assert.Falsef(t, r.MayRead(in(path)), "%s may be read", path)
	}
	for _, path := range public {
		assert.Truef(t, r.MayRead(in(path)), "%s may not be read", path)
	}
}

func TestNoProgramThatIsRunLaterMayBeWritten(t *testing.T) {
	home := resolved(t.TempDir())
	in := func(path string) string { return filepath.Join(home, path) }
	t.Setenv("TMPDIR", in("none"))
	r := RulesFor(Program{Home: home, Path: "/usr/bin/uvx"})
	for _, path := range []string{
		".bun/bin/bun", ".bun/install/global/x", ".deno/bin/x", ".local/share/pnpm/x", ".local/share/pnpm/global/x", ".local/share/uv/tools/x/bin/x",
		".local/share/uv/python/x", ".local/pipx/venvs/x", ".local/pipx/shared/x", "go/bin/x", ".local/bin/x",
	} {
		assert.Falsef(t, r.MayWrite(in(path)), "%s may be written", path)
	}
	for _, path := range packageCaches { // in particular, none of them starts programs
		assert.Truef(t, r.MayWrite(in(path)), "%s may not be written", path)
	}
	for _, path := range []string{".cache/uv", ".local/share/uv/tools/.lock", ".local/share/uv/tools/.gitignore"} {
		_, err := os.Stat(in(path))
		assert.NoErrorf(t, err, "uvx needs %s", path)
	}
}

func TestDefaultFolderThatIsASymbolicLinkIsLeftOut(t *testing.T) {
	home := resolved(t.TempDir())
	in := func(path string) string { return filepath.Join(home, path) }
	for _, dir := range []string{".ssh", ".cache/uv", "projects/pip", "real/_npx", "tmp"} {
		require.NoError(t, os.MkdirAll(in(dir), 0o755))
	}
	for link, to := range map[string]string{".cache/pip": ".ssh", ".npm": "real", "go": "projects", "tmp/mine": "projects"} {
		if err := os.Symlink(in(to), in(link)); err != nil {
			t.Skipf("this account may not create symbolic links (Windows): %v", err)
		}
	}
	t.Setenv("TMPDIR", in("tmp/mine"))
	r := RulesFor(Program{Home: home, Path: "/usr/bin/true", Write: []string{"~/real"}})
	for path, want := range map[string]bool{".ssh/id": false, "projects/pkg/x": false, "projects/x": false, ".cache/uv/x": true, "real/_npx": true} {
		assert.Equal(t, want, r.MayWrite(in(path)), path)
	}
	assert.False(t, r.MayRead(in(".ssh/id")), "the key may be read")
	assert.Len(t, r.Ignored, 4)
	assert.Contains(t, strings.Join(r.Ignored, "\n"), in(".npm")+" is a symbolic link")
}

func TestOwnPathThatLeadsToAPrivateOneIsIgnored(t *testing.T) {
	home := resolved(t.TempDir())
	in := func(path string) string { return filepath.Join(home, path) }
	for _, dir := range []string{".ssh", "cloud/aws"} {
		require.NoError(t, os.MkdirAll(in(dir), 0o755))
	}
	linked := resolved(t.TempDir()) + "/home"
	for link, to := range map[string]string{in("data"): in(".ssh"), in(".aws"): in("cloud/aws"), linked: home} {
		if err := os.Symlink(to, link); err != nil {
			t.Skipf("this account may not create symbolic links (Windows): %v", err)
		}
	}
	t.Setenv("TMPDIR", in("none"))
	for given, allowed := range map[string]string{"~/data": "", "~/.aws": "cloud/aws", "~/.ssh": ".ssh", linked + "/.ssh": ".ssh"} {
		r := RulesFor(Program{Home: linked, Path: "/usr/bin/true", Read: []string{given}})
		for _, path := range []string{".ssh", "cloud/aws"} {
			assert.Equalf(t, path == allowed, r.MayRead(in(path+"/x")), "%v %v", given, r.Ignored)
		}
		assert.Equalf(t, len(r.Ignored) > 0, allowed == "", "read %s", given)
	}
}

// A configuration file in the working directory, or in the folder for temporary files, is a usual
// cause.
func TestFolderInWhichNoFileCanBeCreatedCausesAWarning(t *testing.T) {
	home, project, temporary := resolved(t.TempDir()), resolved(t.TempDir()), resolved(t.TempDir())
	t.Setenv("TMPDIR", temporary)
	own := filepath.Join(project, "drawbridge.jsonc")
	require.NoError(t, os.WriteFile(own, nil, 0o600))
	const text = "does not let it create files directly in "
	for _, c := range []struct {
		program Program
		folder  string // of the warning
	}{
		{Program{Dir: project, Private: []string{filepath.Join(project, "missing"), own}}, project},
		{Program{Args: []string{project}, Private: []string{own}}, project},
		{Program{Write: []string{project}, Private: []string{own}}, project},
		{Program{Private: []string{filepath.Join(temporary, "config.jsonc")}}, temporary},
		{Program{Dir: project, Private: []string{project}}, ""}, // it may not write there at all
		{Program{Dir: project}, ""},
		{Program{Read: []string{project}, Private: []string{own}}, ""},
	} {
		c.program.Home, c.program.Path = home, "/usr/bin/true"
		ignored := strings.Join(RulesFor(c.program).Ignored, "\n")
		if c.folder == "" && strings.Contains(ignored, text+project) || c.folder != "" && !strings.Contains(ignored, text+c.folder+", because this folder contains "+c.program.Private[len(c.program.Private)-1]) {
			t.Errorf("%+v: %q", c.program, ignored)
		}
	}
}

func TestTokensOfEditorsAndKeysOfDevicesArePrivate(t *testing.T) {
	home := resolved(t.TempDir())
	for _, path := range []string{".android/adbkey", ".config/Code/User/globalStorage/state.vscdb"} {
		assert.NotEmpty(t, DenyAllRules(home, nil, nil).PrivatePath(filepath.Join(home, path)))
	}
}

func TestOlderKernelsAreNamedHonestly(t *testing.T) {
	for _, c := range []struct {
		version int
		rules   Rules
		enough  bool
		says    string
	}{
		{0, Rules{}, false, "Landlock"},
		{2, Rules{}, false, "truncation of files"},
		{3, Rules{}, true, "signals"},
		{3, Rules{NoNetwork: true}, true, "signals"}, // the filter refuses all sockets
		{3, Rules{NoNetwork: true, Ports: []int{443}}, false, "TCP connections to certain ports"},
		{4, Rules{NoNetwork: true}, true, "signals"},
		{6, Rules{NoNetwork: true}, true, ""},
	} {
		missing, enough := unsupported(c.version, c.rules)
		if all := strings.Join(missing, "; "); enough != c.enough || !strings.Contains(all, c.says) || (c.says == "") != (all == "") {
			t.Errorf("version %d, %+v: enough %v, %q", c.version, c.rules, enough, missing)
		}
	}
}

func TestPathsThatTheEnvironmentMovesArePrivate(t *testing.T) {
	t.Setenv("TMPDIR", "/scratch")
	env := map[string]string{"XDG_CONFIG_HOME": "/data/config", "KUBECONFIG": "/data/a:/data/b", "XAUTHORITY": "/tmp/xauth", "NETRC": "netrc", "HISTFILE": "/scratch/h", "GNUPGHOME": "/"}
	paths := MovedPrivatePaths(func(name string) string { return env[name] })
	for _, want := range []string{"/data/config/gh", "/data/config/git/credentials", "/data/a", "/data/b"} {
		assert.Contains(t, paths, want)
	}
	for _, path := range paths {
		assert.Truef(t, strings.HasPrefix(path, "/data/") && path != "/data/config", "%s is private", path)
	}
}

func TestOnlyHarmlessPathsAreOffered(t *testing.T) {
	home := resolved(t.TempDir())
	in := func(path string) string { return filepath.Join(home, path) }
	for _, dir := range []string{".ssh", ".config/autostart", ".local/bin", ".local/share/nvim", "notes/deep", "moved/aws", "data/conf"} {
		require.NoError(t, os.MkdirAll(in(dir), 0o755))
	}
	for _, file := range []string{".bashrc", ".ssh/id", "data/token"} {
		require.NoError(t, os.WriteFile(in(file), nil, 0o600))
	}
	t.Setenv("TMPDIR", in("none"))
	r := RulesFor(Program{Home: home, Path: "/usr/bin/true", Private: []string{in("data"), in("moved/aws")}})
	for path, want := range map[string]struct{ reading, writing string }{
		".ssh/id": {}, ".ssh/missing": {}, ".ssh": {}, "data/token": {}, "data/missing": {}, "data/conf/missing": {}, "moved": {}, "moved/missing": {}, "moved/aws/x": {},
		"": {}, "missing": {}, ".config/missing": {}, "/missing": {}, "/": {},
		".bashrc": {".bashrc", ""}, ".local/bin/missing": {".local/bin", ""}, ".local/missing": {}, ".config/autostart/x": {".config/autostart", ""}, ".local/share/nvim/x.lua": {".local/share/nvim", ""},
		"notes/new": {"notes", "notes"}, "notes/none/of/these": {"notes", "notes"}, "none/of/these": {}, ".ssh/none/of/these": {}, "notes/deep": {"notes/deep", "notes/deep"},
	} {
		if !strings.HasPrefix(path, "/") {
			path = in(path)
		}
		for unreadable, want := range map[bool]string{true: want.reading, false: want.writing} {
			if want != "" {
				want = in(want)
			}
			if got := (Refusal{Path: path, Unreadable: unreadable}).WithAllow(r, home); got.Allow != want || (want == "") != (got.Remark != "") {
				t.Errorf("%s, unreadable %v: offered %q, %q", path, unreadable, got.Allow, got.Remark)
			}
		}
	}
}

// What the server names is never behind the limit of those who show the list.
func TestAccessListsAllPathsAndThoseOfArgumentsFirst(t *testing.T) {
	folder := resolved(t.TempDir())
	r := Rules{Write: []string{folder}}
	for i := range 120 {
		r.Write = append(r.Write, fmt.Sprintf("/a/%d", i))
	}
	if list := r.Access(t.TempDir(), []string{"-x", folder}).Write; len(list) != len(r.Write) || list[0] != folder {
		t.Errorf("%d paths, first %s", len(list), list[0])
	}
}

func TestProtectionsFollowVersion(t *testing.T) {
	enforced := func(version int) (n int) {
		for _, p := range protections(version, true) {
			assert.NotEmptyf(t, p.Requires, "%s: nothing is said about what it requires", p.Name)
			if p.Enforced {
				n++
			}
		}
		return n
	}
	var got []int
	for version := range 7 {
		got = append(got, enforced(version))
	}
	want := []int{0, 5, 5, 6, 7, 8, 9}
	assert.Equal(t, want, got, "enforced by version")
}
