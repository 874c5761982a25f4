package clientconf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

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
// false if there was no file). If another program wrote the file in the meantime, nothing is
// written and the error has code conflict.
func replaceFile(path string, before []byte, existed bool, content []byte) error {
	return writeError(osutil.ReplaceUnchangedFile(path, before, existed, content))
}

// writeError returns err with a hint for the user. The file is unchanged.
func writeError(err error) error {
	switch {
	case errors.Is(err, osutil.ErrChanged):
		return changedError()
	case errors.Is(err, osutil.ErrReadOnly):
		return &core.Error{Code: core.CodeRejected, Message: "the file is read-only", Hint: "Make it writable, or paste the entry yourself."}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot write the file: the disk is full", Cause: err,
			Hint: "The file is unchanged. Free some disk space, then try again.", Retriable: true}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return &core.Error{Code: core.CodeRejected, Message: "cannot write the file: permission denied, or the file system is read-only", Cause: err,
			Hint: "The file is unchanged. Check the permissions of its folder, or paste the entry yourself."}
	}
	return err
}

func changedError() error {
	return &core.Error{
		Code: core.CodeConflict, Retriable: true,
		Message: "the file was changed by another program at the same time",
		Hint:    "Nothing was written. Try again.",
	}
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
			return nil, clientWritingError(err)
		}
	}
}

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
