package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUninstallRemovesStartAtLogin(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	folders, err := config.FoldersFor(data, func(string) string { return "" })
	require.NoError(t, err)
	login := desktop.AutostartFor(folders)
	require.NoError(t, login.Set(true))
	var out bytes.Buffer
	o := Options{Features: features.Commands(), Env: terminal.Env{Stdin: strings.NewReader("n\n"), Stdout: &out, Stderr: &out, Getenv: func(name string) string {
		return map[string]string{"HOME": home, "DRAWBRIDGE_KEYRING": "off"}[name]
	}, Terminal: func() bool { return true }}}
	require.NoError(t, os.Mkdir(filepath.Join(home, ".cursor"), 0o700))
	require.Equal(t, 0, Main(t.Context(), []string{"clients", "connect", "cursor", "--yes", "--data", data}, o), "exit code")
	if code := Main(t.Context(), []string{"uninstall", "--data", data}, o); code != 1 || !strings.Contains(out.String(), "Disconnect cursor?") {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	if code := Main(t.Context(), []string{"uninstall", "--yes", "--data", data}, o); code != 0 || !strings.Contains(out.String(), "The data is still in "+data+". To delete it: drawbridge uninstall --delete-data\nRemove the program") {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	on, err := login.Enabled()
	require.Truef(t, !on && err == nil, "it still starts at login: %v %v", on, err)
}

func TestUninstallDeletesWhatTheWindowStored(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	env := func(name string) string {
		return map[string]string{"HOME": home, "APPDATA": home, "LOCALAPPDATA": home}[name]
	}
	folders, err := config.FoldersFor("", env)
	require.NoError(t, err)
	require.NotEmpty(t, folders.Web, "the folders of the web engine are unknown")
	for _, dir := range folders.Web {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "Records"), 0o700))
	}
	uninstall := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		require.Equal(t, 0, Main(t.Context(), append([]string{"uninstall", "--yes"}, args...), Options{Env: terminal.Env{Stdout: &out, Stderr: &out, Getenv: env}}))
	}
	exist := func() (n int) {
		for _, dir := range folders.Web {
			if _, err := os.Stat(dir); err == nil {
				n++
			}
		}
		return n
	}
	// Every data folder shares them, so deleting one that was named keeps them.
	uninstall("--delete-data", "--data", t.TempDir())
	uninstall()
	assert.Equal(t, len(folders.Web), exist(), "what the window stored is gone, but its deletion was not requested")
	uninstall("--delete-data")
	assert.Equalf(t, 0, exist(), "the window left %v", folders.Web)
}

// What guests left is named before it is removed: their access tokens, their folders and their settings.
func TestUninstallNamesAndRemovesGuests(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	env := func(name string) string {
		return map[string]string{"HOME": home, "APPDATA": home, "LOCALAPPDATA": home, "DRAWBRIDGE_KEYRING": "off"}[name]
	}
	data := t.TempDir()
	folders, err := config.FoldersFor(data, env)
	require.NoError(t, err)
	file := config.SourcesFor("", folders, env).Main()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(`{"policy": {"clients": {"blog": {"approval": "ask"}}}}`), 0o600))
	tokens, err := loopback.NewTokens(data, nil)
	require.NoError(t, err)
	_, err = tokens.CreateGuest("blog", 0)
	require.NoError(t, err)
	_, err = tokens.Create("cursor")
	require.NoError(t, err)
	folder := filepath.Join(data, "guests", "blog")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, loopback.GuestToken), []byte("x"), 0o600))
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := Main(t.Context(), append([]string{"uninstall", "--data", data}, args...), Options{Features: features.Commands(), Env: terminal.Env{
			Stdin: strings.NewReader("n\n"), Stdout: &out, Stderr: &out, Getenv: env, Terminal: func() bool { return true }}})
		return code, out.String()
	}
	code, out := run()
	assert.Truef(t, code == 1 && strings.Contains(out, "No client is connected. Remove the guests blog, turn off Start at login and delete the sign-in tokens?"), "%d %s", code, out)
	code, out = run("--yes", "--json")
	var document struct{ Guests []map[string]string }
	require.NoError(t, json.Unmarshal([]byte(out), &document), out)
	assert.Truef(t, code == 0 && len(document.Guests) == 1 && document.Guests[0]["name"] == "blog", "%d %s", code, out)
	_, err = os.Stat(filepath.Dir(folder))
	assert.ErrorIs(t, err, os.ErrNotExist)
	text, err := os.ReadFile(file)
	assert.NotContains(t, string(text), "blog", err)
	tokens, err = loopback.NewTokens(data, nil)
	require.NoError(t, err)
	list, err := tokens.ListWithSecrets()
	assert.Truef(t, err == nil && len(list) == 1 && list[0].Name == "cursor", "%v %v", list, err)

	_, err = tokens.CreateGuest("again", 0)
	require.NoError(t, err)
	code, out = run("--yes")
	assert.Truef(t, code == 0 && strings.Contains(out, "guest again: Its socket, its access token and its settings were removed."), "%d %s", code, out)
}
