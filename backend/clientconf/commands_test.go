package clientconf

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownHome returns the home of a user who has no programs.
func ownHome(t *testing.T) string {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home) // Windows
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("PATH", t.TempDir())
	return home
}

func TestMissingClientsAreCounted(t *testing.T) {
	ownHome(t)
	f := terminaltest.New(t, Commands)
	got := f.Run(true, "clients")
	assert.Truef(t, got.Code == 0 && !strings.Contains(got.Out, "not installed") && strings.Contains(got.Out, "drawbridge clients --all"), "%+v", got)
	if got = f.Run(true, "clients", "--all"); strings.Count(got.Out, "not installed") < 50 {
		t.Errorf("%+v", got)
	}
}

// The table stays narrow, and the whole reason is below it: where the mistake is, and what to do.
func TestInvalidFileOfClientIsDescribedBelowTheTable(t *testing.T) {
	home := ownHome(t)
	file := filepath.Join(home, ".gemini", "settings.json")
	write(t, file, "{\n \"mcpServers\": nope }")
	write(t, filepath.Join(home, ".lmstudio", "mcp.json"), "{\n // mine\n}")
	f := terminaltest.New(t, Commands)
	reason := "the file is not valid JSON: line 2, column 16: a word without quotes\n"
	for _, c := range [][2]string{
		{"clients", "unreadable file  "},
		{"clients", "\ngemini-cli: " + reason},
		{"clients", "\nlm-studio: the file is not valid JSON: line 2: invalid character '/'"},
		{"clients gemini-cli", "Gemini CLI: unreadable file\n  " + file + "\n  " + reason},
		{"clients move --all -y", "Skipped Gemini CLI: cannot read the configuration of Gemini CLI, " + file + ": " + reason},
		{"clients move gemini-cli -y", file + ": " + reason + "Correct the file, then try again."},
	} {
		got := f.Run(true, strings.Fields(c[0])...)
		assert.Contains(t, got.Out+got.Err, c[1])
	}
}

// Equal servers are not merged silently, nor is a move undone silently by another connection.
func TestMergedServersAndUndoneMovesAreNamed(t *testing.T) {
	home := ownHome(t)
	write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}`)
	file := filepath.Join(home, ".cursor", "mcp.json")
	write(t, file, `{"mcpServers": {"a": {"command": "x"}, "c": {"command": "y"}}}`)
	f := terminaltest.Stopped(t, Commands)
	want := `Done: 4 servers from 2 clients; Drawbridge runs 2 of them only once: "b" of Claude Code is "a", "a" of Cursor (IDE and cursor-agent) is "a". To undo`
	if got := f.Run(false, "clients", "move", "--all", "-y"); got.Code != 0 || !strings.Contains(got.Out, want) {
		t.Fatalf("%+v", got)
	}
	for _, undo := range []string{"undo claude-code b --force", "disconnect claude-code --force"} { // what runs is not the program
		got := f.Run(false, append([]string{"clients"}, strings.Fields(undo)...)...)
		said := strings.Contains(got.Out, `"a" stays in Drawbridge, because it also came from Cursor (IDE and cursor-agent).`)
		assert.Truef(t, got.Code == 0 && said, "%+v", got)
	}
	write(t, file, strings.ReplaceAll(content(t, file), "clientconf.test", "drawbridge")) // what runs is not the test
	got := f.RunWith(t.Context(), terminaltest.Answering("n\n", true), "clients", "connect", "cursor")
	all := got.Out + got.Err
	if got.Code == 0 || !strings.Contains(all, "This undoes the move of a, c: Cursor (IDE and cursor-agent) starts its own again.") || !strings.Contains(all, "Write this, and undo the move of a, c?") {
		t.Errorf("%+v", got)
	}
}

// The documents are those of the API, with the members that earlier versions printed.
func TestClientDocumentsAreThoseOfTheAPI(t *testing.T) {
	home := ownHome(t)
	f := terminaltest.New(t, Commands)
	file := filepath.Join(home, ".cursor", "mcp.json")
	f.Answer("GET /api/v1/connections", `{"items":[{"key":"cursor","path":`+strconv.Quote(file)+`,"tools":7,"live":true},{"key":"cursor","path":"elsewhere","tools":9}]}`)
	var list web.List[map[string]any]
	got := f.Run(false, "clients", "list", "--all", "--json")
	err := json.Unmarshal([]byte(got.Out), &list)
	require.Truef(t, err == nil && got.Code == 0, "%+v, %v", got, err)
	for _, c := range list.Items {
		for _, name := range []string{"id", "name", "path", "detected", "connected", "problem", "state", "key", "project", "reload", "maxTools", "live", "moved"} {
			assert.Contains(t, c, name)
		}
		assert.Falsef(t, c["key"] == "cursor" && (c["tools"] != 7.0 || c["live"] != true), "without its activity: %v", c)
	}
	var plan ConnectionPlan
	got = f.Run(false, "clients", "diff", "cursor", "--json")
	if err := json.Unmarshal([]byte(got.Out), &plan); err != nil || plan.ID != "cursor" || plan.Key != "cursor" || plan.Path != file || plan.Action != "create" || plan.Warnings == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNoRestartIsAskedForAnUnchangedFile(t *testing.T) {
	ownHome(t)
	f := terminaltest.New(t, Commands)
	for n, asked := range []bool{true, false} {
		got := f.Run(false, "clients", "connect", "windsurf", "--yes")
		assert.Equalf(t, 0, got.Code, "attempt %d", n)
		assert.Equalf(t, asked, strings.Contains(got.Out, "To apply the change"), "attempt %d", n)
	}
}

func TestFeaturesArePrintedAsTable(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Mux.HandleFunc("GET /api/v1/features", func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "cursor", r.URL.Query().Get("client"))
		_, _ = w.Write([]byte(`{"items":[{"token":"cursor","name":"Cursor","era":"legacy","servers":[
			{"server":"files","known":true,"features":[{"name":"tools","how":"passes"},{"name":"roots","how":"not client"},{"name":"elicitation","how":"with approval"}]},
			{"server":"late","known":false,"features":[]}]}],"next":""}`))
	})
	got := f.Run(false, "clients", "features", "--client", "cursor")
	lines := strings.Split(strings.TrimSpace(got.Out), "\n")
	require.Equal(t, 0, got.Code)
	require.Len(t, lines, 3)
	for i, want := range []string{"Client  Era     Server", "Cursor  legacy  files   not supported by the client: roots; with your approval: elicitation", "Cursor  legacy  late    not known yet"} {
		assert.Truef(t, strings.HasPrefix(lines[i], want), "%q, want %q", lines[i], want)
	}
	assert.Contains(t, lines[1], "elicitation")
}

// The names in a file of a client cannot write to the terminal, also through a pipe.
func TestNamesFromFilesAreEscaped(t *testing.T) {
	home := ownHome(t)
	const name = `evil\u001b[31m\r\u202e\u009b`
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"`+name+`": {"command": "x`+name+`", "`+name+`": 1}, "`+name+`2": 5}}`)
	write(t, filepath.Join(home, ".gemini", "settings.json"), `{"mcpServers": {"`+name+`": {"command": "x`+name+`", "`+name+`": 1}}}`)
	f := terminaltest.Stopped(t, Commands)
	for _, command := range []string{
		"clients", "clients cursor", "clients import cursor --yes", "clients import --all --yes --diff", "clients undo --list", "clients connect cursor --dry-run",
		"clients move cursor --yes", "clients undo cursor", "clients move --all --yes --diff", "clients undo --all --yes", "clients import cursor evil\x1b[31m", "export", "export evil\x1b[31m",
	} {
		got := f.Run(false, strings.Fields(command)...)
		all := got.Out + got.Err
		assert.Falsef(t, strings.ContainsAny(all, "\x1b\r\u202e\u009b"), "%s: %q", command, all)
	}
}

// A wrong name says what to use instead, and a file that cannot be read is not repeated.
func TestMessagesNameWhatToDo(t *testing.T) {
	home := ownHome(t)
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	write(t, filepath.Join(home, ".gemini", "settings.json"), `{"mcpServers": `+token+`}`)
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"a": {"command": "x", "type": "`+token+`"}}}`)
	f := terminaltest.Stopped(t, Commands)
	for command, want := range map[string]string{
		"clients connect mcphub":            `"mcphub" is not a client`,
		"clients undo mcpproxy":             `nothing was imported from "mcpproxy"`,
		"clients import --help":             "mcphub, ",
		"clients import gemini-cli --yes":   "a word without quotes",
		"clients import cursor --yes":       "its type is not supported",
		"clients connect gemini-cli":        "a word without quotes",
		"clients import mcphub --file none": "",
		"clients import --all --file x":     "--all can only be combined with --yes and --diff",
	} {
		got := f.Run(false, strings.Fields(command)...)
		all := got.Out + got.Err
		assert.Truef(t, strings.Contains(all, want) && !strings.Contains(all, token[:20]), "%s: %s", command, all)
	}
	loop := filepath.Join(home, "loop")
	if runtime.GOOS != "windows" && os.Symlink(loop, loop) == nil { // Wine makes a folder of it
		_, err := (&Connector{}).locatePlan(Choice{Client: "mcphub", File: filepath.Join(loop, "x.json")})
		_, hint := core.Describe(err)
		assert.NotContains(t, hint, "manually")
		assert.Error(t, err)
	}
}

// A dry run and a declined question create no access token; the entry gets the token that is created then.
func TestDryRunAndDeclinedConnectionCreateNoToken(t *testing.T) {
	home := ownHome(t)
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/connections", `{"items":[]}`)
	tokens, err := loopback.NewTokens(f.Data, nil)
	require.NoError(t, err)
	got := f.Run(false, "clients", "connect", "cursor", "--http", "--dry-run")
	require.Equal(t, 0, got.Code, got.Err)
	f.RunWith(t.Context(), terminaltest.Answering("n\n", true), "clients", "connect", "cursor", "--http")
	_, known, err := tokens.Get("cursor")
	require.False(t, known, err)
	got = f.Run(false, "clients", "connect", "cursor", "--http", "--yes")
	require.Equal(t, 0, got.Code, got.Err)
	token, known, err := tokens.Get("cursor")
	require.Truef(t, known && err == nil, "%v", err)
	assert.Contains(t, content(t, filepath.Join(home, ".cursor", "mcp.json")), token.Token)
}

// The file that is read in a folder is named; of several, the user chooses one.
func TestFolderWithSeveralFilesNamesTheChoices(t *testing.T) {
	ownHome(t)
	f := terminaltest.Stopped(t, Commands)
	folder := func(files ...string) string {
		dir := t.TempDir()
		for _, name := range files {
			write(t, filepath.Join(dir, filepath.FromSlash(name)), `{"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}}`)
		}
		return dir
	}
	for _, c := range []struct {
		source string
		files  []string
		want   string
	}{
		{"mcphub", []string{"mcp_settings.json", "package.json"}, "mcp_settings.json\na becomes a"},
		{"toolport", []string{"registry.json"}, "registry.json\n"}, // its first place is a variable
		{"toolhive", []string{"one.json", "two.json"}, "has 2 files of ToolHive: one.json, two.json\nChoose one of them with --file."},
		{"docker-mcp-toolkit", []string{"a.json", "b.yaml"}, "has 2 files of Docker MCP Toolkit: a.json, b.yaml"},
		{"claude-desktop-extensions", []string{"x/manifest.json", "y/manifest.json"}, "x/manifest.json, y/manifest.json"},
		{"1mcp", []string{"other.json"}, "has no file of 1MCP\nIt is looked for as mcp.json."},
	} {
		got := f.Run(false, "clients", "import", c.source, "--file", folder(c.files...), "--yes")
		assert.Containsf(t, got.Out+got.Err, c.want, "%s %v", c.source, c.files)
	}
}
