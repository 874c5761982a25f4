package osutil

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// TempPrefix is the name prefix of the temporary files of WriteFile. Old ones were left by a crash and may
// be removed.
const TempPrefix = ".drawbridge-"

// WriteFile atomically replaces the file path with data and the permissions perm. It creates missing
// directories with mode 0700 and syncs the data before the rename.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	return write(path, data, perm, true)
}

// WriteFileWithoutSync is WriteFile without the sync, for a file that is not needed after a power failure.
func WriteFileWithoutSync(path string, data []byte, perm os.FileMode) error {
	return write(path, data, perm, false)
}

func write(path string, data []byte, perm os.FileMode, sync bool) error {
	return replace(path, data, sync, func(f *os.File) error {
		if perm == 0o600 {
			return nil
		}
		return f.Chmod(perm)
	}, func() error { return nil })
}

// replace writes data to a temporary file, on which it calls prepare, and renames it to path. It
// calls check just before the rename and aborts if it returns an error.
func replace(path string, data []byte, sync bool, prepare func(*os.File) error, check func() error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, TempPrefix+"*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = prepare(f)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = check(); err != nil {
		return err
	}
	return RenameFile(f.Name(), path)
}

// ReplaceFile is WriteFile for a file that the user also edits: it follows a symbolic link and replaces the
// target, and preserves the permissions of an existing file. A new file gets perm.
func ReplaceFile(path string, data []byte, perm os.FileMode) error {
	path = resolveSymlinks(path)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	return WriteFile(path, data, perm)
}

// RenameFile is os.Rename. On Windows it retries for about a second, because a file that another
// process has open cannot be replaced there.
func RenameFile(from, to string) error {
	return retryInUse(func() error { return os.Rename(from, to) })
}

// ReadFile is os.ReadFile with [Open].
func ReadFile(path string) (data []byte, err error) {
	err = retryInUse(func() error {
		f, err := openShared(path)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = io.ReadAll(f)
		return err
	})
	return data, err
}

// Open is os.Open. On Windows it retries for about a second, because a file cannot be opened there while
// another process replaces it or has it open for itself alone, and does not keep others from removing or
// replacing the file meanwhile.
func Open(path string) (f *os.File, err error) {
	err = retryInUse(func() error {
		f, err = openShared(path)
		return err
	})
	return f, err
}

func retryInUse(f func() error) error {
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		err := f()
		if err == nil || !inUse(err) || wait > time.Second {
			return err
		}
		time.Sleep(wait) // there is no event for the closing of another process's handle
	}
}
