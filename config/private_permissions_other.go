//go:build !windows

package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	if err := checkMode(dir, info); err != nil {
		return err
	}
	return checkOwner(dir, info)
}

func checkMode(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o002 == 0 {
		return nil
	}
	return fmt.Errorf("any user on this machine can write to %s. Fix it with: chmod o-w %q", path, path)
}

func checkOwner(path string, info fs.FileInfo) error {
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || of.Uid == 0 || int64(of.Uid) == int64(os.Geteuid()) {
		return nil
	}
	return fmt.Errorf("%s is owned by another user (%d), who can write to it. Choose another place, or make it yours with: chown %d %q", path, of.Uid, os.Geteuid(), path)
}

// checkWriters returns an error if another user could change or replace a file, and so run commands as
// this user: the file, its folder, or a folder above it, in which the folder could be replaced. In a
// folder with the sticky bit, only owners can replace files. A link and its target are both checked.
func checkWriters(path string, info fs.FileInfo) error {
	if err := cmp.Or(checkMode(path, info), checkOwner(path, info)); err != nil {
		return err
	}
	places := []string{path}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		places = append(places, target)
	}
	for _, place := range places {
		place, err := filepath.Abs(place)
		if err != nil {
			return err
		}
		folder := filepath.Dir(place)
		for dir := folder; ; dir = filepath.Dir(dir) {
			if info, err = os.Stat(dir); err != nil {
				return err
			}
			if info.Mode()&fs.ModeSticky == 0 {
				err = checkMode(dir, info)
			}
			if dir == folder {
				err = cmp.Or(err, checkOwner(dir, info))
			}
			if err != nil || dir == filepath.Dir(dir) {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func exposedByACL(string) bool { return false }
