package cli

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// visible returns the commands that help lists, by their path.
func visible() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				all[strings.TrimPrefix(sub.CommandPath(), "drawbridge ")] = sub
				visit(sub)
			}
		}
	}
	visit(New(Options{Features: features.Commands(), Env: terminal.Env{Stdout: io.Discard}}))
	return all
}

func TestRootHelpNamesEveryCommandOnOneScreen(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(lines) > 23 || slices.ContainsFunc(lines, func(l string) bool { return len(l) > 80 }) {
		t.Errorf("%d lines", len(lines))
	}
	all := visible()
	assert.Truef(t, len(all) <= 67, "%d commands", len(all))
	for name := range all {
		assert.Falsef(t, !strings.Contains(name, " ") && !regexp.MustCompile(`(?m)(^|,) +`+name+`(,|  |$)`).MatchString(screen), "%s is not in the help", name)
	}
}

func TestHelpFitsInto80Columns(t *testing.T) {
	f := newFakeDaemon(t)
	for name := range visible() {
		got := f.Run(true, append(strings.Fields(name), "--help")...)
		for line := range strings.Lines(got.Out) {
			assert.Truef(t, len([]rune(line)) <= 81, "%s: %s", name, line)
		}
		assert.Equal(t, 0, got.Code)
		assert.Contains(t, got.Out, "Usage:\n  drawbridge "+name)
	}
}

// mistakenDaemon knows a server, a client, a tool, a profile, a secret and a check.
func mistakenDaemon(t *testing.T) *fakeDaemon {
	t.Setenv("HOME", t.TempDir())
	f := newFakeDaemon(t)
	for path, items := range map[string]string{
		"servers":          `{"id":"files","label":"files","state":"running"},{"id":"my-notes","label":"my notes","state":"stopped"}`,
		"connections":      `{"id":"cursor","name":"Cursor"},{"id":"claude-code","name":"Claude Code"}`,
		"profiles":         `{"name":"office"}`,
		"secrets":          `{"name":"github.token"}`,
		"checks":           `{"name":"checkout"}`,
		"approvals":        `{"id":"3f2a","kind":"call","tool":"read"}`,
		"tool-changes":     ``,
		"calls":            ``,
		"sessions":         ``,
		"tool-changes/log": ``,
	} {
		f.Answer("GET /api/v1/"+path, `{"items":[`+items+`],"next":""}`)
	}
	f.Mux.HandleFunc("GET /api/v1/tools", func(w http.ResponseWriter, r *http.Request) {
		more := ""
		switch r.URL.Query().Get("server") {
		case "":
			more = `,{"name":"my-notes__find","server":"my-notes","tool":"find"}`
		case "files":
		default:
			notFound(w, "there is no such server")
			return
		}
		_, _ = io.WriteString(w, `{"items":[{"name":"files__list_directory","server":"files","tool":"list_directory"},{"name":"files__read","server":"files","tool":"read","title":"Read a file"}`+more+`]}`)
	})
	f.Mux.HandleFunc("POST /api/v1/call", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch text := string(body); {
		case !strings.Contains(text, `"server":"files"`):
			_, _ = io.WriteString(w, `{"success":false,"error":"there is no server named \"`+regexp.MustCompile(`"server":"([^"]*)`).FindStringSubmatch(text)[1]+`\"","code":"not_found"}`)
		case !strings.Contains(text, `"tool":"read"`):
			_, _ = io.WriteString(w, `{"success":false,"error":"server \"files\" has no tool \"`+regexp.MustCompile(`"tool":"([^"]*)`).FindStringSubmatch(text)[1]+`\"","code":"not_found"}`)
		default:
			_, _ = io.WriteString(w, `{"success":true,"output":"the notes"}`)
		}
	})
	f.Mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w, "there is no such server") })
	f.Mux.HandleFunc("POST /api/v1/checks/", func(w http.ResponseWriter, _ *http.Request) { notFound(w, "there is no such check") })
	f.Mux.HandleFunc("PUT /api/v1/client-views/", func(w http.ResponseWriter, _ *http.Request) { notFound(w, `there is no profile named \"ofice\"`) })
	return f
}

func notFound(w http.ResponseWriter, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"code":"not_found","detail":"`+detail+`"}`)
}

// What is typed wrongly is answered with the exit code and what to do next; what is only typed
// differently works.
func TestEveryMistakeAtThePromptHasANextStep(t *testing.T) {
	f := mistakenDaemon(t)
	status, clients := "List them with: drawbridge status", "List them with: drawbridge clients --all"
	for _, c := range []struct {
		typed string
		code  int
		want  string
	}{
		{"histroy", 2, `did you mean "history"`}, {"statsu", 2, `did you mean "status"`}, {"client", 2, `did you mean "clients"`},
		{"tool", 2, `did you mean "tools"`}, {"docter", 2, `did you mean "doctor"`}, {"aprovals", 2, `did you mean "approvals"`},
		{"conect files", 2, `did you mean`}, {"rm files", 2, `did you mean "remove"`}, {"delete files", 2, `did you mean "remove"`}, {"import mcphub", 2, `did you mean "clients import"?`},
		{"mcp add files", 2, `did you mean "add"`}, {"server files", 2, `did you mean "status"`}, {"exit", 2, `did you mean "quit"`},
		{"run files read", 2, `did you mean "call"`}, {"update files", 2, `did you mean "versions"`}, {"policy zz", 2, `did you mean "explain --rules"`},
		{"frobnicate", 2, "drawbridge --help"}, {"help histroy", 2, `did you mean "history"`}, {"help debug", 0, "Usage:\n  drawbridge status"}, {"help", 0, "Advanced"}, {"DOCTOR", 2, `did you mean "doctor"`}, {"--stats", 2, "See: drawbridge --help"},
		// Words after a command.
		{"check zz", 2, "It has: remove, run, save"}, {"check rum checkout", 2, `did you mean "run"`}, {"clients conect cursor", 2, `did you mean "connect"`},
		{"clients undoo", 1, "drawbridge clients undo"}, {"secret st github.token", 2, `did you mean "set"`}, {"secret zz", 2, "It has: rm, set, unlock"},
		{"profiles st x files", 2, `did you mean "set"`}, {"backup resto", 2, `did you mean "restore"`}, {"tools acept files read", 2, `did you mean "accept"`},
		{"tools acept", 1, "drawbridge tools accept"}, {"approvals alow", 1, "drawbridge approvals allow"}, {"versions updte files", 2, `did you mean "update"`},
		{"sandbox alow", 1, "drawbridge sandbox allow"}, {"quit now", 2, "See: drawbridge quit --help"}, {"completion bahs", 2, "bash|fish|powershell|zsh"},
		// Flags.
		{"history --srever x", 2, "did you mean --server"}, {"status --jsn", 2, "did you mean --json"}, {"add --serach x", 2, "did you mean --search"},
		{"history --limit many", 2, "drawbridge history --help"}, {"history -z", 2, "drawbridge history --help"}, {"history --outcome bad", 2, "tool_error"},
		{"tools --log --changes", 2, "drawbridge tools --help"}, {"clients connect --al", 2, "did you mean --all"},
		// Servers.
		{"remove nosuch", 1, status}, {"logs file", 1, `named "file"; did you mean "files"`}, {"restart Files", 1, `did you mean "files"`},
		{"status filse", 1, `named "filse"; did you mean "files"`}, {"enable my-note", 1, `did you mean "my-notes"`}, {"login nosuch", 1, status},
		{"sandbox filse", 1, `did you mean "files"`}, {"versions --check filse", 1, `did you mean "files"`}, {"versions update filse", 1, `did you mean "files"`},
		{"rename filse docs", 1, `did you mean "files"`}, {"tools filse", 1, `did you mean "files"`}, {"call filse read", 1, `did you mean "files"`},
		{"profiles set p filse", 1, status}, {"connect cursor", 1, "drawbridge clients connect cursor"}, {"stop", 2, "SERVER | --all"},
		// Tools.
		{"call files list_dir", 1, `did you mean "list_directory"`}, {"call files zz", 1, "drawbridge tools files"}, {"call files", 2, "drawbridge call SERVER TOOL"},
		{"call files__list_dir {}", 1, status}, {"call files read text", 2, `such as '{"text": "hello"}'`}, {"tools accept files red", 1, "drawbridge tools --changes"},
		// Clients, profiles, secrets, checks, approvals, entries.
		{"clients connect curser", 1, `did you mean "cursor"`}, {"clients nobody", 1, clients}, {"clients move zzzz -y", 1, clients},
		{"profiles use cursor ofice", 1, `did you mean "office"`}, {"secret rm github.tokn", 1, `did you mean "github.token"`},
		{"check run chekout", 1, `did you mean "checkout"`}, {"approvals allow 9", 1, "drawbridge approvals"}, {"add nosuch", 1, "drawbridge"},
		{"clients undo --import 7", 1, "drawbridge clients undo --list"}, {"backup restore nofile", 1, "backups"},
		// Other words for the same.
		{"ls", 1, ""}, {"server list", 1, ""}, {"clients ls", 0, ""}, {"clients list", 0, ""}, {"secret list", 0, ""}, {"check list", 0, ""},
		{"history nonsense", 0, ""}, {"call files__read {}", 0, "the notes"}, {"clients Cursor", 0, "Cursor"}, {"clients CLAUDE-CODE", 0, "Claude Code"},
	} {
		got := f.Run(false, strings.Fields(c.typed)...)
		assert.Equal(t, c.code, got.Code, c.typed)
		assert.Contains(t, got.Out+got.Err, c.want, c.typed)
	}
}

func TestNamesCompleteInShells(t *testing.T) {
	f := mistakenDaemon(t)
	for typed, want := range map[string]string{
		"call ,": "files my-notes\tmy notes", "call files ,": "list_directory read\tRead a file", "call files read ,": "", "restart ,": "files my-notes\tmy notes",
		"clients connect ,": "claude-code\tClaude Code cursor\tCursor", "secret rm ,": "github.token", "profiles remove ,": "office", "check run ,": "checkout",
		"history --server ,": "files my-notes\tmy notes", "clients undo cursor files ,": "my-notes\tmy notes", "profiles use cursor ,": "office", "quit ,": "",
	} {
		args := strings.Fields(typed)
		args[len(args)-1] = ""
		got := f.Run(false, append([]string{"__complete"}, args...)...)
		words, _, _ := strings.Cut(got.Out, ":4\n") // no files
		have := strings.Join(strings.Split(strings.TrimSpace(words), "\n"), " ")
		assert.Truef(t, strings.Contains(got.Out, ":4\n") && have == want, "%s completes %q, want %q", typed, have, want)
	}
	quiet := &fakeDaemon{terminaltest.Stopped(t)}
	got := quiet.Run(false, "__complete", "call", "")
	assert.Truef(t, got.Code == 0 && strings.HasPrefix(got.Out, ":4\n") && !strings.Contains(got.Err, "not running"), "without a daemon: %+v", got)
	for _, shell := range []string{"bash", "fish", "powershell", "zsh"} {
		if got := quiet.Run(false, "completion", shell); got.Code != 0 || !strings.Contains(got.Out, "__complete") {
			t.Errorf("%s: %+v", shell, got)
		}
	}
}

// The old name of a command works for one release, and a terminal is told the new one.
func TestOldNamesOfCommandsWork(t *testing.T) {
	f := mistakenDaemon(t)
	for old, now := range map[string]string{
		"approvals list": "approvals", "approvals show x": "approvals", "changes": "status", "check list": "check", "clients bundle x": "clients connect", "clients diff x": "clients connect",
		"clients features": "clients", "clients forget x": "clients undo", "clients imports": "clients undo", "clients list": "clients", "clients restore x": "clients connect",
		"debug x": "status", "destinations x": "status", "diagnostics": "doctor", "directory x": "add", "directory refresh": "add", "history backup x": "backup", "history export": "history",
		"history restore x": "backup restore", "history vacuum": "history prune", "install x": "add", "pause": "stop", "policy try": "explain", "resume": "start", "sandbox off x": "sandbox",
		"sandbox on x": "sandbox", "secret list": "secret", "tools changes": "tools", "tools log": "tools", "tools warnings": "tools", "versions check x": "versions",
		"versions pin x": "versions update", "versions rollback x": "versions update",
	} {
		got := f.Run(true, append(strings.Fields(old), "--help")...)
		if got.Code != 0 || !strings.Contains(got.Out, "Usage:\n  drawbridge "+now) || !strings.Contains(got.Err, `is now "drawbridge `+now) {
			t.Errorf("%s: %+v", old, got)
		}
	}
	got := f.Run(true, "--data", f.Data, "check", "list", "--json")
	assert.Truef(t, got.Code == 0 && got.Err == "" && strings.HasPrefix(got.Out, `{"items":`), "%+v", got)
	if got := f.Run(false, "history", "--json", "export"); got.Code != 1 || got.Err == "" { // a flag between the words; the fake has no export
		t.Errorf("%+v", got)
	}
}
