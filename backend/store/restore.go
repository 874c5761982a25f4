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

// besides are the ends of the names of a database's files.
var besides = []string{"", "-wal", "-shm"}

// Restore makes a copy that Backup wrote the history at path, which nobody may have
// open. The copy stays, and what is at path is set aside under another name: aside, ""
// when nothing was there. A copy of an older schema is brought to ours; one that is no
// sound history is refused, and then nothing has changed.
func Restore(ctx context.Context, backup, path string, now time.Time) (aside string, err error) {
	if same, err := sameFile(backup, path); err != nil {
		return "", restoreError(err, "the copy cannot be read")
	} else if same {
		return "", core.Errorf(core.CodeValidation, "that is the history itself, not a copy of it")
	}
	half := path + ".new"
	defer removeFiles(half) // what is left when something fails
	removeFiles(half)
	if err := copyPrivate(backup, half); err != nil {
		return "", restoreError(err, "the copy cannot be read, or there is no room for it")
	}
	if err := checkHistory(ctx, half); err != nil {
		return "", err
	}
	// The log of changes of what was there would be taken for one of the copy.
	if aside, err = setAside(path, "replaced", now); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return "", restoreError(err, "its file cannot be replaced")
	}
	if err = os.Rename(half, path); err != nil {
		for _, suffix := range besides {
			_ = os.Rename(aside+suffix, path+suffix) // as it was
		}
		return "", restoreError(err, "its file cannot be replaced")
	}
	return aside, nil
}

func restoreError(err error, what string) *core.Error {
	return &core.Error{Code: core.CodeValidation, Message: "cannot put the history back: " + what, Hint: "See whether the file is there, its folder is yours, and the disk has room.", Cause: err}
}

// checkHistory brings the file at path to the newest schema and looks whether it is sound.
func checkHistory(ctx context.Context, path string) error {
	refuse := func(why string, cause error) error {
		return &core.Error{Code: core.CodeValidation, Message: "cannot put the history back: the file " + why, Hint: "Name a file that 'drawbridge history backup' wrote.", Cause: cause}
	}
	db, err := sql.Open("sqlite", dsn(path, "deferred", "query_only(on)"))
	if err != nil {
		return err
	}
	var id int
	var said string
	err = errors.Join(db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id), db.Close())
	if err != nil || id != applicationID {
		return refuse("is not a history of Drawbridge", err)
	}
	h, err := openFile(ctx, path, usualBusyTimeout)
	if errors.Is(err, errNewer) {
		return refuse("was written by a newer Drawbridge", err)
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

// removeFiles removes a database that nobody needs, with what belongs to it.
func removeFiles(path string) {
	for _, suffix := range besides {
		_ = os.Remove(path + suffix)
	}
}
