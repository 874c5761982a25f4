//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
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
	// folder is what the server creates in the home directory, and needs write for.
	folder string
}

var publishedServers = []publishedServer{
	{"files", "@modelcontextprotocol/server-filesystem@2026.8.31", []string{"DIR"}, "write_file", `{"path": "DIR/new.txt", "content": "x"}`, ""},
	{"every", "@modelcontextprotocol/server-everything@2026.8.31", nil, "echo", `{"message": "x"}`, ""},
	{"memory", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`, ""},
	{"thinking", "@modelcontextprotocol/server-sequential-thinking@2026.8.31", nil, "sequentialthinking", `{"thought": "a", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}`, ""},
	{"desktop", "@wonderwhy-er/desktop-commander@0.2.52", nil, "list_directory", `{"path": "DIR"}`, ".claude-server-commander"},
	{"git", "@cyanheads/git-mcp-server@2.15.3", nil, "git_status", `{"path": "DIR"}`, ""},
	{"eslint", "@eslint/mcp@0.3.13", nil, "lint-files", `{"filePaths": ["DIR/a.js"]}`, ""},
	{"context7", "@upstash/context7-mcp@4.1.1", nil, "resolve-library-id", `{"libraryName": "react", "query": "hooks"}`, ""},
	{"playwright", "@playwright/mcp@0.0.83", []string{"--headless", "--no-sandbox", "--executable-path", "CHROMIUM"}, "browser_navigate", `{"url": "data:text/html,hello"}`, ""},
	{"commands", "mcp-server-commands@0.5.0", nil, "run_command", `{"command": "echo hello"}`, ""},
	{"devtools", "chrome-devtools-mcp@1.11.0", []string{"--headless", "--isolated", "--chromeArg=--no-sandbox", "--executablePath", "CHROMIUM"}, "list_pages", `{}`, ""},
	{"chart", "@antv/mcp-server-chart@0.9.10", nil, "generate_bar_chart", `{"data": [{"category": "a", "value": 1}]}`, ""},
	{"notion", "@notionhq/notion-mcp-server@2.5.2", nil, "API-get-self", `{}`, ""},
}

// TestPublishedServersWorkUnderTheDefaultSandbox installs published servers with npx and calls a tool
// of each, with and without the default sandbox. They come from the registry of npm, so make soak
// runs it.
func TestPublishedServersWorkUnderTheDefaultSandbox(t *testing.T) {
	if os.Getenv("DRAWBRIDGE_NPM_REGISTRY") == "" || runtime.GOOS != "linux" {
		t.Log("not tried here: it takes 12 minutes; build/soak.sh sandbox runs it, with the registry of npm")
		return
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
	for _, s := range publishedServers {
		args := []string{"-y", s.pkg}
		for _, arg := range s.args {
			args = append(args, fill.Replace(arg))
		}
		confined := any("on")
		if s.folder != "" {
			confined = object{"write": []string{"~/" + s.folder}}
			if err := os.Mkdir(filepath.Join(home, s.folder), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for suffix, sandbox := range map[string]any{"": confined, "-free": "off"} {
			servers[s.id+suffix] = object{"command": "npx", "args": args, "cwd": dir, "sandbox": sandbox, "start": "manual", "env": object{"PUPPETEER_SKIP_DOWNLOAD": "1"}, "startupTimeoutMs": 600_000, "toolChanges": "accept"}
		}
	}
	// The folder of the data is private, and in /tmp it would keep servers from creating files there.
	d := &daemon{t: t, data: filepath.Join(home, "data"), home: home, log: new(lockedBuffer)}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("config.jsonc", object{"mcpServers": servers})
	d.launch("NODE_EXTRA_CA_CERTS=" + os.Getenv("NODE_EXTRA_CA_CERTS")) // of whoever inspects the connections of this machine
	token := d.token("modern")
	for _, s := range publishedServers {
		t.Run(s.id, func(t *testing.T) {
			var arguments object
			if err := json.Unmarshal([]byte(fill.Replace(s.call)), &arguments); err != nil {
				t.Fatal(err)
			}
			call := func(id string) (tools int, result string) {
				began := time.Now()
				if code, text := d.do("POST", "/api/v1/servers/"+id+"/start", nil); code != http.StatusOK {
					t.Fatalf("%s: %d %s", id, code, text)
				}
				eventually.Complete(t, 10*time.Minute, func() string {
					var one server
					d.get("/api/v1/servers/"+id, &one)
					if one.State == "crashed" {
						t.Fatalf("%s crashed: %s", id, one.Reason)
					}
					if one.State != "running" {
						return id + " is " + one.State + ": " + one.Reason
					}
					return ""
				})
				took := time.Since(began).Round(100 * time.Millisecond)
				got := drive(t, "modern", d.url+"/mcp", token, "e2e-published", toolCall{id + "__" + s.tool, arguments})
				for _, tool := range got.Tools {
					if strings.HasPrefix(tool, id+"__") {
						tools++
					}
				}
				if len(got.Results) != 1 || tools == 0 {
					t.Fatalf("%s: %d tools, %+v", id, tools, got.Results)
				}
				one := got.Results[0]
				t.Logf("%s: running after %s, %d tools, error %v %s, %.300q", id, took, tools, one.IsError, one.Thrown, one.Content)
				if code, text := d.do("POST", "/api/v1/servers/"+id+"/stop", nil); code != http.StatusOK {
					t.Errorf("%s: %d %s", id, code, text)
				}
				return tools, fmt.Sprint(one.IsError, one.Thrown != "", len(one.Content))
			}
			tools, result := call(s.id) // it installs the package
			freeTools, freeResult := call(s.id + "-free")
			if tools != freeTools || result != freeResult {
				t.Errorf("confined: %d tools, %s; free: %d tools, %s", tools, result, freeTools, freeResult)
			}
		})
	}
}
