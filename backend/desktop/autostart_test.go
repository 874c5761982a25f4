//go:build !windows && !darwin

package desktop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestStartAtLoginIsWrittenAndRemoved(t *testing.T) {
	a := Autostart{Program: "/opt/draw bridge/drawbridge", config: t.TempDir()}
	state := func(want bool) {
		t.Helper()
		if on, err := a.Enabled(); on != want || err != nil {
			t.Fatalf("enabled %v, %v; want %v", on, err, want)
		}
	}
	set := func(on bool) {
		t.Helper()
		if err := a.Set(on); err != nil {
			t.Fatal(err)
		}
	}
	state(false)
	set(false) // removing a missing entry is not an error
	set(true)
	state(true)
	set(true)
	other := a
	other.Data = "/srv/other"
	if on, _ := other.Enabled(); on {
		t.Fatal("a second data folder shares the entry of the first")
	}
	moved := a
	moved.Program = "/usr/bin/drawbridge"
	if on, _ := moved.Enabled(); on {
		t.Fatal("an entry that starts another program counts as ours")
	}
	set(false)
	state(false)
	left, err := os.ReadDir(filepath.Join(a.config, "autostart"))
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v %v", left, err)
	}
}

func TestStartAtLoginEntryIsValidForEveryPath(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/drawbridge": "Exec=/usr/bin/drawbridge serve\n",
		"/a b/drawbridge":     "Exec=\"/a b/drawbridge\" serve\n",
		"/100%/drawbridge":    "Exec=/100%%/drawbridge serve\n",
		"/$HOME`x`\\\"/d":     `Exec="/\\$HOME\\` + "`" + `x\\` + "`" + `\\\\\\"/d" serve` + "\n",
	} {
		_, content, err := Autostart{Program: path, config: t.TempDir()}.file()
		if err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s gives %s, want %s (%v)", path, content, want, err)
		}
		file := filepath.Join(t.TempDir(), "x.desktop")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
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
		if err := a.Set(true); err == nil {
			t.Errorf("%+v was written", a)
		}
	}
}
