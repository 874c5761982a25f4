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
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"modernc.org/sqlite"
)

// Size describes the size of the history.
type Size struct {
	Calls     int64
	Bytes     int64 // size of the database file and the write-ahead log
	FreeBytes int64 // part of Bytes that is unused: new calls reuse it, and Vacuum returns it to the file system
}

// Size returns the size of the history.
func (s *database) Size(ctx context.Context) (Size, error) {
	var size Size
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM call), p.page_count * s.page_size, f.freelist_count * s.page_size
			FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`).Scan(&size.Calls, &size.Bytes, &size.FreeBytes)
	})
	if info, statErr := os.Stat(s.opts.Path + "-wal"); statErr == nil {
		size.Bytes += info.Size()
	}
	return size, err
}

// Vacuum optimizes the full-text index and returns unused pages to the file system. It works in
// steps, between which calls are recorded.
func (s *database) Vacuum(ctx context.Context) error {
	// A negative number starts a merge of the whole index, a positive one continues it.
	for pages := -500; ; pages = 500 {
		more := false
		err := s.withHandle(func(h *handle) (err error) {
			more, err = mergeIndex(ctx, h.write, pages)
			return err
		})
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	for free := int64(1); free > 0; {
		err := s.withHandle(func(h *handle) error {
			if _, err := h.write.ExecContext(ctx, `PRAGMA incremental_vacuum(1000)`); err != nil {
				return err
			}
			return h.write.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free)
		})
		if err != nil {
			return err
		}
	}
	return s.withHandle(func(h *handle) error {
		_, err := h.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
		return err
	})
}

// ReleaseMemory closes the idle connections for reading and for recorded calls, whose page cache
// and statements take some megabytes, drops the page cache of the other one, and releases empty
// queues. It waits a second at most.
func (s *database) ReleaseMemory(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s.recorder.releaseMemory()
	return s.withHandle(func(h *handle) error {
		h.read.SetMaxIdleConns(0) // closes them
		h.read.SetMaxIdleConns(idleReaders)
		h.writeCalls.SetMaxIdleConns(0)
		h.writeCalls.SetMaxIdleConns(1)
		_, err := h.write.ExecContext(ctx, `PRAGMA shrink_memory`)
		return err
	})
}

// mergeIndex performs one step of a merge. It reports whether there may be more to do.
func mergeIndex(ctx context.Context, db *sql.DB, pages int) (bool, error) {
	const changes = `SELECT total_changes()`
	var before, after int64
	if err := db.QueryRowContext(ctx, changes).Scan(&before); err != nil {
		return false, err
	}
	if _, err := db.ExecContext(ctx, `INSERT INTO search (search, rank) VALUES ('merge', ?)`, pages); err != nil {
		return false, err
	}
	err := db.QueryRowContext(ctx, changes).Scan(&after)
	return after-before >= 2, err // a merge without work changes one row
}

// Backup writes a consistent copy of the database to a new file at path, while calls are recorded.
// It fails with CodeConflict if the file exists.
func (s *database) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return backupError(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return backupError(err)
	}
	_ = f.Close()
	s.waitForRecent(ctx)
	err = s.withHandle(func(*handle) error {
		own, err := sql.Open("sqlite", dsn(s.opts.Path, "deferred", fmt.Sprintf("busy_timeout(%d)", s.opts.busyTimeout.Milliseconds())))
		if err != nil {
			return err
		}
		defer func() { _ = own.Close() }()
		_, err = own.ExecContext(ctx, `VACUUM INTO ?`, path)
		return err
	})
	if err != nil {
		_ = os.Remove(path)
		if own, ok := errors.AsType[*sqlite.Error](err); ok {
			err = own // an error of the copy, which must not be treated as one of the history
		}
		return backupError(err)
	}
	return nil
}

// backupError returns an error that explains why the backup could not be written and what to do.
func backupError(err error) error {
	e := &core.Error{Code: core.CodeUnavailable, Message: "cannot write the backup", Hint: "Check that the disk has enough free space and that you own the folder, or choose another folder.", Cause: err}
	switch {
	case core.CodeOf(err) != core.CodeInternal: // the error is clear already: the caller cancelled, or the store is not open
		return err
	case errors.Is(err, fs.ErrExist):
		e.Code, e.Message, e.Hint = core.CodeConflict, "cannot write the backup: the file already exists", "Choose another file: a backup never overwrites an existing one."
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Message, e.Hint = core.CodeValidation, "cannot write the backup: permission denied for its folder", "Choose a folder that you can write to."
	case errors.Is(err, syscall.ENOTDIR):
		e.Code, e.Message, e.Hint = core.CodeValidation, "cannot write the backup: a folder in its path is a file", "Choose another folder."
	}
	return e
}

// reservedBytes is the size of the reserved file in bytes. SQLite needs free space even to delete
// rows.
const reservedBytes = 8 << 20

// reserveDelay is the time after the disk was full during which the file is not created again.
const reserveDelay = 10 * time.Minute

// reservedSpace is a file beside the database that reserves disk space. When the disk is full, the
// file is deleted, so that pending calls can be written and old calls can be deleted. It is used
// only by the recorder's goroutine.
type reservedSpace struct {
	path     string
	released time.Time
}

func (s *database) fillReservedSpace() {
	if s.broken() || s.opts.Now().Sub(s.reservedSpace.released) < reserveDelay {
		return
	}
	if err := s.reservedSpace.fill(); err != nil {
		s.opts.Log.Debug("Cannot reserve disk space", "error", err)
	}
}

// dropReservedSpace deletes the file and reports whether that freed space.
func (s *database) dropReservedSpace() bool {
	if os.Remove(s.reservedSpace.path) != nil {
		return false
	}
	s.reservedSpace.released = s.opts.Now()
	s.opts.Log.Warn("The disk is full: the space reserved for the history is now in use")
	return true
}

// ReleaseReservedSpace deletes the reserved file if err, from any part of the program, means that
// the disk is full. It reports whether that freed space. It may be called from any goroutine.
func (s *database) ReleaseReservedSpace(err error) bool {
	return isDiskFull(err) && os.Remove(s.reservedSpace.path) == nil
}

// fill creates the file if it is missing. It writes data that does not compress to nothing, so
// that the file is not sparse.
func (b reservedSpace) fill() error {
	if info, err := os.Stat(b.path); err == nil && info.Size() >= reservedBytes {
		return nil
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = byte(i * 31)
	}
	for range reservedBytes / len(block) {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(b.path)
	}
	return err
}

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
		return &core.Error{Code: core.CodeValidation, Message: "cannot restore the history: the file " + why, Hint: "Choose a file that 'drawbridge backup --history' wrote.", Cause: cause}
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

func removeFiles(path string) {
	for _, suffix := range databaseSuffixes {
		_ = os.Remove(path + suffix)
	}
}
