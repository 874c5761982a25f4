//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// isolatedHome returns the environment of a user without a network: an empty home, and a proxy that
// never responds for addresses of other machines.
func isolatedHome(t testing.TB) (home string, env []string) {
	t.Helper()
	home = t.TempDir()
	const nobody = "http://127.0.0.1:9"
	return home, []string{
		"HOME=" + home, "SHELL=/bin/sh", "CI=true", "NO_COLOR=1",
		"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"),
		"HTTP_PROXY=" + nobody, "HTTPS_PROXY=" + nobody, "http_proxy=" + nobody, "https_proxy=" + nobody,
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
}

func settings(t testing.TB, path string, content object) {
	t.Helper()
	src, err := json.Marshal(content)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, src, 0o600))
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// The test runs published clients with our address and a token in their settings. No model is used.
func TestClientsConnectOverHTTPWithToken(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	url := d.url + "/mcp"
	module := func(path string) string {
		full := abs("node_modules/" + path)
		_, err := os.Stat(full)
		require.NoError(t, err)
		return full
	}
	bearer := func(name string) object { return object{"Authorization": "Bearer " + d.token(name)} }
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]

	for _, c := range []struct {
		name string
		run  func(t *testing.T, home string, env []string) string
		want string
	}{
		{"claude", func(t *testing.T, home string, env []string) string {
			settings(t, filepath.Join(home, ".claude.json"), object{"mcpServers": object{
				"drawbridge": object{"type": "http", "url": url, "headers": bearer("claude")},
			}})
			env = append(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1")
			return inHome(t, home, env, claudeCodeBinary(t), "mcp", "list")
		}, `(?m)^drawbridge: .*Connected`},
		{"opencode", func(t *testing.T, home string, env []string) string {
			settings(t, filepath.Join(home, ".config/opencode/opencode.json"), object{"mcp": object{
				"drawbridge": object{"type": "remote", "url": url, "enabled": true, "oauth": false, "headers": bearer("opencode")},
			}})
			return inHome(t, home, append(env, "OPENCODE_DISABLE_AUTOUPDATE=1"), abs("node_modules/opencode-"+runtime.GOOS+"-"+arch+"/bin/opencode"), "mcp", "list")
		}, `✓ drawbridge\s+connected`},
		{"gemini", func(t *testing.T, home string, env []string) string {
			settings(t, filepath.Join(home, ".gemini/settings.json"), object{"mcpServers": object{
				"drawbridge": object{"type": "http", "url": url, "headers": bearer("gemini")},
			}})
			settings(t, filepath.Join(home, ".gemini/trustedFolders.json"), object{home: "TRUST_FOLDER"})
			return inHome(t, home, env, node, module("@google/gemini-cli/bundle/gemini.js"), "mcp", "list")
		}, `✓ drawbridge: .*Connected`},
		{"inspector", func(t *testing.T, home string, env []string) string {
			return inHome(t, home, env, node, module("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
				"--cli", url, "--transport", "http", "--header", "Authorization: Bearer "+d.token("inspector"), "--method", "tools/list")
		}, `"name": "demo__echo"`},
		{"mcp-remote", func(t *testing.T, home string, env []string) string {
			return remote(t, home, env, module("mcp-remote/dist/proxy.js"), url, d.token("mcp-remote"))
		}, `"name":"demo__echo"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, env := isolatedHome(t)
			said := escapes.ReplaceAllString(c.run(t, home, env), "")
			if !regexp.MustCompile(c.want).MatchString(said) {
				t.Fatalf("%s says\n%s", c.name, tail(said))
			}
		})
	}
}

func inHome(t testing.TB, home string, env []string, program string, args ...string) string {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		t.Skipf("not there for this system: %v", err)
	}
	cmd := command(t, env, program, args...)
	cmd.Dir = home
	cmd.Env = env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, program)
	return string(out) + errs.String()
}

// remote speaks stdio to mcp-remote, as an application without HTTP does, and returns the tool
// list.
func remote(t testing.TB, home string, env []string, script, url, token string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit(20*time.Second))
	defer cancel()
	cmd := exec.CommandContext(ctx, node, script, url, "--header", "Authorization:${TOKEN}")
	cmd.Dir, cmd.Env = home, append(env, "TOKEN=Bearer "+token)
	c := startLines(t, cmd)
	defer c.end()
	defer cancel()
	c.initialize(`{}`)
	return c.ask(2, "tools/list", "").line
}
