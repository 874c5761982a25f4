//go:build !windows

// The paths are those of Unix; argument_rules_windows_test.go has those of Windows.

package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pathFixture makes folders and links below a new folder, and makes its home the home folder.
func pathFixture(t *testing.T, folders []string, links map[string]string) *strings.Replacer {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", root+"/home")
	for _, dir := range append(folders, "home/secret", "home/proj") {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for link, target := range links {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	for _, file := range []string{"server.js", "proj/data.db"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	return strings.NewReplacer("ROOT", root)
}

// Servers resolve relative paths against folders of their own, which their entry names.
func TestRelativePathsCountInEveryFolderOfTheServer(t *testing.T) {
	replace := pathFixture(t, []string{"proj/ok", "proj/secret", "other", "ws"}, nil)
	const underSecret = `{"any": [{"/path": {"under": "ROOT/proj/secret"}}, {"/paths/*": {"under": "ROOT/proj/secret"}}]}`
	const relative = `
		{"path":"secret/key"}
		{"path":"./secret"}
		{"path":"x/../secret/key"}
		{"path":"ok/../secret/key"}
		{"path":"%73ecret/key"}
		{"path":"%73ecret/odd%zz"}
		{"path":"secre%74/100%"}
		{"paths":["a","secret/key"]}
	`
	const inOther = `, "cwd": "ROOT/other"`
	for _, server := range []string{
		`, "args": ["ROOT/server.js", "ROOT/proj"]`,
		inOther + `, "args": ["ROOT/server.js", "ROOT/proj"]`,
		inOther + `, "args": ["--root=ROOT/proj/"]`,
		inOther + `, "args": ["ROOT/other:ROOT/proj"]`,
		inOther + `, "args": ["{\"dirs\":[\"ROOT/proj\"]}"]`,
		inOther + `, "args": ["file://ROOT/proj"]`,
		inOther + `, "args": ["ROOT/proj/data.db"]`,
		inOther + `, "args": ["ROOT/proj/none"]`,
		inOther + `, "args": ["${workspaceFolder}"]`,
		inOther + `, "args": ["${workspaceFolder}/../proj"]`,
		inOther + `, "args": ["${HOME}/../proj"]`,
		inOther + `, "args": ["~/../proj"]`,
		inOther + `, "args": ["${NOT_SET_HERE}/a"]`,
		inOther + `, "env": {"ALLOWED": "ROOT/other,ROOT/proj"}`,
		inOther + `, "env": {"DB": "sqlite://ROOT/proj/data.db"}`,
		inOther + `, "accounts": {"work": {"env": {"DIR": "ROOT/proj"}}}`,
		`, "cwd": "ROOT", "args": ["server.js", "proj"]`,
		`, "cwd": "ROOT", "args": ["--root=./proj/"]`,
		`, "cwd": "ROOT/ws", "args": ["../proj/data.db"]`,
		`, "cwd": "ROOT", "env": {"DIRS": "none:proj"}`,
	} {
		argumentCases{server: server, where: underSecret, denied: relative, passed: `
			{"path":"ROOT/ok"}
		`}.run(t, replace, "")
	}
	argumentCases{server: inOther + `, "args": ["ROOT/server.js", "https://example.com/proj"], "env": {"TOKEN": "${secret:token}", "URL": "https://${X}"}`, where: underSecret, passed: relative}.run(t, replace, "")
	argumentCases{server: `, "args": ["ROOT/server.js", "ROOT/proj"]`, where: underSecret, denied: `
		{"path":"/secret"}
		{"path":"//secret"}
		{"path":"/secret/new"}
		{"path":"ROOT/proj/secret#x"}
		{"path":"ROOT/proj/secret?x"}
	`, passed: `
		{"path":"ROOT/proj/sec#ret"}
		{"path":"/ok/new"}
		{"path":"/"}
	`}.run(t, replace, "")
	argumentCases{server: inOther, where: `{"/path": {"under": "ROOT/proj/with space"}}`, denied: `{"path":"ROOT/proj/with+space/x"}`, passed: `{"path":"ROOT/proj/without+space"}`}.run(t, replace, "")
	argumentCases{server: inOther, where: `{"/path": {"under": "~/secret"}}`, denied: `{"path":"secret/key"}`, passed: `{"path":"ok/key"}`}.run(t, replace, "")

	// An allow rule applies only if the path is in its folder for all of these.
	const workspace = "/ws"
	for _, c := range []argumentCases{
		{denied: `{"path":".bashrc"}`, passed: `{"path":"ROOT/ws/a"}`},
		{server: `, "args": ["ROOT/proj"]`, denied: `{"path":".bashrc"}`, passed: `{"path":"ROOT/ws/a"}`},
		{server: `, "cwd": "${workspaceFolder}", "args": ["ROOT/proj"]`, denied: `{"path":".bashrc"}`},
		{server: `, "cwd": "${workspaceFolder}", "env": {"DIR": "ROOT/proj"}`, denied: `{"path":".bashrc"}`},
		{server: `, "cwd": "${workspaceFolder}", "args": ["ROOT/server.js", "${workspaceFolder}"], "env": {"PATH": "ROOT/proj"}`, passed: `{"path":"src/a"}`},
	} {
		c.where = `{"/path": {"notUnder": "${workspaceFolder}"}}`
		c.run(t, replace, replace.Replace("ROOT"+workspace))
	}
}

// A server may ask the client for its roots, and resolve relative paths against each of them.
func TestRelativePathsCountInEveryRootOfTheClient(t *testing.T) {
	replace := pathFixture(t, []string{"proj/secret", "other", "ws"}, nil)
	s := withRules(t, replace.Replace(`, "cwd": "ROOT/other"`), replace.Replace(`"policy": {"rules": [
		{"tool": "files__put", "where": {"/path": {"under": "ROOT/proj/secret"}}, "then": "deny"}]}, `), Options{})
	made := call("put", `{"path":"secret/key"}`)
	made.Workspace, made.OtherRoots = replace.Replace("ROOT/ws"), []string{replace.Replace("ROOT/other"), replace.Replace("ROOT/proj")}
	_, err := s.make(made, "{}", nil)
	assert.Equal(t, core.CodeRejected, core.CodeOf(err), "a path in the third root")
	if !s.WantsWorkspace(made) || s.WantsWorkspace(call("get", `{}`)) {
		t.Error("the client must be asked for its folders on calls to which a rule about paths may apply, and only then")
	}
}

// A bind mount is another name of a folder, without a link that could be read.
func TestFolderUnderAnotherNameCounts(t *testing.T) {
	replace := pathFixture(t, []string{"proj/secret/deep", "other/secret"}, map[string]string{"mounted": "proj/secret"})
	e := evaluation{}
	for path, want := range map[string]bool{
		"ROOT/proj/secret": true, "ROOT/proj/secret/deep/none/a": true, "ROOT/proj": false, "ROOT/other/secret/a": false, "/": false,
	} {
		assert.Equal(t, want, e.isInSameFolder(replace.Replace("ROOT/mounted"), replace.Replace(path)), path)
	}
	assert.False(t, e.isInSameFolder(replace.Replace("ROOT/none"), replace.Replace("ROOT/none/a")), "a folder that does not exist has no other name")
}

// No arguments keep the processor busy for long: beyond a number of lookups, they are ambiguous.
func TestLookupsOfPathsAreBounded(t *testing.T) {
	replace := pathFixture(t, []string{"proj/secret", "big"}, nil)
	big := replace.Replace("ROOT/big/")
	for i := range 3000 {
		require.NoError(t, os.WriteFile(big+strconv.Itoa(i), nil, 0o600))
	}
	rules := NewArgumentRules([]config.ArgumentRule{}, config.Default())
	for name, path := range map[string]string{
		"many parts": replace.Replace("ROOT/proj/") + "%d/.." + strings.Repeat("/secret/..", 700), "names to compare": big + "%d/../" + strings.Repeat("K/../", 800),
	} {
		e := evaluation{server: rules.prepare(call("put", `{}`)), call: call("put", `{}`)}
		e.server.paths = pathSettings{local: true, launched: true}
		paths := make([]string, 200)
		for i := range paths {
			paths[i] = strings.ReplaceAll(path, "%d", strconv.Itoa(i))
		}
		var last truth
		for _, p := range paths {
			last = e.testUnder(reading{text: p, kind: readText}, []string{replace.Replace("ROOT/proj/secret")})
		}
		if e.lookups > maxLookups+4*maxEquivalentNames+10*len(paths)*maxPathForms || last != unknown {
			t.Errorf("%s: %d lookups, then %v", name, e.lookups, last)
		}
	}
}

// Servers look for a name in other Unicode normal forms, too, and follow the links that they find.
func TestEquivalentNamesCount(t *testing.T) {
	replace := pathFixture(t, []string{"proj/Keys", "proj/ok", "proj/secret", "proj/\u212aong"}, map[string]string{
		"proj/ok/l\u00e9": "../secret", "proj/ok/e\u0301t\u00e9": "../secret", "proj/ok/\u212aink": "../secret",
	})
	for _, c := range []argumentCases{
		{where: `{"/path": {"under": ["ROOT/proj/secret", "ROOT/proj/Keys", "ROOT/proj/\u212aong"]}}`, denied: `
			{"path":"ROOT/proj/\u212aeys/id"}
			{"path":"\u212aeys/id"}
			{"path":"ROOT/proj/Kong/id"}
			{"path":"ROOT/proj/%E2%84%AAeys/id"}
			{"path":"ROOT/proj/ok/l\u00e9/key"}
			{"path":"ROOT/proj/ok/le\u0301/key"}
			{"path":"ROOT/proj/ok/\u00e9t\u00e9/key"}
			{"path":"ROOT/proj/ok/e\u0301te\u0301/key"}
			{"path":"ROOT/proj/ok/Kink/key"}
		`, passed: `
			{"path":"ROOT/proj/ok/le/key"}
			{"path":"ROOT/proj/ok/\u00e9/key"}
			{"path":"ROOT/proj/keys/id"}
			{"path":"ROOT/proj/ok/K"}
		`},
		{where: `{"/path": {"notUnder": "ROOT/proj/ok"}}`, denied: `
			{"path":"ROOT/proj/ok/le\u0301/new"}
			{"path":"ROOT/proj/ok/Kink/new"}
		`, passed: `
			{"path":"ROOT/proj/ok/\u00e9/new"}
			{"path":"ROOT/proj/ok/K/new"}
		`},
	} {
		c.server = `, "cwd": "ROOT/proj"`
		c.run(t, replace, "")
	}
}

// A shell that expands wildcards finds links.
func TestWildcardsCountAsWhatTheyMatch(t *testing.T) {
	replace := pathFixture(t, []string{"proj/ok/sub", "proj/secret"}, map[string]string{"proj/ok/lnk": "../secret", "proj/ok/sub/deep": "../..", "proj/ok/alias": ".."})
	for _, c := range []argumentCases{
		{where: `{"/path": {"under": ["ROOT/proj/secret", "ROOT/proj/none"]}}`, denied: `
			{"path":"ROOT/proj/ok/ln?/key"}
			{"path":"ROOT/proj/ok/l*/key"}
			{"path":"ROOT/proj/ok/{a,lnk}/key"}
			{"path":"ROOT/proj/ok/[a-z]nk/key"}
			{"path":"ROOT/proj/ok/@(lnk)/key"}
			{"path":"ROOT/proj/ok/*/deep/secre?"}
			{"path":"ROOT/proj/ok/sub/dee?/secret/key"}
			{"path":"ROOT/proj/ok/alias/n?ne"}
			{"path":"[m-o]one/x"}
			{"path":"S*/key"}
			{"path":"*/key"}
			{"path":"{a,secret}/key"}
			{"path":"ok/**/key"}
			{"path":"ok/ln?/key"}
		`, passed: `
			{"path":"ROOT/proj/ok/x?/key"}
			{"path":"[id].tsx"}
			{"path":"a [1].txt"}
			{"path":"index.html?v=1"}
			{"path":"ROOT/proj/ok/[id]/page.tsx"}
			{"path":"ROOT/proj/ok/sub/dee?/ok/key"}
		`},
		{where: `{"/path": {"notUnder": "ROOT/proj/ok"}}`, denied: `
			{"path":"ROOT/proj/ok/ln?/key"}
			{"path":"ROOT/proj/ok/**/key"}
		`, passed: `
			{"path":"ROOT/proj/ok/s?b/key"}
			{"path":"ROOT/proj/ok/sub/[id].tsx"}
		`},
	} {
		c.server = `, "cwd": "ROOT/proj"`
		c.run(t, replace, "")
	}
}

// A container and another machine have other files, also if a command starts the server there.
func TestCommandsThatRunElsewhereHaveOtherFiles(t *testing.T) {
	replace := pathFixture(t, []string{"proj/ok", "proj/secret"}, map[string]string{"proj/ok/lnk": "../secret"})
	for _, command := range []string{
		`"docker", "args": ["run", "-i", "-w", "/projects", "image", "/projects"]`,
		`"/usr/bin/podman", "args": ["exec", "-i", "box", "server"]`,
		`"ssh", "args": ["host", "server"]`,
		`"sudo", "args": ["-n", "docker", "run", "image"]`,
		`"sh", "args": ["-c", "cd /tmp && exec docker run image"]`,
		`"wsl.exe", "args": ["server"]`,
	} {
		server := `, "cwd": "ROOT/proj/ok", "command": ` + command
		argumentCases{server: server, where: `{"/path": {"under": ["/projects/secret", "ROOT/proj/secret"]}}`, denied: `
			{"path":"/projects/secret/key"}
			{"path":"a"}
			{"path":"~/a"}
			{"path":"ROOT/proj/ok/lnk/key"}
			{"path":"ROOT/proj/ok/ln?/key"}
		`, passed: `
			{"path":"/projects/ok"}
		`}.run(t, replace, "")
		argumentCases{server: server, where: `{"/path": {"notUnder": "ROOT/proj"}}`, denied: `
			{"path":"a"}
			{"path":"~/a"}
		`, passed: `
			{"path":"ROOT/proj/ok/a"}
		`}.run(t, replace, "")
	}
	if runsElsewhere("python3", []string{"/opt/docker/server.py", "docker"}) || runsElsewhere("bash", []string{"-c", "exec server --docker"}) {
		t.Error("a server on this machine counts as one elsewhere")
	}
}

func TestBasesOfRelativePathsAreBounded(t *testing.T) {
	c := &config.Server{Type: "stdio", Command: "x"}
	for range maxPathBases {
		c.Args = append(c.Args, "/"+strings.Repeat("a", 1+len(c.Args)))
	}
	s := compilePathSettings(c)
	assert.Truef(t, len(s.named) == maxPathBases && !s.namedUnknown, "%v %v", len(s.named), s.namedUnknown)
	c.Args = append(c.Args, "/b", "/a")
	s = compilePathSettings(c)
	assert.Truef(t, len(s.named) == maxPathBases && s.namedUnknown && !slices.Contains(s.named, "/b"), "%v %v", len(s.named), s.namedUnknown)
}
