package mcptest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// LinkFolder makes link lead to a folder until the test ends: with a junction on Windows, where other links
// need a privilege. Wine makes none, but follows a link that its host made, and shows it as a folder.
func LinkFolder(t testing.TB, folder, link string) {
	t.Helper()
	if runtime.GOOS != "windows" {
		if err := os.Symlink(folder, link); err != nil {
			t.Fatal(err)
		}
		return
	}
	there := func() bool { _, err := os.Stat(link); return err == nil }
	if exec.Command("cmd", "/c", "mklink", "/J", link, folder).Run() == nil && there() {
		return
	}
	paths, err := exec.Command("winepath", "-u", folder, link).Output()
	if err != nil {
		t.Fatal(err)
	}
	host := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(paths), "\r", "")), "\n")
	run := func(done func() bool, program ...string) {
		if err := exec.Command("start", append([]string{"/unix"}, program...)...).Run(); err != nil {
			t.Error(err)
		}
		eventually.True(t, strings.Join(program, " ")+" has an effect", done)
	}
	run(there, "/bin/ln", "-s", host[0], host[1])
	t.Cleanup(func() { run(func() bool { return !there() }, "/bin/rm", host[1]) })
}
