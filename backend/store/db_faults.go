package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// fault classifies why the database cannot be used.
type fault uint8

const (
	faultNone     fault = iota
	faultOther          // a bug: invalid SQL, or a row that violates a constraint
	faultFull           // the disk is full, or the quota is exceeded
	faultReadOnly       // the file or its folder is not writable
	faultLocked         // another program has locked the file
	faultDisk           // the disk reports I/O errors
	faultDamaged        // the file is corrupt
	faultNewer          // the schema is newer than this program
)

// message returns the message for the user, without a final period; "" for faultNone.
func (f fault) message() string {
	switch f {
	case faultFull:
		return "recording paused: the disk is full"
	case faultReadOnly:
		return "recording paused: cannot write the history file"
	case faultLocked:
		return "recording paused: another program has locked the history file"
	case faultDisk:
		return "recording paused: the disk reports errors"
	case faultDamaged:
		return "recording paused: the history file is damaged"
	case faultNewer:
		return "recording is off: the history was written by a newer version of Drawbridge"
	case faultOther:
		return "recording paused: cannot write the history"
	}
	return ""
}

// hint returns what the user can do, or "".
func (f fault) hint() string {
	if f == faultNewer {
		return "Install the newer version again. This version records nothing and does not change the file. To go back for good, restore history.db.before-update, a copy from before the update, with: drawbridge backup restore."
	}
	return ""
}

// explainError wraps an SQLite error that the user can do something about into a *core.Error with
// a hint. It returns all other errors unchanged.
func explainError(err error) error {
	if _, ok := errors.AsType[*sqlite.Error](err); !ok {
		return err
	}
	e := &core.Error{Code: core.CodeUnavailable, Cause: err}
	switch faultOf(err) {
	case faultFull:
		e.Message, e.Hint = "cannot change the history: the disk is full", "Free some disk space first: deleting calls also needs some."
	case faultReadOnly:
		e.Message, e.Hint = "cannot change the history: its file is not writable", "Check that you own the data folder and that its disk is writable."
	case faultLocked:
		e.Message, e.Hint, e.Retriable = "cannot change the history: another program has locked its file", "Stop that program, or wait until it has finished.", true
	case faultDisk:
		e.Message, e.Hint = "cannot use the history: the disk reports errors", "Check the disk for errors, and make a copy of the data folder."
	default:
		return err
	}
	return e
}

func faultOf(err error) fault {
	if err == nil {
		return faultNone
	}
	if errors.Is(err, errNewer) {
		return faultNewer
	}
	if errors.Is(err, fs.ErrPermission) {
		return faultReadOnly
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if isDiskFull(err) {
			return faultFull
		}
		if _, isPath := errors.AsType[*fs.PathError](err); isPath {
			return faultReadOnly
		}
		if errors.Is(err, sql.ErrConnDone) || errors.Is(err, context.DeadlineExceeded) {
			return faultLocked
		}
		return faultOther
	}
	switch e.Code() & 0xff { // the low byte is the primary result code
	case lib.SQLITE_FULL:
		return faultFull
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return faultReadOnly
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return faultLocked
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT:
		return faultDamaged
	case lib.SQLITE_IOERR, lib.SQLITE_NOLFS:
		return faultDisk
	}
	return faultOther
}
