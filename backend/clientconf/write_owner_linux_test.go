package clientconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is the id of a user who owns no files on this machine.
const nobody = 65534

// asNobody runs this binary as another user than root to connect in home, which that user
// must own, and returns its output.
func asNobody(t *testing.T, home string) string {
	t.Helper()
	src, err := os.ReadFile(os.Args[0])
	must(t, err)
	program := filepath.Join(home, "writer")
	must(t, os.WriteFile(program, src, 0o755))
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env = "/", []string{"CLIENTCONF_WRITE_ONCE=" + home, "CLIENTCONF_DIR=" + filepath.Join(home, "clients")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the writer: %v: %s", err, out)
	}
	return string(out)
}

// A file of another user that is not writable is unchanged, although its directory would
// permit replacing it.
func TestFileOfOtherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several users")
	}
	home, err := os.MkdirTemp("/tmp", "owner") // accessible to all users
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	must(t, os.Chown(home, nobody, nobody))
	path := filepath.Join(home, ".claude.json")
	write(t, path, claudeFile)
	must(t, os.Chmod(path, 0o644))
	said := asNobody(t, home)
	var now syscall.Stat_t
	if err := syscall.Stat(path, &now); err != nil || now.Uid != 0 || content(t, path) != claudeFile {
		t.Errorf("it was replaced by a file of user %d: %v", now.Uid, err)
	}
	if !strings.Contains(said, "read-only") {
		t.Errorf("the writer said %q", said)
	}
}

// When root connects for the user, the user still owns the file.
func TestWriteKeepsFileOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several users")
	}
	c, _, path := newClaudeConnector(t)
	must(t, os.Chown(path, nobody, nobody))
	connect(t, c, "claude-code")
	var now syscall.Stat_t
	if err := syscall.Stat(path, &now); err != nil || now.Uid != nobody || now.Gid != nobody || now.Mode&0o777 != 0o640 {
		t.Errorf("user %d, group %d, mode %o: %v", now.Uid, now.Gid, now.Mode, err)
	}
	if !strings.Contains(content(t, path), "drawbridge") {
		t.Error("it was not written")
	}
}
