package clientconf

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesOfAllClientsAreFound(t *testing.T) {
	home := t.TempDir()
	var want []string
	for _, path := range []string{".config/Code/User/mcp.json", ".config/Code/User/profiles/a/mcp.json", ".config/zed/settings.json", ".lmstudio/mcp.json", "own/config.toml"} {
		path = filepath.Join(home, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		want = append(want, path)
	}
	getenv := func(name string) string { return map[string]string{"CODEX_HOME": filepath.Join(home, "own")}[name] }
	got := System{GOOS: "linux", Home: home, Getenv: getenv}.Files()
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
