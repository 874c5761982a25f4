//go:build windows && e2e

package windows

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// The installer knows the real folders of the user only, so this test uses them.
func TestInstallerUpgradesRunningProgramAndLeavesOnlyData(t *testing.T) {
	m := &machine{T: t, home: os.Getenv("USERPROFILE"), data: filepath.Join(os.Getenv("LOCALAPPDATA"), "Drawbridge")}
	dir := filepath.Join(os.Getenv("LOCALAPPDATA"), "Programs", "Drawbridge")
	setup := func() {
		t.Helper()
		if err := exec.Command(m.program("setup.exe"), "/S").Run(); err != nil { // no pipe, which the program that it starts would keep open
			t.Fatal(err)
		}
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	setup()
	shortcut := filepath.Join(os.Getenv("APPDATA"), `Microsoft\Windows\Start Menu\Programs\Drawbridge.lnk`)
	if link, err := os.ReadFile(shortcut); err != nil || !bytes.Contains(bytes.ReplaceAll(link, []byte{0}, nil), []byte("drawbridgew.exe")) {
		t.Fatalf("%v\n%q", err, link)
	}
	daemon := exec.Command(filepath.Join(dir, "drawbridgew.exe"), "serve", "--no-tray")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the daemon answers", func() bool { return there(filepath.Join(m.data, "runtime.json")) })
	before, _ := os.ReadFile(filepath.Join(m.data, "runtime.json"))
	if err := os.Remove(filepath.Join(dir, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	setup()
	if err := daemon.Wait(); err != nil || !there(filepath.Join(dir, "LICENSE")) {
		t.Errorf("the upgrade: %v", err)
	}
	eventually.TrueWithin(t, 30*time.Second, "the new version has been started", func() bool {
		now, err := os.ReadFile(filepath.Join(m.data, "runtime.json"))
		return err == nil && !bytes.Equal(now, before)
	})
	if err := exec.Command(filepath.Join(dir, "uninstall.exe"), "/S").Run(); err != nil {
		t.Fatal(err)
	}
	eventually.TrueWithin(t, 60*time.Second, "the program is removed", func() bool { return !there(dir) })
	if there(shortcut) || there(filepath.Join(m.data, "runtime.json")) || !there(filepath.Join(m.data, "history.db")) {
		t.Error("the shortcut or the daemon is left, or the data is not")
	}
	if out, err := exec.Command("reg", "query", `HKCU\Software`, "/s", "/f", "drawbridge").CombinedOutput(); strings.Contains(string(out), `Programs\Drawbridge\`) {
		t.Errorf("in the registry: %v\n%s", err, out)
	}
}
