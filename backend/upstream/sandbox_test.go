package upstream

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notInSystem stands for the permissions of files.
func notInSystem(path string) bool { return !strings.HasPrefix(path, "/usr/") }

func TestRefusalInStderrNamesPathAndAccess(t *testing.T) {
	rules := sandbox.Rules{Read: []string{"/usr", "/home/me/documents"}, Write: []string{"/home/me/notes"}}
	for line, want := range map[string]string{
		"Error: EACCES: permission denied, open '/home/me/.config/gh/hosts.yml'":                                  "/home/me/.config/gh/hosts.yml true",
		"cat: /home/me/.ssh/id: Permission denied":                                                                "/home/me/.ssh/id true",
		"PermissionError: [Errno 13] Permission denied: '/home/me/documents/a b.txt'":                             "/home/me/documents/a b.txt false",
		"Error: EACCES: permission denied, open '/p/My Files/a.txt'":                                              "/p/My Files/a.txt true",
		"EACCES: permission denied, open '/p/it's/dogs' food.txt'":                                                "/p/it's/dogs' food.txt true",
		"EACCES: permission denied, open '/p/a'. Try 'sudo x'":                                                    "/p/a true",
		"EACCES: permission denied, rename '/home/me/notes/a b' -> '/p/c d'":                                      "/p/c d true",
		`PermissionError: [Errno 13] Permission denied: "/p/it's a.txt"`:                                          "/p/it's a.txt true",
		`PermissionError: [Errno 13] Permission denied: '/p/it\'s "a".txt'`:                                       `/p/it's "a".txt true`,
		`{"level":50,"err":{"message":"EACCES: permission denied, open '/p/My \"F\"/a.txt'\n    at x (/usr/y)"}}`: `/p/My "F"/a.txt true`,
		`{"msg":"[Errno 13] Permission denied: '/p/\u00fcber a'"}`:                                                "/p/über a true",
		`2026-11-26 ERROR {"msg":"open /p/My Files/a: permission denied"}`:                                        "/p/My Files/a true",
		"cat: '/p/My Files/a': Permission denied":                                                                 "/p/My Files/a true",
		"mkdir: cannot create directory ‘/p/My Files’: Permission denied":                                         "/p/My Files true",
		"sh: 1: cannot create /p/My Files/a: Permission denied":                                                   "/p/My Files/a true",
		"2026/11/26 10:00:00 cannot load: open /p/My Files/a: permission denied":                                  "/p/My Files/a true",
		"rename /home/me/notes/a /p/b: permission denied":                                                         "/p/b true",
		"Permission denied: /p/a while reading":                                                                   "/p/a true",
		"open /home/me/documents/x: permission denied":                                                            "/home/me/documents/x false",
		"cat: /home/me/notes/locked: Permission denied":                                                           "", // by its own permissions
		"remote: Permission denied (publickey).":                                                                  "",
		strings.Repeat("x", 2*maxRefusalLine) + " cat: /home/me/.ssh/id: Permission denied":                       "",
		"EACCES " + strings.Repeat("'", 3000) + " permission denied":                                              "",
		"npm error EPERM: operation not permitted, unlink '/home/me/documents/x'\nsecond line":                    "/home/me/documents/x false",
		"open /usr/share/x: permission denied":                                                                    "", // by its own permissions, which are as strict
	} {
		var told []string
		r := &refusalDetector{rules: rules, userMayWrite: notInSystem, report: func(one sandbox.Refusal) { told = append(told, fmt.Sprint(one.Path, " ", one.Unreadable)) }}
		for _, part := range []string{line[:len(line)/2], line[len(line)/2:], "\n"} {
			fmt.Fprint(r, part)
		}
		all := strings.Join(told, "\n")
		assert.Truef(t, (want == "") == (len(told) == 0) && len(told) <= 1 && all == want, "%.80s: %q", line, told)
	}
}

func TestRefusalInFailedResultIsReported(t *testing.T) {
	rules := sandbox.Rules{Read: []string{"/"}, Write: []string{"/home/me/notes"}}
	const text = `"content":[{"type":"text","text":"Error: EACCES: permission denied, open '/home/me/My Files/a.txt'"}]`
	for name, c := range map[string]struct {
		reply core.Reply
		want  string
	}{
		"failed tool":   {core.Reply{Result: []byte(`{` + text + `,"isError":true}`)}, "/home/me/My Files/a.txt"},
		"error":         {core.Reply{Error: []byte(`{"code":-32603,"message":"open /home/me/x: permission denied"}`)}, "/home/me/x"},
		"nested JSON":   {core.Reply{Result: []byte(`{"content":[{"type":"text","text":"{\"error\":\"[Errno 13] Permission denied: '/home/me/x'\"}"}],"isError":true}`)}, "/home/me/x"},
		"allowed path":  {core.Reply{Result: []byte(`{"content":[{"type":"text","text":"cat: /home/me/notes/x: Permission denied"}],"isError":true}`)}, ""},
		"not an error":  {core.Reply{Result: []byte(`{` + text + `,"isError":false}`)}, ""},
		"quoted":        {core.Reply{Result: []byte(`{` + text + `}`)}, ""},
		"another error": {core.Reply{Error: []byte(`{"code":-32603,"message":"no such file: '/home/me/x'"}`)}, ""},
		"too long":      {core.Reply{Result: []byte(`{` + text + `,"isError":true,"x":"` + strings.Repeat("x", maxRefusalReply) + `"}`)}, ""},
	} {
		var told []string
		r := &refusalDetector{rules: rules, userMayWrite: notInSystem, report: func(one sandbox.Refusal) { told = append(told, one.Path) }}
		r.readReply(c.reply)
		assert.Equal(t, c.want, strings.Join(told, "\n"), name)
	}
}

func TestFloodOfRefusalsDoesNotHidePrivateFiles(t *testing.T) {
	d := &Dialer{}
	d.sandboxes.setRules("a", sandbox.Rules{Private: []string{"/home/me/.ssh"}})
	add := func(path string) bool { return d.sandboxes.addRefusal("a", sandbox.Refusal{Path: path}) }
	for i := range maxRefusals + 5 {
		add(fmt.Sprintf("/decoy/%d", i))
	}
	assert.True(t, !add("/decoy/0") && add("/home/me/.ssh/id") && !add("/home/me/.ssh/id"), "a repeated path is new, or a private one is not")
	list, more := d.SandboxRefusals("a")
	assert.Truef(t, len(list) == maxRefusals+1 && list[maxRefusals].Path == "/home/me/.ssh/id" && more == 5, "%d more than %v", more, list)
	for i := range 2 * maxRefused {
		add(fmt.Sprintf("/home/me/.ssh/%d", i))
	}
	if list, more = d.SandboxRefusals("a"); len(list) != maxRefusals+1 || more > maxRefused {
		t.Errorf("no limit: %d, and %d more", len(list), more)
	}
}

func TestRefusalSaysWhatToAddToTheConfigurationUnlessItIsProtected(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	notes := filepath.Join(home, "notes")
	require.NoError(t, os.Mkdir(notes, 0o755))
	if runtime.GOOS == "windows" {
		return // nothing is refused without a sandbox
	}
	rules := sandbox.Rules{Private: []string{filepath.Join(home, ".ssh")}}
	for path, want := range map[string]string{
		".ssh/id": "which is private", "notes": "To allow it, add it to this server's sandbox.read or", "notes/none/new": "To allow it, add " + notes + " to this server's sandbox.read or",
	} {
		one := sandbox.Refusal{Path: filepath.Join(home, path), Unreadable: true}
		text := refusalText(one.WithAllow(rules, home))
		assert.Truef(t, strings.Contains(text, want) && strings.Contains(text, "To allow it") == strings.HasPrefix(want, "To allow it"), "%s: %s", path, text)
	}
}

func TestSandboxWrapsProgramAndRejectsContainers(t *testing.T) {
	logs := serverlog.Open("", nil)
	private := filepath.Join(t.TempDir(), "private")
	d := &Dialer{Logs: logs, Log: slog.New(slog.DiscardHandler), PrivatePaths: func() []string { return []string{private} }}
	c := &config.Server{ID: "a", Sandbox: config.Sandbox{On: true, BestEffort: true}}
	_, err := d.confine(c, &process.Spec{Path: "/usr/bin/docker", Args: []string{"run", "x"}}, &startedProcess{})
	assert.ErrorContains(t, err, "cannot confine a container")
	spec := process.Spec{Path: "/bin/ true", Args: []string{"one"}, Stderr: os.Stderr}
	confined, err := d.confine(c, &spec, &startedProcess{})
	require.NoError(t, err)
	if spec.Inherit != nil {
		_ = spec.Inherit.Close() // the process has ended before it received its rules
	}
	assert.NoError(t, confined())
	if runtime.GOOS == "windows" {
		return // programs are never confined there
	}
	rules, ok := d.SandboxRules("a")
	assert.Truef(t, ok && !rules.MayRead(private), "a private file may be read: %v", ok)
	wrapped := filepath.Base(spec.Path) != "true"
	assert.Equalf(t, sandbox.Available(), wrapped, "started as %s %q", spec.Path, spec.Args)
	c.Sandbox.On = false
	spec = process.Spec{Path: "/bin/ true"}
	_, err = d.confine(c, &spec, &startedProcess{})
	assert.Truef(t, err == nil && spec.Path == "/bin/ true", "without a sandbox: %s, %v", spec.Path, err)
}
