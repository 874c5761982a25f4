package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// oneEntry has one entry, "files".
func oneEntry(*terminal.Env, *cobra.Command) func(context.Context, []string, bool) (bool, string, error) {
	return func(_ context.Context, words []string, named bool) (bool, string, error) {
		return named && words[0] == "files", "files", nil
	}
}

func withAdd(e *terminal.Env, root *cobra.Command) { root.AddCommand(Add(e, oneEntry)) }

// TestAddRecognizesPastedConfigs uses command lines from READMEs, with and without a name and --.
func TestAddRecognizesPastedConfigs(t *testing.T) {
	for _, c := range []struct {
		args []string
		want addition
	}{
		{[]string{"npx", "-y", "@upstash/context7-mcp"}, addition{name: "context7", command: []string{"npx", "-y", "@upstash/context7-mcp"}}},
		{[]string{"npx -y @modelcontextprotocol/server-filesystem '/my notes'"}, addition{name: "filesystem", command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/my notes"}}},
		{[]string{"time", "docker", "run", "-i", "--rm", "mcp/time"}, addition{name: "time", command: []string{"docker", "run", "-i", "--rm", "mcp/time"}}},
		{[]string{"docker", "run", "-i", "--rm", "-e", "KEY", "ghcr.io/github/github-mcp-server:1.2"}, addition{name: "github", command: []string{"docker", "run", "-i", "--rm", "-e", "KEY", "ghcr.io/github/github-mcp-server:1.2"}}},
		{[]string{"docker", "--", "docker", "run", "mcp/time"}, addition{name: "docker", command: []string{"docker", "run", "mcp/time"}}},
		{[]string{"files", "--", "npx", "-y", "--json", "x y"}, addition{name: "files", command: []string{"npx", "-y", "--json", "x y"}}},
		{[]string{"files", "-e", "A=B", "npx", "-e", "x"}, addition{name: "files", command: []string{"npx", "-e", "x"}}},
		{[]string{"--", "python", "-m", "mcp_server_time"}, addition{name: "time", command: []string{"python", "-m", "mcp_server_time"}}},
		{[]string{"uvx", "mcp-server-time@2.0", "--local-timezone", "UTC"}, addition{name: "time", command: []string{"uvx", "mcp-server-time@2.0", "--local-timezone", "UTC"}}},
		{[]string{"npx", "@playwright/mcp@latest"}, addition{name: "playwright", command: []string{"npx", "@playwright/mcp@latest"}}},
		{[]string{"https://mcp.linear.app/sse"}, addition{name: "linear", url: "https://mcp.linear.app/sse"}},
		{[]string{"docs", "https://example.com/mcp", "--header", "X: y"}, addition{name: "docs", url: "https://example.com/mcp"}},
		{[]string{"docs", "https://${HOST}/mcp"}, addition{name: "docs", url: "https://${HOST}/mcp"}},
		{[]string{"npx", "git+https://github.com/a/b"}, addition{name: "b", command: []string{"npx", "git+https://github.com/a/b"}}},
		{[]string{"-"}, addition{block: "-"}},
		{[]string{`{"mcpServers":{}}`}, addition{block: `{"mcpServers":{}}`}},
		{[]string{"mine", `{"command":"npx"}`}, addition{name: "mine", block: `{"command":"npx"}`}},
		{[]string{"claude mcp add a -- npx b"}, addition{block: "claude mcp add a -- npx b"}},
		{[]string{"vscode:mcp/install?%7B%22command%22:%22x%22%7D"}, addition{block: "vscode:mcp/install?%7B%22command%22:%22x%22%7D"}},
		{[]string{"sh", "-c", "foo"}, addition{name: "foo", command: []string{"sh", "-c", "foo"}}},
		{[]string{"x"}, addition{}},
		{[]string{"x", "http://a/mcp", "more"}, addition{}},
		{nil, addition{}},
	} {
		cmd := Add(&terminal.Env{}, oneEntry)
		own, command := splitAdd(c.args, func(flag string) bool { return takesValue(cmd, flag) })
		cmd.DisableFlagParsing = false
		assert.NoErrorf(t, cmd.ParseFlags(own), "%q", c.args)
		got, err := parseAddition(cmd.Flags().Args(), command)
		a, _ := json.Marshal([]any{got.name, got.command, got.url, got.block})
		b, _ := json.Marshal([]any{c.want.name, c.want.command, c.want.url, c.want.block})
		nothing := c.want.name == "" && c.want.block == ""
		assert.Truef(t, nothing == (err != nil) && !(!nothing && !bytes.Equal(a, b)), "%q: %s, %v; want %s", c.args, a, err, b)
	}
}

func TestAddRefusesInvalidURL(t *testing.T) {
	for want, all := range map[string][][]string{
		"it has no host": {{"u", "http://"}, {"http://"}, {"u", "http:x"}, {"u", "--", "https:///mcp"}},
		`must start with "http://" or "https://"`: {{"u", "htp://x"}, {"htp://x"}, {"wss://x.y/z"}, {"u", "--", "htp://x"}, {"u", "http//x"}},
		"missing ']' in host":                     {{"u", "http://[::1"}},
		"not a command: omit --":                  {{"u", "--", "https://example.com/mcp"}},
		"the name of a server comes first":        {{"https://example.com/mcp", "docs"}, {"https://example.com/mcp", "http://a/mcp"}, {"http://", "npx", "x"}},
		"needs a name before the URL":             {{"https://${HOST}/mcp"}},
	} {
		for _, args := range all {
			f, sent := newAddDaemon(t, `{}`)
			if got := f.Run(false, append([]string{"add", "--no-test"}, args...)...); got.Code != 2 || !strings.Contains(got.Err, want) || len(*sent) > 0 {
				t.Errorf("%v: %+v, sent %q; want %q", args, got, *sent, want)
			}
		}
	}
}

// newAddDaemon returns a daemon that accepts servers and reports the given state for each.
func newAddDaemon(t *testing.T, state string) (f *terminaltest.Daemon, sent *[]string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	f, sent = terminaltest.New(t, withAdd), new([]string)
	f.Mux.HandleFunc("POST /api/v1/servers", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*sent = append(*sent, string(body))
		io.WriteString(w, `{"id":"files","label":"files","state":"starting"}`)
	})
	f.Mux.HandleFunc("PUT /api/v1/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*sent = append(*sent, r.PathValue("name")+"="+string(body))
		w.WriteHeader(http.StatusNoContent)
	})
	f.Answer("GET /api/v1/secrets", `{"items":[]}`)
	f.Answer("GET /api/v1/servers/files", state)
	f.Answer("GET /api/v1/tools", `{"items":[{"server":"files","tool":"read"},{"server":"files","tool":"write"}]}`)
	return f, sent
}

func TestAddAcceptsVariablesHeadersAndSecrets(t *testing.T) {
	dir := t.TempDir()
	folder, _ := json.Marshal(dir)
	for want, args := range map[string][]string{
		`{"name":"files","entry":{"command":"npx","args":["-y"],"env":{"A":"b=c"},"cwd":` + string(folder) + `,"disabled":true}}`:                                           {"files", "--env", "A=b=c", "--cwd", dir, "--disabled", "--", "npx", "-y"},
		`{"name":"home","entry":{"command":"npx","cwd":"~/notes"}}`:                                                                                                         {"home", "--cwd", "~/notes", "--", "npx"},
		`{"name":"docs","entry":{"url":"https://example.com/mcp","headers":{"X-Team":"red"}}}`:                                                                              {"docs", "https://example.com/mcp", "--header", "X-Team: red"},
		`{"name":"a","entry":{"command":"npx"}}` + "\n" + `{"name":"b","entry":{"command":"uvx"}}`:                                                                          {`{"mcpServers":{"a":{"command":"npx"},"b":{"command":"uvx"}}}`},
		`dock.API_KEY={"value":"sk-live-12345678"}` + "\n" + `{"name":"dock","entry":{"command":"docker","args":["run","-e","API_KEY=${secret:dock.API_KEY}","mcp/time"]}}`: {"dock", "docker", "run", "-e", "API_KEY=sk-live-12345678", "mcp/time"},
	} {
		f, sent := newAddDaemon(t, `{}`)
		if got := f.Run(false, append([]string{"add", "--no-test"}, args...)...); got.Code != 0 || strings.Join(*sent, "\n") != want {
			t.Errorf("%v: %+v, sent\n%s\nwant\n%s", args, got, strings.Join(*sent, "\n"), want)
		}
	}
	f, sent := newAddDaemon(t, `{}`)
	if got := f.Typed("hush\n", "add", "gh", "--secret", "GH_TOKEN", "--no-test", "--", "gh-mcp"); got.Code != 0 || !strings.Contains(strings.Join(*sent, "\n"), `gh.GH_TOKEN={"value":"hush"}`) ||
		!strings.Contains(got.Out, "stored as secrets: gh.GH_TOKEN") || strings.Contains(strings.Join((*sent)[1:], ""), "hush") {
		t.Errorf("%+v, sent %q", got, *sent)
	}
	got := f.Typed(`{"servers":{"in":{"command":"npx"}}}`, "add", "-", "--no-test")
	assert.Truef(t, got.Code == 0 && strings.Contains(got.Out, "in: added"), "%+v", got)
	for _, args := range [][]string{{"x"}, {"x", "http://a/mcp", "more"}, {"x", "--env", "A", "--", "y"}, {"x", "--header", "A: b", "--", "y"}, {"x", "http://a/mcp", "--env", "A=b"}, {`{"a":{"command":"b"}}`, "--cwd", "/"}, {"x", "--nope", "--", "y"}} {
		assert.Equal(t, 2, f.Run(false, append([]string{"add"}, args...)...).Code, args)
	}
}

func TestAddNamesPlaceholdersThatAreSaved(t *testing.T) {
	f, _ := newAddDaemon(t, `{}`)
	got := f.Run(false, "add", "--no-test", `{"notes":{"command":"npx","args":["notes-mcp","/path/to/your/data"],"env":{"API_KEY":"<YOUR_API_KEY>","LEVEL":"info"}}}`)
	for _, p := range []string{"/path/to/your/data", "<YOUR_API_KEY>"} {
		assert.Truef(t, got.Code == 0 && strings.Contains(got.Out, "contains the placeholder "+p+";"), "%+v", got)
	}
	got = f.Run(false, "add", "--no-test", "files", "--", "npx", "notes-mcp", "/srv/data")
	assert.Truef(t, got.Code == 0 && !strings.Contains(got.Out, "placeholder"), "%+v", got)
}

func TestPromptForAuthorizationNamesItsScheme(t *testing.T) {
	got := secretPrompt("authorization")
	assert.True(t, strings.Contains(got, "Bearer TOKEN") && !strings.Contains(secretPrompt("API_KEY"), "Bearer"), got)
}

func TestAddReportsWhetherServerWorks(t *testing.T) {
	for state, want := range map[string]string{
		`{"id":"files","label":"files","state":"running"}`:                                             "files: added\nfiles: works, 2 tools: read, write\n",
		`{"id":"files","label":"files","state":"crashed","reason":"no key was given","hint":"Set X."}`: "files: added\nfiles: Failed, no key was given\n  Set X.\n",
		`{"id":"files","label":"files","state":"needs-login","reason":"sign in"}`:                      "files: added\nfiles: Needs sign-in, sign in\n",
		`{"id":"files","label":"files","state":"waiting","reason":"cannot be reached"}`:                "files: added\nfiles: Waiting, cannot be reached\n  It connects automatically when the problem is resolved.\n",
	} {
		f, _ := newAddDaemon(t, state)
		got := f.Run(false, "add", "files", "--", "npx")
		works := strings.Contains(want, "works")
		if got.Out != want || !strings.Contains(got.Err, "Starting files, for up to 2 minutes") || works != (got.Code == 0) || works == strings.Contains(got.Err, "saved, but not working: files\n") {
			t.Errorf("%s: %+v", state, got)
		}
		if got := f.Run(false, "add", "--json", "files", "--", "npx"); works != (got.Code == 0) || got.Out != `{"id":"files","label":"files","state":"starting"}`+"\n" {
			t.Errorf("with --json, %s: %+v", state, got)
		}
		if got := f.Run(false, "add", "files"); works != (got.Code == 0) || "files: added\n"+got.Out != want {
			t.Errorf("from the directory, %s: %+v", state, got)
		}
	}
}

// "-x" would be read as a flag.
func TestAddNamesServerToRemoveByItsID(t *testing.T) {
	f := terminaltest.New(t, withAdd)
	f.Answer("POST /api/v1/servers", `{"id":"x","label":"-x","state":"starting"}`)
	f.Answer("GET /api/v1/servers/x", `{"id":"x","label":"-x","state":"crashed"}`)
	got := f.Run(false, "add", "--", "-x")
	assert.Truef(t, strings.HasSuffix(got.Err, "drawbridge remove x\n"), "%+v", got)
}

func TestAddWritesConfigWithoutDaemon(t *testing.T) {
	home, f := t.TempDir(), terminaltest.Stopped(t, withAdd)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	got := f.RunWith(t.Context(), func(e *terminal.Env) {
		e.Getenv = func(name string) string { return map[string]string{"DRAWBRIDGE_KEYRING": "off"}[name] }
	}, "add", "gh", "--", "gh-mcp", "--token", "ghp_0123456789abcdef")
	text, _ := os.ReadFile(filepath.Join(f.Data, "config.jsonc"))
	if got.Code != 0 || !strings.Contains(got.Out, "stored as secrets: gh.token") || !strings.Contains(string(text), `"${secret:gh.token}"`) || strings.Contains(string(text), "ghp_") {
		t.Errorf("%+v\n%s", got, text)
	}
}
