//go:build !windows

package config

import (
	"fmt"
	"os"
	"syscall"
)

// makePrivate creates a folder that only the user may access. An existing folder keeps its
// permissions, because the files in it have their own. It is refused if every user may write to
// it, or if it belongs to another user except root, because these could replace the files.
func makePrivate(dir string, _ bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("any user on this machine can write to %s. Fix it with: chmod o-w %q", dir, dir)
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && of.Uid != 0 && int64(of.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%s is owned by another user (%d), who can write to it. Choose another folder, or make it yours with: chown %d %q", dir, of.Uid, os.Geteuid(), dir)
	}
	return nil
}

func exposedByACL(string) bool { return false }
