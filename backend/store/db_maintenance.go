package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
func (s *Store) Size(ctx context.Context) (Size, error) {
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
func (s *Store) Vacuum(ctx context.Context) error {
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
func (s *Store) ReleaseMemory(ctx context.Context) error {
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
func (s *Store) Backup(ctx context.Context, path string) error {
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
