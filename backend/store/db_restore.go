package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// databaseSuffixes are the suffixes of the names of a database's files.
var databaseSuffixes = []string{"", "-wal", "-shm"}

// Restore replaces the history at path by a copy of the file backup, which Backup wrote. No
// process may have the history open. The previous file is renamed; aside is its new path, or "" if
// there was none. If the backup is not a valid history, Restore returns an error and changes nothing.
func Restore(ctx context.Context, backup, path string, now time.Time) (aside string, err error) {
	if same, err := sameFile(backup, path); err != nil {
		return "", restoreError(err, "cannot read the backup")
	} else if same {
		return "", core.Errorf(core.CodeValidation, "this is the history itself, not a backup")
	}
	half := path + ".new"
	defer removeFiles(half) // removes the temporary file after an error
	removeFiles(half)
	if err := copyPrivate(backup, half); err != nil {
		return "", restoreError(err, "cannot read the backup, or there is not enough disk space")
	}
	if err := checkHistory(ctx, half); err != nil {
		return "", err
	}
	// This moves the WAL file too: SQLite would apply it to the restored file.
	if aside, err = setAside(path, "replaced", now); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return "", restoreError(err, "cannot replace its file")
	}
	if err = os.Rename(half, path); err != nil {
		for _, suffix := range databaseSuffixes {
			if back := os.Rename(aside+suffix, path+suffix); back != nil && !errors.Is(back, fs.ErrNotExist) {
				err = errors.Join(err, back) // it names where the previous history is
			}
		}
		return "", restoreError(err, "cannot replace its file")
	}
	return aside, nil
}

func restoreError(err error, what string) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "cannot restore the history: " + what, Hint: "Check that the file exists, that you own its folder, and that the disk has enough free space.", Cause: err}
}

// checkHistory checks that the database at path can be used, and its integrity.
func checkHistory(ctx context.Context, path string) error {
	refuse := func(why string, cause error) error {
		return &core.Error{Code: core.CodeValidation, Message: "cannot restore the history: the file " + why, Hint: "Choose a file that 'drawbridge history backup' wrote.", Cause: cause}
	}
	db, err := sql.Open("sqlite", dsn(path, "deferred", "query_only(on)"))
	if err != nil {
		return err
	}
	var id int
	var said string
	err = errors.Join(db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id), db.Close())
	if err != nil || id != applicationID {
		return refuse("is not a Drawbridge history", err)
	}
	h, err := openFile(ctx, path, defaultBusyTimeout)
	if errors.Is(err, errNewer) {
		return refuse("was written by a newer version of Drawbridge", err)
	} else if errors.Is(err, errUnreleased) {
		return refuse("was written by an unreleased build of Drawbridge", err)
	} else if err != nil {
		return refuse("cannot be used", err)
	}
	err = h.write.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&said)
	if closed := h.close(); err == nil {
		err = closed
	}
	if err != nil || said != "ok" {
		return refuse("is damaged", errors.Join(err, fmt.Errorf("check: %s", said)))
	}
	return nil
}

func sameFile(a, b string) (bool, error) {
	first, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	second, err := os.Stat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(first, second), err
}

func copyPrivate(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// removeFiles deletes a database and its WAL files.
func removeFiles(path string) {
	for _, suffix := range databaseSuffixes {
		_ = os.Remove(path + suffix)
	}
}
