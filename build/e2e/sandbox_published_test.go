//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publishedServer is an npm package with a call that needs no account. DIR in its arguments and in
// those of the call is its working directory, PAGE the address of a page on this machine.
type publishedServer struct {
	id, pkg string
	args    []string
	tool    string
	call    string
	// folder is what the server creates in the home directory, and needs write for.
	folder string
	// launcher starts it instead of npx -y; TOOLS is where launchers are installed.
	launcher []string
}

var publishedServers = []publishedServer{
	{"files", "@modelcontextprotocol/server-filesystem@2026.8.31", []string{"DIR"}, "write_file", `{"path": "DIR/new.txt", "content": "x"}`, "", nil},
	{"every", "@modelcontextprotocol/server-everything@2026.8.31", nil, "echo", `{"message": "x"}`, "", nil},
	{"memory", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`, "", nil},
	{"thinking", "@modelcontextprotocol/server-sequential-thinking@2026.8.31", nil, "sequentialthinking", `{"thought": "a", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}`, "", nil},
	{"desktop", "@wonderwhy-er/desktop-commander@0.2.52", nil, "list_directory", `{"path": "DIR"}`, ".claude-server-commander", nil},
	{"git", "@cyanheads/git-mcp-server@2.15.3", nil, "git_status", `{"path": "DIR"}`, "", nil},
	{"eslint", "@eslint/mcp@0.3.13", nil, "lint-files", `{"filePaths": ["DIR/a.js"]}`, "", nil},
	{"context7", "@upstash/context7-mcp@4.1.1", nil, "resolve-library-id", `{"libraryName": "react", "query": "hooks"}`, "", nil},
	{"playwright", "@playwright/mcp@0.0.83", []string{"--headless", "--no-sandbox", "--executable-path", "CHROMIUM"}, "browser_navigate", `{"url": "data:text/html,hello"}`, "", nil},
	{"commands", "mcp-server-commands@0.5.0", nil, "run_command", `{"command": "echo hello"}`, "", nil},
	{"devtools", "chrome-devtools-mcp@1.11.0", []string{"--headless", "--isolated", "--chromeArg=--no-sandbox", "--executablePath", "CHROMIUM"}, "list_pages", `{}`, "", nil},
	{"chart", "@antv/mcp-server-chart@0.9.10", nil, "generate_bar_chart", `{"data": [{"category": "a", "value": 1}]}`, "", nil},
	{"notion", "@notionhq/notion-mcp-server@2.5.2", nil, "API-get-self", `{}`, "", nil},
	{"time", "time-mcp@1.0.6", nil, "current_time", `{"format": "YYYY-MM"}`, "", nil},
	{"fetch", "@tokenizin/mcp-npx-fetch@1.0.0", nil, "fetch_html", `{"url": "PAGE"}`, "", nil},
	{"puppeteer", "@modelcontextprotocol/server-puppeteer@2025.5.12", nil, "puppeteer_navigate", `{"url": "PAGE", "allowDangerous": true, "launchOptions": {"headless": true, "executablePath": "CHROMIUM", "args": ["--no-sandbox"]}}`, "", nil},
	{"runner", "mcp-server-code-runner@0.1.8", nil, "run-code", `{"code": "console.log(6 * 7)", "languageId": "javascript"}`, "", nil},
	{"excel", "@negokaz/excel-mcp-server@0.12.0", nil, "excel_write_to_sheet", `{"fileAbsolutePath": "DIR/new.xlsx", "sheetName": "a", "newSheet": true, "range": "A1:A1", "values": [["x"]]}`, "", nil},
	{"pdf", "@sylphx/pdf-reader-mcp@2.4.0", nil, "read_pdf", `{"sources": [{"path": "DIR/none.pdf"}]}`, "", nil},
	{"nvm", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`, "", []string{"HOME/.nvm/versions/node/v20/bin/npx", "-y"}},
	{"bunx", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`, "", []string{"TOOLS/bunx"}},
	{"deno", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`, "", []string{"TOOLS/deno", "run", "-A", "npm:"}},
	{"pnpm", "@modelcontextprotocol/server-memory@2026.8.31", nil, "read_graph", `{}`, "", []string{"TOOLS/pnpm", "dlx"}},
	{"yarn", "time-mcp@1.0.6", nil, "current_time", `{"format": "YYYY-MM"}`, "", []string{"TOOLS/yarn", "dlx"}},
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
	require.NoError(t, err)
	home, err := os.MkdirTemp("/var", "drawbridge-home-") // not in a folder for temporary files, which may be written
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	dir := filepath.Join(home, "work")
	for path, text := range map[string]string{"a.js": "let a = 1;\n", "eslint.config.mjs": "export default [];\n"} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	run(t, command(t, nil, "git", "init", "-q", dir), 0)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>a</title>hello") }))
	defer page.Close()
	installLaunchers(t, home)
	fill := strings.NewReplacer("DIR", dir, "CHROMIUM", chromium, "PAGE", page.URL, "HOME", home, "TOOLS", filepath.Join(home, "tools/node_modules/.bin"))
	servers := object{}
	for _, s := range publishedServers {
		line := []string{"npx", "-y"}
		if s.launcher != nil {
			line = slices.Clone(s.launcher)
		}
		if last := len(line) - 1; line[last] == "npm:" {
			line[last] += s.pkg
		} else {
			line = append(line, s.pkg)
		}
		line = append(line, s.args...)
		for i := range line {
			line[i] = fill.Replace(line[i])
		}
		confined := any("on")
		if s.folder != "" {
			confined = object{"write": []string{"~/" + s.folder}}
			require.NoError(t, os.Mkdir(filepath.Join(home, s.folder), 0o755))
		}
		for suffix, sandbox := range map[string]any{"": confined, "-free": "off"} {
			servers[s.id+suffix] = object{"command": line[0], "args": line[1:], "cwd": dir, "sandbox": sandbox, "start": "manual", "env": object{"PUPPETEER_SKIP_DOWNLOAD": "1"}, "startupTimeoutMs": 600_000, "toolChanges": "accept"}
		}
	}
	// The folder of the data is private, and in /tmp it would keep servers from creating files there.
	d := &daemon{t: t, data: filepath.Join(home, "data"), home: home, log: new(lockedBuffer)}
	require.NoError(t, os.MkdirAll(d.data, 0o700))
	d.write("config.jsonc", object{"mcpServers": servers})
	d.launch("NODE_EXTRA_CA_CERTS=" + os.Getenv("NODE_EXTRA_CA_CERTS")) // of whoever inspects the connections of this machine
	token := d.token("modern")
	table := "| server | tools | call | without sandbox | with sandbox | same |\n|---|---|---|---|---|---|\n"
	defer func() {
		assert.NoError(t, os.WriteFile(filepath.Join(output, "published-servers.md"), []byte(table), 0o600))
	}()
	for _, s := range publishedServers {
		t.Run(s.id, func(t *testing.T) {
			var arguments object
			require.NoError(t, json.Unmarshal([]byte(fill.Replace(s.call)), &arguments))
			call := func(id string) (tools int, result, shown string) {
				began := time.Now()
				code, text := d.do("POST", "/api/v1/servers/"+id+"/start", nil)
				require.Equalf(t, http.StatusOK, code, "%v %v", id, text)
				eventually.Complete(t, 10*time.Minute, func() string {
					var one server
					d.get("/api/v1/servers/"+id, &one)
					require.NotEqualf(t, "crashed", one.State, "%s crashed: %s", id, one.Reason)
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
				require.Len(t, got.Results, 1, id)
				require.NotEqual(t, 0, tools, id)
				one := got.Results[0]
				t.Logf("%s: running after %s, %d tools, error %v %s, %.300q", id, took, tools, one.IsError, one.Thrown, one.Content)
				code, text = d.do("POST", "/api/v1/servers/"+id+"/stop", nil)
				assert.Equalf(t, http.StatusOK, code, "%v %v", id, text)
				shown = strings.NewReplacer("\n", " ", "|", "\\|", home, "~").Replace(fmt.Sprintf("%.120v", one.Content))
				return tools, fmt.Sprint(one.IsError, one.Thrown != "", len(one.Content)), shown
			}
			tools, result, shown := call(s.id) // it installs the package
			freeTools, freeResult, freeShown := call(s.id + "-free")
			same := tools == freeTools && result == freeResult
			assert.Truef(t, same, "confined: %d tools, %s; free: %d tools, %s", tools, result, freeTools, freeResult)
			table += fmt.Sprintf("| %s %s | %d | %s | %s | %s | %v |\n", strings.Join(s.launcher, " "), s.pkg, tools, s.tool, freeShown, shown, same)
		})
	}
}

// installLaunchers installs other launchers than npx in home, and a copy of Node.js as nvm does.
func installLaunchers(t *testing.T, home string) {
	npm := func(args ...string) string {
		return strings.TrimSpace(run(t, command(t, append(os.Environ(), "HOME="+home), "npm", args...), 0))
	}
	npm("install", "--silent", "--prefix", filepath.Join(home, "tools"), "bun@1.4.5", "deno@2.9.6", "pnpm@12.21.0", "@yarnpkg/cli-dist@4.18.1")
	versions := filepath.Join(home, ".nvm/versions/node/v20")
	bin, modules := filepath.Join(versions, "bin"), filepath.Join(versions, "lib/node_modules")
	for _, dir := range []string{bin, modules} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	path, err := exec.LookPath("node")
	require.NoError(t, err)
	run(t, command(t, nil, "cp", "-L", path, bin), 0)
	run(t, command(t, nil, "cp", "-R", filepath.Join(npm("root", "--global"), "npm"), modules), 0)
	require.NoError(t, os.Symlink("../lib/node_modules/npm/bin/npx-cli.js", filepath.Join(bin, "npx")))
}
