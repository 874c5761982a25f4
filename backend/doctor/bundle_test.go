package doctor

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBundleRedactsSecretsInEveryEncoding(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs")
	require.NoError(t, os.MkdirAll(filepath.Join(logs, "servers"), 0o700))
	key := "-----BEGIN KEY-----\nMIIEcanaryLINEone0123\nMIIEcanaryLINEtwo0123\n-----END KEY-----"
	text := strings.Repeat("old line\n", 40_000) + "k=canary/quoted\" 1 and canary%2Fquoted%22+1 and MIIEcanaryLINEtwo0123 in /home/someone/x, from canary-env, shape?\n"
	require.NoError(t, os.WriteFile(filepath.Join(logs, "drawbridge.log"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.jsonc"), []byte(`{"mcpServers":{"a":{"command":"x","env":{"A":"${FROM_ENV}"}}}}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{canary`), 0o600))
	now := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	files := Bundle(BundleOptions{
		Version: "1", Now: now, Folders: config.Folders{Logs: logs, State: dir}, Home: "/home/someone",
		Config:    []string{filepath.Join(dir, "config.jsonc"), filepath.Join(dir, "bad.json"), filepath.Join(dir, "none.json")},
		Documents: map[string]any{"status": map[string]string{"reason": `it said canary/quoted" 1`}},
		Secrets:   []string{`canary/quoted" 1`, key, "short", ""},
		Getenv:    func(name string) string { return map[string]string{"FROM_ENV": "canary-env"}[name] },
		Redact:    func(s string) string { return strings.ReplaceAll(s, "shape?", "[redacted]") },
	})
	all := ""
	for _, f := range files {
		all += f.Name + "\n" + f.Text
		assert.Truef(t, f.Bytes == len(f.Text) && f.Bytes <= maxMainLog, "%s has %d bytes, told are %d", f.Name, len(f.Text), f.Bytes)
	}
	for _, gone := range []string{"canary", "/home/someone", "shape?", "none.json"} {
		if at := strings.Index(all, gone); at >= 0 {
			t.Errorf("%q is left: %s", gone, all[max(0, at-60):min(len(all), at+40)])
		}
	}
	for _, there := range []string{"README.txt", "versions.json", "config/config.jsonc.json", "config/bad.json.json", "~/x", "[redacted]", `"${FROM_ENV}"`} {
		assert.Contains(t, all, there)
	}
	var b bytes.Buffer
	require.NoError(t, WriteZip(&b, files, now))
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	require.Len(t, z.File, len(files))
}

// TestBundleRedactsFormerConfigSecrets: logs may contain secrets that the configuration no
// longer contains, and the current file may be unreadable.
func TestBundleRedactsFormerConfigSecrets(t *testing.T) {
	dir := t.TempDir()
	folders := config.Folders{Logs: filepath.Join(dir, "logs"), State: dir, Data: dir}
	entry := func(value string) string {
		return `{"mcpServers":{"a":{"command":"x","env":{"A":"` + value + `"},"inheritEnv":["INHERITED"]}}}`
	}
	if _, err := config.BackupsOf(dir).Create("config.jsonc", []byte(entry("canary-copied")), time.Now()); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.jsonc"), []byte(entry("canary-good")), 0o600))
	good, err := config.Sources{DefaultFile: filepath.Join(dir, "config.jsonc")}.Load()
	require.NoError(t, err)
	log := "said canary-copied, canary-good, canary-inherited, canary-listed and Basic " +
		base64.StdEncoding.EncodeToString([]byte("me:canary-copied")) + " " + base64.StdEncoding.EncodeToString([]byte("someone:canary-good:more")) + "\n"
	for path, text := range map[string]string{
		folders.LastGoodConfigFile():                  string(good.SourceTexts()),
		filepath.Join(dir, "config.jsonc"):            entry("canary-good") + " and then",
		filepath.Join(folders.Logs, "drawbridge.log"): log,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	environment := map[string]string{
		"INHERITED": "canary-inherited", config.EnvServers: `[{"name":"b","command":"y","env":{"B":"canary-listed"}}]`,
	}
	texts := map[string]string{}
	for _, f := range Bundle(BundleOptions{Folders: folders, Config: []string{filepath.Join(dir, "config.jsonc")}, Getenv: func(name string) string { return environment[name] }}) {
		texts[f.Name] = f.Text
		assert.NotContains(t, f.Text, "canary", f.Name)
	}
	const want = "said [masked], [masked], [masked], [masked] and Basic "
	text := texts["logs/drawbridge.log"]
	assert.Truef(t, strings.HasPrefix(text, want) && strings.Count(text, "[masked]") == 6, "the log reads %q", text)
	assert.Contains(t, texts["config/environment.json"], `"name": "b"`, "servers of the environment are shown as")
}
