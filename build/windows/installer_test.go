//go:build windows && e2e

package windows

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

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
	runtime := func() (r struct {
		PID int
		URL string
	}) {
		text, _ := os.ReadFile(filepath.Join(m.data, "runtime.json"))
		_ = json.Unmarshal(text, &r)
		return r
	}
	require.NoError(t, windows.ShellExecute(0, nil, windows.StringToUTF16Ptr(shortcut), nil, nil, windows.SW_SHOWNORMAL))
	eventually.TrueWithin(t, 30*time.Second, "the shortcut starts the program", func() bool { return runtime().PID != 0 })
	before := runtime()
	list, err := windows.GetNamedSecurityInfo(m.data, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	user, userErr := windows.GetCurrentProcessToken().GetTokenUser()
	require.NoError(t, errors.Join(err, userErr))
	if got := list.String(); strings.Count(got, "(") != 2 || !strings.Contains(got, ";SY)") || !strings.Contains(got, user.User.Sid.String()) {
		t.Errorf("others than the user and the system may read the data: %s", got)
	}
	told := m.stream("/api/v1/window")
	opener, err := registry.OpenKey(registry.CURRENT_USER, `Software\Classes\drawbridge\shell\open\command`, registry.QUERY_VALUE)
	require.NoError(t, err)
	line, _, err := opener.GetStringValue("") // Wine opens no links of programs
	opener.Close()
	args, argsErr := windows.DecomposeCommandLine(strings.ReplaceAll(line, "%1", "drawbridge://open/approvals"))
	require.NoError(t, errors.Join(err, argsErr, exec.Command(args[0], args[1:]...).Run()), line)
	assert.Contains(t, eventually.Receive(t, 30*time.Second, "the link opens nothing", told), `"to":"/approvals"`)
	require.NoError(t, os.Remove(filepath.Join(dir, "LICENSE")))
	setup()
	assert.True(t, there(filepath.Join(dir, "LICENSE")) && !alive(before.PID), "the upgrade has not replaced the files, or the old version runs on")
	eventually.TrueWithin(t, 30*time.Second, "the new version has been started", func() bool {
		now := runtime()
		return now.PID != 0 && now.PID != before.PID
	})
	require.NoError(t, exec.Command(filepath.Join(dir, "uninstall.exe"), "/S").Run())
	eventually.TrueWithin(t, 60*time.Second, "the program is removed", func() bool { return !there(dir) })
	if there(shortcut) || there(filepath.Join(m.data, "runtime.json")) || !there(filepath.Join(m.data, "history.db")) {
		t.Error("the shortcut or the daemon is left, or the data is not")
	}
	out, err := exec.Command("reg", "query", `HKCU\Software`, "/s", "/f", "drawbridge").CombinedOutput()
	assert.NotContainsf(t, string(out), `Programs\Drawbridge\`, "in the registry: %v", err)
}
