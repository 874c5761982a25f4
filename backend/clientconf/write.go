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

// maxFile is the maximum size of a client file. Claude Code's contains its history and grows.
const maxFile = 64 << 20

// readFile returns the content of path, or nil and false if the file does not exist.
func readFile(path string) (src []byte, existed bool, err error) {
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

// replaceFile atomically replaces the content of path, which must still be before (existed is
// false if there was no file). Mode and owner are preserved; a new file is 0600. If another
// program wrote the file in the meantime, nothing is written and the error has code conflict.
func replaceFile(path string, before []byte, existed bool, content []byte) error {
	mode := os.FileMode(0o600)
	info, err := os.Stat(path)
	if err == nil {
		mode = info.Mode().Perm()
		if !isWritable(path, mode) {
			return &core.Error{Code: core.CodeRejected, Message: "the file is read-only", Hint: "Make it writable, or paste the entry by hand."}
		}
	}
	dir := filepath.Dir(path)
	removeStaleTemps(dir)
	temp, err := os.OpenFile(filepath.Join(dir, tempPrefix+rand.Text()+".tmp"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return writeError(err)
	}
	defer os.Remove(temp.Name()) // fails after the rename
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
		return writeError(err)
	}
	if err := checkUnchanged(path, before, existed); err != nil {
		return err
	}
	if err := atomicfile.Rename(temp.Name(), path); err != nil {
		return writeError(err)
	}
	return syncDir(dir)
}

// isWritable reports whether an existing file may be written. The directory may permit
// replacing a read-only file, but that would override the user's decision.
func isWritable(path string, mode os.FileMode) bool {
	if mode&0o200 == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS)
}

// writeError returns err with a hint for the user. The file is unchanged.
func writeError(err error) error {
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

// checkUnchanged returns an error with code conflict unless path still contains before.
func checkUnchanged(path string, before []byte, existed bool) error {
	now, exists, err := readFile(path)
	if err != nil {
		return err
	}
	if exists != existed || hashBytes(now) != hashBytes(before) {
		return &core.Error{
			Code: core.CodeConflict, Retriable: true,
			Message: "the file was changed by somebody else at the same moment",
			Hint:    "Nothing was written. Try again.",
		}
	}
	return nil
}

// removeStaleTemps deletes the temporary files of writers that were killed.
func removeStaleTemps(dir string) {
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

// staleLock is the age after which a lock directory is considered abandoned.
const staleLock = time.Minute

// lockDir acquires the lock that some clients use: a directory FILE.lock, whose creation
// is atomic. It waits until ctx is done.
func lockDir(ctx context.Context, path string) (unlock func(), err error) {
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

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
