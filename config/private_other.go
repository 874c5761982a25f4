//go:build !windows

package config

import (
	"fmt"
	"os"
)

// makePrivate makes a folder that is the person's alone, by its permissions. One that is
// there already stays as it is: the files in it have permissions of their own. It is refused
// when every user may write to it, because these could replace the files.
func makePrivate(dir string, _ bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o002 != 0 {
		err = fmt.Errorf("every user of this machine may write to %s. Forbid that with: chmod o-w %q", dir, dir)
	}
	return err
}

func exposed(string) bool { return false }
