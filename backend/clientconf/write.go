package clientconf

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

const tempPrefix = atomicfile.Prefix

// maxFile is the largest client file that is read: Claude Code's holds its history and grows.
const maxFile = 64 << 20

// read returns the bytes of path, or nil and false when there is no such file.
func read(path string) (src []byte, existed bool, err error) {
	info, err := os.Stat(path)
	if isNotExist(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, false, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	src, err = os.ReadFile(path)
	return src, true, err
}

// replace puts content in the place of path, which held before (existed says
// whether it was there at all). The file is old or new at every moment, never
// torn; its mode and owner stay; a new file is 0600. When somebody else wrote the file
// meanwhile nothing happens and the error has code conflict.
func replace(path string, before []byte, existed bool, content []byte) error {
	mode := os.FileMode(0o600)
	info, err := os.Stat(path)
	if err == nil {
		mode = info.Mode().Perm()
		if !writable(path, mode) {
			return &core.Error{Code: core.CodeRejected, Message: "the file is read-only", Hint: "Make it writable, or paste the entry by hand."}
		}
	}
	dir := filepath.Dir(path)
	sweep(dir)
	temp, err := os.OpenFile(filepath.Join(dir, tempPrefix+rand.Text()+".tmp"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return cannotWrite(err)
	}
	defer os.Remove(temp.Name()) // gone after the rename
	_, err = temp.Write(content)
	if err == nil && info != nil {
		err = keepOwner(temp, info)
	}
	if err == nil {
		err = temp.Chmod(mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return cannotWrite(err)
	}
	if err := unchanged(path, before, existed); err != nil {
		return err
	}
	if err := atomicfile.Rename(temp.Name(), path); err != nil {
		return cannotWrite(err)
	}
	return syncDir(dir)
}

// writable reports whether a file that is there may be written. Its folder may allow to put
// another in its place all the same: that is not ours to do.
func writable(path string, mode os.FileMode) bool {
	if mode&0o200 == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS)
}

// cannotWrite says what the user can do about it; the file is as it was.
func cannotWrite(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot write the file: the disk is full", Cause: err,
			Hint: "The file is as it was. Make room on the disk and try again.", Retriable: true}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return &core.Error{Code: core.CodeRejected, Message: "cannot write the file: the system does not allow it", Cause: err,
			Hint: "The file is as it was. See to the permissions of its folder, or paste the entry by hand."}
	}
	return err
}

// unchanged fails with code conflict unless path still holds before.
func unchanged(path string, before []byte, existed bool) error {
	now, exists, err := read(path)
	if err != nil {
		return err
	}
	if exists != existed || hash(now) != hash(before) {
		return &core.Error{
			Code: core.CodeConflict, Retriable: true,
			Message: "the file was changed by somebody else at the same moment",
			Hint:    "Nothing was written. Try again.",
		}
	}
	return nil
}

// sweep removes what a killed writer of ours left behind.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Minute {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && os.PathSeparator == '/' {
		return err
	}
	return nil
}

// staleLock is the age after which a client's lock folder counts as left behind by a crash.
const staleLock = time.Minute

// lockFolder takes the lock that some clients use: a folder FILE.lock whose
// creation is atomic. It waits until ctx ends.
func lockFolder(ctx context.Context, path string) (unlock func(), err error) {
	lock := path + ".lock"
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.Mkdir(lock, 0o700)
		if err == nil {
			return func() { os.Remove(lock) }, nil
		}
		if !os.IsExist(err) {
			return nil, err
		}
		if info, statErr := os.Stat(lock); statErr == nil && time.Since(info.ModTime()) > staleLock {
			os.Remove(lock)
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, &core.Error{
				Code: core.CodeConflict, Retriable: true, Cause: err,
				Message: "the client is writing its file at this moment",
				Hint:    "Try again, or close the client first.",
			}
		}
	}
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
