//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// publishedServer is an npm package with a call that needs no account. DIR in its arguments and in
// those of the call is its working directory.
type publishedServer struct {
	id, pkg string
	args    []string
	tool    string
	call    string
}

var publishedServers = []publishedServer{
	{"files", "@modelcontextprotocol/server-filesystem@2026.8.31", []string{"DIR"}, "write_file", `{"path": "DIR/new.txt", "content": "x"}`},
	{"every", "@modelcontextprotocol/server-everything@2026.8.31", nil, "echo", `{"message": "x"}`},
	{"memory", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`},
	{"thinking", "@modelcontextprotocol/server-sequential-thinking@2026.8.31", nil, "sequentialthinking", `{"thought": "a", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}`},
	{"desktop", "@wonderwhy-er/desktop-commander@0.2.52", nil, "list_directory", `{"path": "DIR"}`},
	{"git", "@cyanheads/git-mcp-server@2.15.3", nil, "git_status", `{"path": "DIR"}`},
	{"eslint", "@eslint/mcp@0.3.13", nil, "lint-files", `{"filePaths": ["DIR/a.js"]}`},
	{"context7", "@upstash/context7-mcp@4.1.1", nil, "resolve-library-id", `{"libraryName": "react", "query": "hooks"}`},
	{"playwright", "@playwright/mcp@0.0.83", []string{"--headless", "--no-sandbox", "--executable-path", "CHROMIUM"}, "browser_navigate", `{"url": "data:text/html,hello"}`},
	{"commands", "mcp-server-commands@0.5.0", nil, "run_command", `{"command": "echo hello"}`},
	{"devtools", "chrome-devtools-mcp@1.11.0", []string{"--headless", "--isolated", "--chromeArg=--no-sandbox", "--executablePath", "CHROMIUM"}, "list_pages", `{}`},
	{"notion", "@notionhq/notion-mcp-server@2.5.2", nil, "API-get-self", `{}`},
}

// TestPublishedServersWorkUnderTheDefaultSandbox installs published servers with npx and calls a tool
// of each, with and without the default sandbox. They come from the registry of npm, so make soak
// runs it.
func TestPublishedServersWorkUnderTheDefaultSandbox(t *testing.T) {
	if os.Getenv("DRAWBRIDGE_NPM_REGISTRY") == "" || runtime.GOOS != "linux" {
		t.Skip("requires Linux and the registry of npm: build/soak.sh sandbox runs it")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/var", "drawbridge-home-") // not in a folder for temporary files, which may be written
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	dir := filepath.Join(home, "work")
	for path, text := range map[string]string{"a.js": "let a = 1;\n", "eslint.config.mjs": "export default [];\n"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, command(t, nil, "git", "init", "-q", dir), 0)
	fill := strings.NewReplacer("DIR", dir, "CHROMIUM", chromium)
	servers := object{}
	var calls []toolCall
	for _, s := range publishedServers {
		args := []string{"-y", s.pkg}
		for _, arg := range s.args {
			args = append(args, fill.Replace(arg))
		}
		for suffix, sandbox := range map[string]string{"": "on", "-free": "off"} {
			servers[s.id+suffix] = object{"command": "npx", "args": args, "cwd": dir, "sandbox": sandbox, "start": "manual", "env": object{"PUPPETEER_SKIP_DOWNLOAD": "1"}, "startupTimeoutMs": 600_000, "toolChanges": "accept"}
		}
		var arguments object
		if err := json.Unmarshal([]byte(fill.Replace(s.call)), &arguments); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, toolCall{s.id + "__" + s.tool, arguments}, toolCall{s.id + "-free__" + s.tool, arguments})
	}
	d := &daemon{t: t, data: filepath.Join(t.TempDir(), "data"), home: home, log: new(lockedBuffer)}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("config.jsonc", object{"mcpServers": servers})
	d.launch("NODE_EXTRA_CA_CERTS=" + os.Getenv("NODE_EXTRA_CA_CERTS")) // of whoever inspects the connections of this machine
	for _, suffix := range []string{"", "-free"} {                      // the confined one installs the package
		for _, s := range publishedServers {
			began := time.Now()
			if code, text := d.do("POST", "/api/v1/servers/"+s.id+suffix+"/start", nil); code != http.StatusOK {
				t.Fatalf("%s: %d %s", s.id, code, text)
			}
			eventually.Complete(t, 10*time.Minute, func() string {
				var one server
				d.get("/api/v1/servers/"+s.id+suffix, &one)
				if one.State != "running" {
					return s.id + suffix + " is " + one.State + ": " + one.Reason
				}
				return ""
			})
			t.Logf("%s: running after %s", s.id+suffix, time.Since(began).Round(100*time.Millisecond))
		}
	}
	got := drive(t, "modern", d.url+"/mcp", d.token("modern"), "e2e-published", calls...)
	for i, s := range publishedServers {
		confined, free := got.Results[2*i], got.Results[2*i+1]
		t.Logf("%s: error %v, %.200q", s.id, confined.IsError, confined.Content)
		if confined.IsError != free.IsError || (confined.Thrown == "") != (free.Thrown == "") || len(confined.Content) == 0 && confined.Thrown == "" {
			t.Errorf("%s:\nconfined %+v\nfree     %+v", s.pkg, confined, free)
		}
	}
}
