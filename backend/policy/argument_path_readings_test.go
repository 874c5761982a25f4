//go:build !windows

// The paths are those of Unix; argument_rules_windows_test.go has those of Windows.

package policy

import (
	"strings"
	"testing"
)

// A server may parse a URL, cut off its prefix, or take it as the name of a file in its working
// folder. A deny rule applies if one of these readings is in its folder, an allow rule only if all
// are.
func TestEveryReadingOfAURLCounts(t *testing.T) {
	replace := pathFixture(t, []string{"proj/ok", "proj/secret"}, nil)
	const inProject = `, "cwd": "ROOT/proj"`
	for _, c := range []argumentCases{
		{server: inProject, where: `{"/path": {"under": "ROOT/proj/secret"}}`, denied: `
			{"path":"file:/../secret/key"}
			{"path":"FILE:/../secret/key"}
			{"path":"file:///../secret/key"}
			{"path":"File://x/../../secret/key"}
			{"path":"file://xROOT/proj/secret/key"}
			{"path":"file://127.0.0.1ROOT/proj/secret/key"}
			{"path":"file://user@localhostROOT/proj/secret/key"}
			{"path":"file:secret/key"}
			{"path":"file:./secret/key"}
			{"path":"file://secret/key"}
			{"path":"file:///secret/key"}
			{"path":"file:..\\secret\\key"}
			{"path":"FILE:\\..\\secret\\key"}
			{"path":"file:/%2e%2e/secret/key"}
			{"path":"file%3a/../secret/key"}
			{"path":" file:/../secret/key"}
			{"path":"\u0001file://ROOT/proj/secret/key"}
			{"path":"fi\nle://ROOT/proj/secret/key"}
			{"path":"file://ROOT/proj/.\t./proj/secret/key"}
			{"path":"file://ROOT/proj/secret/key#x"}
			{"path":"file://ROOT/proj/secret?/../../x"}
			{"path":"file://ROOT/proj/ok/x#/../../secret/key"}
			{"path":"file://ROOT/proj/ok/x?/../../secret/key"}
			{"path":"file://ROOT/proj/ok/x%23/../../secret/key"}
			{"path":"file://ROOT/proj/ok/x?/../../secret/key#y"}
			{"path":"<file://ROOT/proj/secret/key>"}
			{"path":"<URL:file://ROOT/proj/secret/key>"}
			{"path":"url:file://ROOT/proj/secret/key"}
			{"path":"vscode://fileROOT/proj/secret/key"}
			{"path":"jar:file:ROOT/proj/secret/key!/a"}
			{"path":"view-source:file://ROOT/proj/secret/key"}
			{"path":"sqlite:secret/key"}
			{"path":"https:/../secret/key"}
			{"path":"https://x/../../secret/key"}
			{"path":"note:/../secret/key"}
		`, passed: `
			{"path":"file://ROOT/proj/ok/x"}
			{"path":"file://ROOT/proj/ok/x#y"}

			{"path":"https://example.com/secret/key"}
			{"path":"http://example.com/a?b#c"}
			{"path":"note: hello"}
			{"path":"12:30/a"}
			{"path":"ok/a:b"}
		`},
		{server: inProject, where: `{"/path": {"notUnder": "ROOT/proj/ok"}}`, denied: `
			{"path":"file://ROOT/proj/ok/x#/../../../own.txt"}
			{"path":"file:///ROOT/proj/ok/x?/../../../own.txt"}
			{"path":"file://ROOT/proj/ok/x%3f/../../../own.txt"}
			{"path":"file://ROOT/proj/ok/x"}
		`, passed: `
			{"path":"ROOT/proj/ok/x#y"}
		`},
		{server: inProject, where: `{"/path": {"notUnder": "ROOT/proj"}}`, denied: `
			{"path":"file:/../../own.txt"}
			{"path":"file://ROOT/proj/x#/../../own.txt"}
			{"path":"FILE://ROOT/proj/x?/../../own.txt"}
			{"path":"file://ROOT/proj/../own.txt"}
			{"path":"file://ROOT/proj?/../../proj/a#/../../own.txt"}
			{"path":"vscode:a/b"}
		`, passed: `
			{"path":"file://ROOT/proj/ok/x"}
			{"path":"FILE:ROOT/proj/ok/x"}
			{"path":"file://ROOT/proj/a%20b"}
			{"path":"file://ROOT/proj/a%23b#c"}
			{"path":"note: hello"}
			{"path":"https://example.com/a"}
		`},
		{where: `{"/path": {"notUnder": "ROOT/proj"}}`, denied: `
			{"path":"file://ROOT/proj/a"}
		`},
	} {
		c.run(t, replace, replace.Replace("ROOT/proj"))
	}
}

// A shell, or a library, expands variables in a path, and ~ to the HOME of the server.
func TestVariablesInPathsAreAmbiguous(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for _, c := range []argumentCases{
		{server: `, "cwd": "/srv/proj"`, where: `{"/path": {"under": "~/secret"}}`, denied: `
			{"path":"~/secret/a"}
			{"path":"$HOME/secret"}
			{"path":" $HOME/secret"}
			{"path":"./$HOME/secret"}
			{"path":"/$HOME/secret"}
			{"path":"%24HOME/secret"}
			{"path":"/srv/proj/../../$HOME/secret"}
			{"path":"file://$HOME/secret"}
			{"path":"/srv/proj/${HOME}/secret"}
			{"path":"%24%7BHOME%7D/secret"}
			{"path":"/srv/$(echo secret)"}
			{"path":"/srv/$_x"}
			{"path":"/home/me/%EF%BC%8Fsecret"}
		`, passed: `
			{"path":"~/a"}
			{"path":"/srv/proj/$id.tsx"}
			{"path":"/srv/proj/a$"}
			{"path":"/srv/proj/5$/a$b$1"}
		`},
		{server: `, "cwd": "/srv/proj", "env": {"HOME": "/srv/home"}`, where: `{"/path": {"under": "/srv/home/secret"}}`, denied: `
			{"path":"~/secret/a"}
			{"path":" ~/secret"}
		`, passed: `
			{"path":"~/a"}
			{"path":"~"}
		`},
		{server: `, "cwd": "/srv/proj", "env": {"HOME": "/srv/home"}`, where: `{"/path": {"notUnder": ["/home/me", "/srv/proj"]}}`, denied: `
			{"path":"~/a"}
		`},
		{server: `, "cwd": "/srv/proj", "env": {"HOME": "/srv/home"}`, where: `{"/path": {"notUnder": ["/home/me", "/srv"]}}`, passed: `
			{"path":"~/a"}
		`},
		{server: `, "accounts": {"work": {"env": {"HOME": "/srv/work"}}}`, where: `{"/path": {"under": "/srv/work"}}`, denied: `
			{"path":"~/a"}
		`},
		{server: `, "env": {"HOME": "relative"}`, where: `{"/path": {"under": "/srv/work"}}`, denied: `
			{"path":"~/a"}
		`},
	} {
		c.run(t, strings.NewReplacer(), "")
	}
}
