package dial

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestRefusalInStderrNamesPathAndAccess(t *testing.T) {
	rules := sandbox.Rules{Read: []string{"/usr", "/home/me/documents"}, Write: []string{"/home/me/notes"}}
	for line, want := range map[string]string{
		"Error: EACCES: permission denied, open '/home/me/.config/gh/hosts.yml'":                  "/home/me/.config/gh/hosts.yml true",
		"cat: /home/me/.ssh/id: Permission denied":                                                "/home/me/.ssh/id true",
		"PermissionError: [Errno 13] Permission denied: '/home/me/documents/a b.txt'":             "/home/me/documents/a",
		"open /home/me/documents/x: permission denied":                                            "/home/me/documents/x false",
		"cat: /home/me/notes/locked: Permission denied":                                           "", // by its own permissions
		"remote: Permission denied (publickey).":                                                  "",
		strings.Repeat("x", 2*maxRefusalLine) + " cat: /home/me/.ssh/id: Permission denied":       "",
		"EACCES " + strings.Repeat("'", 3000) + " permission denied":                              "",
		"npm error EPERM: operation not permitted, unlink '/usr/lib/node_modules/x'\nsecond line": "/usr/lib/node_modules/x false",
	} {
		var told []string
		r := &refusalDetector{rules: rules, report: func(one sandbox.Refusal) { told = append(told, fmt.Sprint(one.Path, " ", one.Unreadable)) }}
		for _, part := range []string{line[:len(line)/2], line[len(line)/2:], "\n", line, "\n"} { // split, and twice
			fmt.Fprint(r, part)
		}
		if all := strings.Join(told, "\n"); (want == "") != (len(told) == 0) || len(told) > 1 || !strings.Contains(all, want) {
			t.Errorf("%.80s: %q", line, told)
		}
	}
}

func TestSandboxWrapsProgramAndRejectsContainers(t *testing.T) {
	logs := serverlog.Open("")
	private := filepath.Join(t.TempDir(), "private")
	d := &Dialer{Logs: logs, Log: slog.New(slog.DiscardHandler), Private: func() []string { return []string{private} }}
	c := &config.Server{ID: "a", Sandbox: config.Sandbox{On: true, BestEffort: true}}
	err := d.confine(c, &process.Spec{Path: "/usr/bin/docker", Args: []string{"run", "x"}}, &startedProcess{})
	if err == nil || !strings.Contains(err.Error(), "cannot confine a container") {
		t.Errorf("docker: %v", err)
	}
	spec := process.Spec{Path: "/bin/ true", Args: []string{"one"}, Stderr: os.Stderr}
	if err := d.confine(c, &spec, &startedProcess{}); err != nil {
		t.Fatal(err)
	}
	if rules, ok := d.SandboxRules("a"); !ok || rules.MayRead(private) {
		t.Errorf("a private file may be read: %v", ok)
	}
	if confined := filepath.Base(spec.Path) != "true"; confined != sandbox.Available() {
		t.Errorf("started as %s %q", spec.Path, spec.Args)
	}
	c.Sandbox.On = false
	if spec = (process.Spec{Path: "/bin/ true"}); d.confine(c, &spec, &startedProcess{}) != nil || spec.Path != "/bin/ true" {
		t.Errorf("without a sandbox: %s", spec.Path)
	}
}
