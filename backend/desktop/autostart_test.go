//go:build !windows && !darwin

package desktop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStartAtLoginIsWrittenAndRemoved(t *testing.T) {
	a := Autostart{Program: "/opt/draw bridge/drawbridge", config: t.TempDir()}
	state := func(want bool) {
		t.Helper()
		on, err := a.Enabled()
		require.Truef(t, on == want && err == nil, "enabled %v, %v; want %v", on, err, want)
	}
	set := func(on bool) {
		t.Helper()
		require.NoError(t, a.Set(on))
	}
	state(false)
	set(false) // removing a missing entry is not an error
	set(true)
	state(true)
	set(true)
	other := a
	other.Data = "/srv/other"
	on, _ := other.Enabled()
	require.False(t, on, "a second data folder shares the entry of the first")
	moved := a
	moved.Program = "/usr/bin/drawbridge"
	on, _ = moved.Enabled()
	require.False(t, on, "an entry that starts another program counts as ours")
	set(false)
	state(false)
	left, err := os.ReadDir(filepath.Join(a.config, "autostart"))
	require.NoError(t, err, "left behind")
	require.Empty(t, left, "left behind")
}

func TestStartAtLoginEntryIsValidForEveryPath(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/drawbridge": "Exec=/usr/bin/drawbridge serve\n",
		"/a b/drawbridge":     "Exec=\"/a b/drawbridge\" serve\n",
		"/100%/drawbridge":    "Exec=/100%%/drawbridge serve\n",
		"/$HOME`x`\\\"/d":     `Exec="/\\$HOME\\` + "`" + `x\\` + "`" + `\\\\\\"/d" serve` + "\n",
	} {
		_, content, err := Autostart{Program: path, config: t.TempDir()}.file()
		assert.NoError(t, err, path)
		assert.Contains(t, string(content), want, path)
		file := filepath.Join(t.TempDir(), "x.desktop")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		if tool, err := exec.LookPath("desktop-file-validate"); err == nil {
			if out, err := exec.Command(tool, file).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", path, out)
			}
		}
	}
}

func TestStartAtLoginRefusesUnsupportedPaths(t *testing.T) {
	for _, a := range []Autostart{{Program: "drawbridge"}, {Program: "/bin/x\ny"}, {Program: "/bin/x", Data: "/a\nExec=evil"}} {
		a.config = t.TempDir()
		assert.Errorf(t, a.Set(true), "%+v was written", a)
	}
}
