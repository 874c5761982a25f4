package clientconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nobody is the id of a user who owns no files on this machine.
const nobody = 65534

// asNobody runs this binary as another user than root to connect in home, which that user
// must own, and returns its output.
func asNobody(t *testing.T, home string) string {
	t.Helper()
	src, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(home, "writer")
	require.NoError(t, os.WriteFile(program, src, 0o755))
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env = "/", []string{"CLIENTCONF_WRITE_ONCE=" + home, "CLIENTCONF_DIR=" + filepath.Join(home, "clients")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, out)
	return string(out)
}

// A file of another user that is not writable is unchanged, although its directory would
// permit replacing it.
func TestFileOfOtherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several users")
	}
	home, err := os.MkdirTemp("/tmp", "owner") // accessible to all users
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	require.NoError(t, os.Chown(home, nobody, nobody))
	path := filepath.Join(home, ".claude.json")
	write(t, path, claudeFile)
	require.NoError(t, os.Chmod(path, 0o644))
	said := asNobody(t, home)
	var now syscall.Stat_t
	err = syscall.Stat(path, &now)
	assert.Truef(t, err == nil && now.Uid == 0 && content(t, path) == claudeFile, "it was replaced by a file of user %d: %v", now.Uid, err)
	assert.Contains(t, said, "read-only", "the writer")
}

// When root connects for the user, the user still owns the file.
func TestWriteKeepsFileOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several users")
	}
	c, _, path := newClaudeConnector(t)
	require.NoError(t, os.Chown(path, nobody, nobody))
	connect(t, c, "claude-code")
	var now syscall.Stat_t
	if err := syscall.Stat(path, &now); err != nil || now.Uid != nobody || now.Gid != nobody || now.Mode&0o777 != 0o640 {
		t.Errorf("user %d, group %d, mode %o: %v", now.Uid, now.Gid, now.Mode, err)
	}
	assert.Contains(t, content(t, path), "drawbridge", "it was not written")
}
