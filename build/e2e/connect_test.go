//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Settings edited by the user: unusual spacing, an escape, a number that no float can represent, no
// newline at the end.
const claudeSettings = "{\n   \"numStartups\":7 , \"theme\" : \"d\\u0061rk\",\n\t\"big\": 9007199254740993,\r\n  \"mcpServers\": { \"other\": {\"type\":\"stdio\", \"command\":\"true\", \"args\":[ ] } }\n}"

// claudeCodeBinary returns the path of Claude Code, and skips the test if it is not installed.
func claudeCodeBinary(t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	path := abs("node_modules/@anthropic-ai/claude-code-" + runtime.GOOS + "-" + arch + "/claude")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("Claude Code is not there for this system: %v", err)
	}
	return path
}

// The test runs clients connect for five published programs from npm, without a network or a model.
// Each reaches our tools without help, and undo restores its file exactly.
func TestRealClientsConnectThroughWrittenEntryAndUndo(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	codexArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for _, c := range []struct {
		id, file, settings string
		program            []string
		env                []string
		want               string // expected output; "" if only our side can tell
	}{
		{
			id: "claude-code", file: ".claude.json", settings: claudeSettings,
			program: []string{claudeCodeBinary(t), "mcp", "list"},
			env:     []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1"},
			want:    `(?m)^drawbridge: .*Connected`,
		},
		{
			id: "codex", file: ".codex/config.toml",
			settings: "# mine\nmodel = \"gpt-5\"\nmodel_provider = \"nobody\"\n\n[model_providers.nobody]\nname = \"Nobody\"\nbase_url = \"http://127.0.0.1:9/v1\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\n[mcp_servers.other] # old\ncommand = \"true\"\nenabled = false\n",
			program:  []string{abs("node_modules/@openai/codex-" + runtime.GOOS + "-" + arch + "/vendor/" + codexArch + "-unknown-linux-musl/bin/codex"), "exec", "--skip-git-repo-check", "hi"},
			env:      []string{"OPENAI_API_KEY=x"},
		},
		{
			id: "gemini-cli", file: ".gemini/settings.json",
			settings: "{\n  // my theme\n  \"ui\": {\"theme\": \"GitHub\"},\n  \"mcpServers\": {\n    \"off\": {\"command\": \"true\"} // later\n  }\n}",
			program:  []string{node, abs("node_modules/@google/gemini-cli/bundle/gemini.js"), "mcp", "list"},
			want:     `✓ drawbridge: .*Connected`,
		},
		{
			id: "opencode", file: ".config/opencode/opencode.jsonc",
			settings: "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\r\n\t// models\r\n\t\"mcp\": {\n\t\t\"off\": {\"type\": \"local\", \"command\": [\"true\"], \"enabled\": false},\n\t},\n}\n",
			program:  []string{abs("node_modules/opencode-" + runtime.GOOS + "-" + arch + "/bin/opencode"), "mcp", "list"},
			env:      []string{"OPENCODE_DISABLE_AUTOUPDATE=1"},
			want:     `✓ drawbridge\s+connected`,
		},
		{
			id: "qwen-code", file: ".qwen/settings.json",
			settings: "{\n    \"$version\": 3,\n    /* servers */\n    \"mcpServers\": {}\n}\n",
			program:  []string{node, abs("node_modules/@qwen-code/qwen-code/cli-entry.js"), "mcp", "list"},
			want:     `✓ drawbridge: .*Connected`,
		},
	} {
		t.Run(c.id, func(t *testing.T) {
			if _, err := os.Stat(c.program[0]); err != nil {
				t.Skipf("not there for this system: %v", err)
			}
			path := filepath.Join(d.home, c.file)
			put(t, path, c.settings)
			put(t, filepath.Join(d.home, ".gemini/trustedFolders.json"), `{"`+d.home+`": "TRUST_FOLDER"}`)

			d.cli(0, "clients", "connect", c.id, "--yes")
			d.cli(0, "clients", "disconnect", c.id)
			require.Equal(t, c.settings, take(t, path), "disconnect leaves")
			d.cli(0, "clients", "connect", c.id, "--yes")
			_, env := isolatedHome(t)
			env[0] = "HOME=" + d.home
			ctx, cancel := context.WithTimeout(t.Context(), limit(25*time.Second))
			defer cancel()
			cmd := exec.CommandContext(ctx, c.program[0], c.program[1:]...)
			cmd.Dir, cmd.Env = d.home, append(env, c.env...)
			var said lockedBuffer
			cmd.Stdout, cmd.Stderr = &said, &said
			require.NoError(t, cmd.Start())
			done := make(chan struct{})
			go func() { cmd.Wait(); close(done) }()
			seen := false
			for ended := false; !ended && !(seen && c.want == ""); {
				select {
				case <-done:
					ended = true
				case <-time.After(50 * time.Millisecond):
				}
				seen = seen || d.sees(c.id)
			}
			cancel()
			<-done
			text := escapes.ReplaceAllString(said.String(), "")
			if c.want != "" && !regexp.MustCompile(c.want).MatchString(text) || c.want == "" && !seen {
				t.Fatalf("%s does not reach us (seen %v):\n%s", c.id, seen, tail(text))
			}
			t.Logf("seen by the daemon: %v\n%s", seen, tail(text))
			var list struct {
				Items []struct {
					Key, Next string
					Live      bool
				}
			}
			d.get("/api/v1/connections", &list)
			for _, one := range list.Items {
				assert.Falsef(t, one.Key == c.id && (!one.Live || one.Next != ""), "it came, and its connection is not green: %+v", one)
			}
		})
	}
}

// sees reports whether the daemon has a session with the client's token.
func (d *daemon) sees(token string) bool {
	var list struct {
		Items []struct {
			Token    string
			Sessions int
		}
	}
	d.get("/api/v1/clients", &list)
	for _, c := range list.Items {
		if c.Token == token && c.Sessions > 0 {
			return true
		}
	}
	return false
}

func put(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// putProgram writes a shell script that can be run.
func putProgram(t testing.TB, path, script string) {
	t.Helper()
	put(t, path, "#!/bin/sh\n"+script)
	require.NoError(t, os.Chmod(path, 0o755))
}

func take(t testing.TB, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(src)
}

func TestWipedFileIsDetectedAndRestoredExactly(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{}})
	path := filepath.Join(d.home, ".config/Claude/claude_desktop_config.json")
	put(t, path, "{\n    \"globalShortcut\": \"Ctrl+Space\",\n    \"mcpServers\": {\n        \"own\": {\"command\": \"true\"}\n    }\n}\n")
	d.cli(0, "clients", "connect", "claude-desktop", "--yes")
	connected := take(t, path)

	stream, err := http.DefaultClient.Do(d.request("GET", "/api/v1/events", nil).WithContext(t.Context()))
	require.NoError(t, err)
	defer stream.Body.Close()
	told := make(chan time.Time, 16)
	go func() {
		lines := bufio.NewScanner(stream.Body)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			if text := lines.Text(); strings.Contains(text, "clients/claude-desktop") && strings.Contains(text, "no longer") {
				told <- time.Now()
			}
		}
	}()
	state := func(want string) {
		t.Helper()
		eventually.Complete(t, limit(5*time.Second), func() string {
			var list struct{ Items []struct{ Key, State string } }
			d.get("/api/v1/connections", &list)
			for _, c := range list.Items {
				if c.Key == "claude-desktop" && c.State != want {
					return "the state is " + c.State
				}
			}
			return ""
		})
	}
	state("connected")
	round := 0
	for _, wiped := range []string{"{\n    \"globalShortcut\": \"Ctrl+Space\",\n    \"mcpServers\": {}\n}\n", "", "{\"globalShortcut\":\"Ctrl+Space\"}"} {
		began := time.Now()
		put(t, path, wiped)
		select {
		case at := <-told:
			t.Logf("told after %s", at.Sub(began))
			took := at.Sub(began)
			assert.Truef(t, took <= limit(2*time.Second), "noticed after %s", took)
		case <-time.After(limit(5 * time.Second)):
			t.Fatalf("nothing is said of %q", wiped)
		}
		state("vanished")
		d.cli(0, "clients", "connect", "--restore", "claude-desktop")
		require.Equal(t, connected, take(t, path))
		round++
		eventually.Complete(t, limit(5*time.Second), func() string { // the guard reports only entries that it has seen complete
			if n := strings.Count(d.log.String(), "client=claude-desktop state=connected"); n < round {
				return fmt.Sprintf("the guard saw it back %d times, want %d", n, round)
			}
			return ""
		})
	}
}
