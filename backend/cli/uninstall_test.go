package cli

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestUninstallRemovesStartAtLogin(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	folders, err := config.FoldersFor(data, func(string) string { return "" })
	must(t, err)
	login := autostartEntry(folders)
	must(t, login.Set(true))
	var out bytes.Buffer
	o := Options{Stdout: &out, Stderr: &out, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	if code := Main(t.Context(), []string{"uninstall", "--yes", "--data", data}, o); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	if on, err := login.Enabled(); on || err != nil {
		t.Fatalf("it still starts at login: %v %v", on, err)
	}
}
