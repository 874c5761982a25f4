//go:build e2e

package e2e

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test puts a secret in every source of a bundle, creates the bundle in each of the three ways,
// and searches it for the secrets.
func TestDiagnosticsContainNoSecret(t *testing.T) {
	t.Parallel()
	canaries := []string{
		"canary-env-1", "canary-arg-2", "canary-header-3", "canary-query-4", "canary-user-5", "canary-vault-6", "canary-comment-7",
		"canary-stderr-8", "canary-conf-9", "canary-otlp-10", "canary-expanded-11", "canary-note-12", "canary \"quoted\" 13",
	}
	// It prints its environment, as careless servers do.
	chatty := `echo "key=$MY_KEY other $PLAIN vault $VAULT exp $EXPANDED q $QUOTED password: canary-stderr-8" >&2; exec "$0" demo-server`
	config := object{
		"mcpServers": object{
			"chatty": object{
				"command": "sh", "args": []string{"-c", chatty, binary, "--token", "canary-arg-2"},
				"env": object{"MY_KEY": "canary-env-1", "PLAIN": "canary-note-12", "VAULT": "${secret:my.key}", "EXPANDED": "${CANARY_ENV}", "QUOTED": "canary \"quoted\" 13"},
			},
			"remote": object{"url": "http://canary-user-5:x@127.0.0.1:9/mcp?key=canary-query-4", "headers": object{"X-Custom": "canary-header-3"}, "start": "manual"},
		},
		"metrics": object{"otlp": object{"headers": object{"X-Key": "canary-otlp-10"}}},
	}
	d := start(t, object{}, "CANARY_ENV=canary-expanded-11", "DRAWBRIDGE_KEYRING=off")
	stored := command(t, append(d.env(), "DRAWBRIDGE_KEYRING=off"), binary, "secret", "set", "my.key", "--data", d.data)
	stored.Stdin = strings.NewReader("canary-vault-6")
	run(t, stored, 0)
	require.NoError(t, os.Mkdir(filepath.Join(d.data, "conf.d"), 0o700))
	yaml := "# canary-comment-7\nmcpServers:\n  more:\n    command: no-such-program-anywhere\n    env: {A: canary-conf-9}\n"
	require.NoError(t, os.WriteFile(filepath.Join(d.data, "conf.d/more.yaml"), []byte(yaml), 0o600))
	d.write("config.jsonc", config)
	d.running("chatty")
	token := d.token("some-client")
	canaries = append(canaries, token, d.admin)
	d.cli(0, "call", "chatty", "echo", `{"text":"canary-payload"}`)
	canaries = append(canaries, "canary-payload")

	unpack := func(path string) (all, names string) {
		t.Helper()
		z, err := zip.OpenReader(path)
		require.NoError(t, err)
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			require.NoError(t, err)
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			all += "\n== " + f.Name + "\n" + string(text)
			names += f.Name + "\n"
		}
		return all, names
	}
	check := func(how, all string, needs ...string) {
		t.Helper()
		for _, c := range canaries {
			quoted, _ := json.Marshal(c)
			for _, form := range []string{c, string(quoted[1 : len(quoted)-1])} {
				if at := strings.Index(all, form); at >= 0 {
					t.Errorf("%s holds %q: …%s…", how, c, all[max(0, at-120):min(len(all), at+60)])
				}
			}
		}
		assert.NotContainsf(t, all, d.home, "%s names the home folder", how)
		for _, need := range needs {
			assert.Contains(t, all, need, how)
		}
	}

	running := filepath.Join(t.TempDir(), "running.zip")
	d.cli(2, "doctor", "--report", "--output", running) // there is no terminal to confirm
	_, err := os.Stat(running)
	require.Error(t, err, "it is written without a word")
	shown := d.cli(0, "doctor", "--report", "--yes", "--output", running)
	all, names := unpack(running)
	for name := range strings.Lines(names) {
		if name = strings.TrimPrefix(strings.TrimSpace(name), "drawbridge-diagnostics/"); !strings.Contains(shown, name) {
			t.Errorf("%s is in it and was not shown:\n%s", name, shown)
		}
	}
	check("the zip", all, `"chatty"`, `"running"`, "[masked]", "no-such-program-anywhere", "logs/servers/chatty.log", "config/more.yaml.json", "doctor.json", "Debian")
	d.cli(1, "doctor", "--report", "--yes", "--output", running) // an existing file is not overwritten
	if info, err := os.Stat(running); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the zip is for %v (%v)", info.Mode(), err)
	}
	code, body := d.do("GET", "/api/v1/diagnostics/zip", nil)
	page := filepath.Join(t.TempDir(), "page.zip")
	err = os.WriteFile(page, []byte(body), 0o600)
	require.Truef(t, err == nil && code == 200, "%v %v", code, err)
	all, _ = unpack(page)
	check("the page's zip", all, `"chatty"`, `"running"`)

	d.stop()
	alone := filepath.Join(t.TempDir(), "alone.zip")
	run(t, command(t, append(d.env(), "DRAWBRIDGE_KEYRING=off", "CANARY_ENV=canary-expanded-11"), binary, "doctor", "--report", "--yes", "--output", alone, "--data", d.data), 0)
	all, _ = unpack(alone)
	check("the zip without a daemon", all, "config/config.jsonc.json", "[masked]", "== drawbridge-diagnostics/running.json\nfalse", "logs/drawbridge.log")
}
