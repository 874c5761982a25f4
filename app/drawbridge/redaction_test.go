package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The secret is one that no server uses and that nobody has read.
func TestStoredSecretIsRedactedImmediately(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer func() { _ = kept.Close() }()
	none := map[string]string{"DRAWBRIDGE_KEYRING": "off"}
	dir := t.TempDir()
	vault := secret.For(dir, func(name string) string { return none[name] })
	k := newRecorderRedaction(kept.Recorder(), nil, slog.New(slog.DiscardHandler), vault)
	get := k.secretReader(vault)
	k.apply(&config.Config{})
	text := "before qwx-first-value and qwx-other-value after"
	require.Equal(t, text, kept.Recorder().Redact(text), "taken out too early")
	require.NoError(t, vault.Set(t.Context(), "first", "qwx-first-value"))
	said := kept.Recorder().Redact(text)
	assert.Truef(t, !strings.Contains(said, "qwx-first-value") && strings.Contains(said, "qwx-other-value"), "after it was set: %s", said)
	// Another program sets a secret; a reader gets it after the recorder knows it.
	other := secret.For(dir, func(name string) string { return none[name] })
	require.NoError(t, other.Set(t.Context(), "other", "qwx-other-value"))
	value, err := get(t.Context(), "other")
	require.Truef(t, err == nil && value == "qwx-other-value", "%v %v", value, err)
	assert.NotContains(t, kept.Recorder().Redact(text), "qwx-other-value", "after it was asked")
}

// The arguments contain a path after TOKEN=…, and one after --token.
func TestArgumentAfterSecretFlagIsHandled(t *testing.T) {
	c := &config.Config{Servers: []config.Server{{ID: "a", Args: []string{
		"MY_TOKEN=qwx-first-value", "/usr/local/bin/server", "--token", "qwx-other-value", "X=${secret:my.token}", "/srv/data",
	}}}}
	got, _ := configuredValues(c, func(name string) (string, bool) { return "qwx-third-value", name == "secret:my.token" })
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, []string{"qwx-first-value", "qwx-other-value", "qwx-third-value"}) {
		t.Errorf("taken for secrets: %q", got)
	}
}

// They are logged once, and only their number is logged.
func TestUnredactableSecretsAreLogged(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer func() { _ = kept.Close() }()
	var said bytes.Buffer
	k := newRecorderRedaction(kept.Recorder(), nil, slog.New(slog.NewTextHandler(&said, nil)))
	c := &config.Config{Servers: []config.Server{{ID: "a", Env: map[string]string{}}}}
	k.apply(c)
	if said.Len() > 0 {
		t.Fatalf("said without a secret: %s", &said)
	}
	for n := range 5000 {
		c.Servers[0].Env[fmt.Sprintf("N%d_TOKEN", n)] = fmt.Sprintf("qwx-value-%d", n)
	}
	k.set(c, func(string) (string, bool) { return "", false })
	k.refresh()
	text := said.String()
	assert.Truef(t, strings.Count(text, "level=WARN") == 1 && strings.Contains(text, "secrets=904") && !strings.Contains(text, "qwx"), "said %s", text)
}

// The names say nothing; the values are those of environments, headers and of variables anywhere in an entry.
func TestValuesOfConfiguredVariablesAreRedacted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	c := &config.Config{Servers: []config.Server{{
		ID: "a", Command: "/opt/${IN_COMMAND}/server", Args: []string{"--id", "${IN_ARGS}", "literal-Argument-1"}, Cwd: "/srv/${IN_CWD}", URL: "https://h/${IN_URL}",
		Env: map[string]string{"LICENSE": "ABCD-1234-EFGH-5678", "P": "PlainEnvSecr3t", "MODE": "production", "LEVEL": "true", "N": "123456", "DIR": dir, "NESTED": "x=${IN_ENV}"}, InheritEnv: []string{"INHERITED"},
		Headers: map[string]string{"X-Tenant": "Tenant-9x7Qb"}, Accounts: map[string]config.Account{"w": {Env: map[string]string{"WHO": "Account-4Value"}}},
	}}}
	variables := map[string]string{"IN_COMMAND": "Command-1Value", "IN_ARGS": "Args-2Value", "IN_CWD": "Cwd-3Value", "IN_URL": "Url-5Value", "IN_ENV": "Env-6Value", "INHERITED": "Inherited-7Value"}
	_, others := configuredValues(c, func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	slices.Sort(others)
	want := []string{"ABCD-1234-EFGH-5678", "Account-4Value", "Args-2Value", "Command-1Value", "Cwd-3Value", "Env-6Value", "Inherited-7Value", "PlainEnvSecr3t", "Tenant-9x7Qb", "Url-5Value", "x=Env-6Value"}
	if others = slices.Compact(others); !slices.Equal(others, want) {
		t.Errorf("redacted: %q, want %q", others, want)
	}
}

func TestConfigurationFilesInUseArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	data, dir := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	folders, err := config.FoldersFor(data, func(string) string { return "" })
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("real.jsonc"), []byte("{}"), 0o600))
	require.NoError(t, os.MkdirAll(folders.ConfDir(), 0o700))
	for link, to := range map[string]string{in("second.jsonc"): "real.jsonc", in("first.jsonc"): in("second.jsonc"), filepath.Join(folders.ConfDir(), "a.json"): in("of-folder.json")} {
		require.NoError(t, os.Symlink(to, link))
	}
	for name, c := range map[string]struct {
		sources config.Sources
		want    []string
	}{
		"given":   {config.SourcesFor(in("first.jsonc"), folders, func(string) string { return "" }), []string{in("first.jsonc"), in("second.jsonc"), in("real.jsonc"), data}},
		"default": {config.SourcesFor("", folders, func(string) string { return "" }), []string{in("of-folder.json"), data}},
	} {
		got := privatePaths(folders, c.sources)
		for _, path := range c.want {
			assert.Contains(t, got, path, name)
		}
	}
}
