//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An update to a package whose results differ is compared with recorded calls: every difference is
// shown, also of prompts, resources and their lists; values that change with each call are not, and
// tools that may change something are not called.
func TestVersionsAreComparedOnRecordedCalls(t *testing.T) {
	t.Parallel()
	// The other version is a copy with a changed sum, without one tool, and with one that fails.
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.CopyFS(other, os.DirFS(abs("node_modules/@modelcontextprotocol/server-everything"))))
	require.NoError(t, os.Symlink(abs("node_modules"), filepath.Join(other, "node_modules")))
	change := func(file, from, to string) {
		path := filepath.Join(other, "dist/tools", file)
		text, err := os.ReadFile(path)
		require.NoError(t, err, file)
		require.Contains(t, string(text), from, file)
		put(t, path, strings.ReplaceAll(string(text), from, to))
	}
	change("get-sum.js", "The sum of", "The total of")
	change("get-tiny-image.js", `"get-tiny-image"`, `"get-image"`)
	change("../prompts/simple.js", "This is a simple prompt", "This is a plain prompt")
	change("../prompts/args.js", "Name of the city", "City")
	change("../docs/features.md", "Everything Server", "Other Server")
	change("toggle-simulated-logging.js", "readOnlyHint: false", "readOnlyHint: true")
	programs, home := t.TempDir(), t.TempDir()
	// This npx replaces the package registry.
	putProgram(t, filepath.Join(programs, "npx"), "case \"$*\" in *@2.0.0) dir="+other+";; *) dir="+abs("node_modules/@modelcontextprotocol/server-everything")+";; esac\nexec "+node+" \"$dir/dist/index.js\"\n")
	put(t, filepath.Join(home, ".profile"), "export PATH="+programs+":$PATH\n")
	const pack = "@modelcontextprotocol/server-everything"
	d := start(t, object{"mcpServers": object{"every": object{"command": "npx", "args": []string{"-y", pack + "@1.0.0"}}}}, "HOME="+home, "PATH="+programs+":"+os.Getenv("PATH"))
	d.running("every")
	for _, c := range [][2]string{
		{"echo", `{"message":"hi"}`}, {"get-sum", `{"a":2,"b":3}`}, {"get-sum", `{"b":3, "a":2}`}, {"get-sum", `{"a":4,"b":5}`}, {"get-tiny-image", `{}`},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`}, {"toggle-simulated-logging", `{}`},
	} {
		d.cli(0, "call", "every", c[0], c[1])
	}
	const features = "demo://resource/static/document/features.md"
	reader := &rawClient{t: t, url: d.url + "/s/every/mcp", token: d.token("reader")}
	reader.initialize()
	reader.post("prompts/get", "simple-prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"simple-prompt","arguments":{}}}`)
	reader.post("resources/read", features, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"`+features+`"}}`)
	if got := d.cli(0, "versions", "update", "every", "2.0.0"); !strings.Contains(got, `- "The sum of 2 and 3 is 5."`) || !strings.Contains(got, `+ "The total of 4 and 5 is 9."`) ||
		!strings.Contains(got, "5 same, 5 different, 1 failed, 1 skipped\nNothing was changed.") {
		t.Error(got)
	}
	var plan struct {
		Comparison struct {
			Calls []struct {
				Tool, Prompt, Resource, Definitions string
				Result, Reason                      string
				Changes                             []struct{ Path string }
				Unstable                            []string
			}
		}
	}
	comparison := func(code int, args ...string) map[string]string {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(d.cli(code, append([]string{"--json", "versions", "update", "every", "2.0.0"}, args...)...)), &plan))
		got := map[string]string{}
		for _, c := range plan.Comparison.Calls {
			got[c.Tool+c.Prompt+c.Resource+c.Definitions] = fmt.Sprint(c.Result, " ", c.Changes)
			// The text of this resource contains its time in seconds, so all runs may have the
			// same.
			if clock := "/content/1/resource/text"; len(c.Unstable) > 1 || len(c.Unstable) == 1 && (c.Tool != "get-resource-reference" || c.Unstable[0] != clock) {
				t.Errorf("%s: unstable: %v", c.Tool, c.Unstable)
			}
		}
		return got
	}
	before := len(d.calls())
	want := map[string]string{
		"echo": "alike []", "get-sum": "different [{/content/0/text}]", "toggle-simulated-logging": "skipped []",
		"get-resource-reference": "alike []", "server": "alike []", "resources": "alike []", "resourceTemplates": "alike []",
		"prompts": "different [{/args-prompt/arguments/0/description}]", "simple-prompt": "different [{/messages/0/content/text}]", features: "different [{/contents/0/text}]",
		"get-tiny-image": "failed [{/content/0/text} {/content/1} {/content/2} {/isError}]",
	}
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(comparison(0)))
	// Each version runs in new processes: this tool answers as on its first call.
	assert.Equal(t, "alike []", comparison(0, "--also", "toggle-simulated-logging")["toggle-simulated-logging"], "named with --also")
	assert.Equal(t, before, len(d.calls()))
	d.cli(1, "versions", "update", "every", "2.0.0", "--yes", "--compare")
	assert.Contains(t, d.cli(0, "versions"), "1.0.0", "a version with differences was saved")
	d.cli(0, "versions", "update", "every", "2.0.0", "--yes")
	assert.Contains(t, d.cli(0, "versions"), "2.0.0")
}
