package clientconf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// lockTimeout is how long a write waits for the client's own lock.
const lockTimeout = 5 * time.Second

// Apply executes the plan. It holds the client's lock, makes a backup, replaces the file
// atomically and verifies the result. A file that changed since the plan was made is left
// alone (code conflict).
func (c *Connector) Apply(ctx context.Context, p *Plan) error {
	if err := c.applyFile(ctx, p); err != nil {
		return err
	}
	for _, other := range p.further {
		if err := c.applyFile(ctx, other); err != nil {
			return &core.Error{Code: core.CodeOf(err), Cause: err, Message: "the servers in " + other.Path + " were not moved",
				Hint: "The others were moved. Try again, or undo it with: drawbridge clients undo " + p.Client.ID + "."}
		}
	}
	return nil
}

// applyFile is Apply for one file of the client.
func (c *Connector) applyFile(ctx context.Context, p *Plan) error {
	old, recorded, err := c.loadRecord(p.choice.key())
	if err != nil {
		return err
	}
	if p.Action == Equal && recorded && p.config == nil {
		return nil
	}
	r, err := c.newRecord(p, old, recorded)
	if err != nil {
		return err
	}
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return err
	}
	defer unlock()
	// The record is saved first, so that undo finds the backup even after a crash.
	if err := c.saveRecord(r); err != nil {
		return err
	}
	if p.config != nil {
		if err := p.config.apply(ctx); err != nil {
			c.restoreRecord(old, recorded, p.choice.key())
			return err
		}
	}
	if p.Action != Equal {
		if err := replaceFile(p.target, p.before, p.existed, p.after); err != nil {
			if p.config != nil {
				_, undone := p.config.undo(ctx)
				err = errors.Join(err, undone)
			}
			c.restoreRecord(old, recorded, p.choice.key())
			return err
		}
	}
	if now, _, err := readFile(p.target); err != nil || !bytes.Equal(now, p.after) {
		return errors.Join(core.Errorf(core.CodeConflict, "the file was changed again right after it was written"), err)
	}
	return nil
}

// newRecord returns the record that undo needs, and saves the backup.
func (c *Connector) newRecord(p *Plan, old record, recorded bool) (r record, err error) {
	r = record{Choice: p.choice, Path: p.target, At: c.now().UTC(), Existed: p.existed, PostHash: hashBytes(p.after)}
	if p.config != nil {
		if p.config.Existed {
			if p.config.Backup, err = c.saveBackup("config", p.config.before); err != nil {
				return r, err
			}
		}
		r.Own = p.config.merge(old.Own)
	} else if recorded {
		r.Own = old.Own
	}
	switch {
	case recorded && old.Path == p.target && old.PostHash == hashBytes(p.before):
		// The file still holds our last write: keep the first backup.
		r.Existed, r.Backup, r.MadeDirs = old.Existed, old.Backup, old.MadeDirs
	case p.Action == Add:
		if r.Backup, err = c.saveBackup(p.choice.key(), p.before); err != nil {
			return r, err
		}
	case p.Action == Create:
		if r.MadeDirs, err = makeDirs(filepath.Dir(p.target)); err != nil {
			return r, err
		}
	}
	if p.Action != Equal {
		if r.WrittenBackup, err = c.saveBackup(p.choice.key(), p.after); err != nil {
			return r, err
		}
	} else {
		r.WrittenBackup = old.WrittenBackup
	}
	r.Edits, err = p.entryChanges(old)
	return r, err
}

// entryChanges returns the record of each entry that the plan writes or removes.
func (p *Plan) entryChanges(old record) ([]entryChange, error) {
	before, err := p.parse(p.before)
	if err != nil {
		return nil, err
	}
	after, err := p.parse(p.after)
	if err != nil {
		return nil, err
	}
	var all []entryChange
	for _, e := range p.edits {
		d := entryChange{Path: e.path, Name: e.name}
		if i := slices.IndexFunc(old.Edits, func(o entryChange) bool { return o.hasPathOf(e) }); i >= 0 {
			d.Before, d.Value = old.Edits[i].Before, old.Edits[i].Value
		} else if raw, value, _ := before.entry(e.path, e.name); value != nil && !isOurs(value) {
			d.Before, d.Value = string(raw), value
		}
		if e.value != nil && !(d.Value != nil && sameJSON(e.value, d.Value)) {
			_, value, err := after.entry(e.path, e.name)
			if err != nil {
				return nil, err
			}
			d.Hash = hashValue(value)
		}
		if d.Hash != "" || d.Value != nil && e.value == nil {
			all = append(all, d)
		}
	}
	return all, nil
}

func (c *Connector) restoreRecord(old record, had bool, key string) {
	if had {
		_ = c.saveRecord(old) // the caller reports the error of the write
	} else {
		os.Remove(c.recordPath(key))
	}
}

func (c *Connector) lock(ctx context.Context, p *Plan) (unlock func(), err error) {
	if p.Client.Lock == "" || p.Action == Equal || p.choice.Project != "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	if p.Client.Lock == "flock" {
		return lockFile(ctx, filepath.Join(filepath.Dir(p.target), ".mcp-writer.lock"))
	}
	return lockDir(ctx, p.target)
}

// lockFile acquires the advisory lock (flock) that the client uses as well. It does nothing on
// Windows, where the locking of clients is unknown.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	if runtime.GOOS == "windows" {
		return func() {}, nil
	}
	unlock, err = osutil.LockFile(ctx, path)
	if errors.Is(err, osutil.ErrLocked) {
		err = clientWritingError(err)
	}
	return unlock, err
}

// clientWritingError returns the error for a lock that the client holds.
func clientWritingError(cause error) error {
	return &core.Error{
		Code: core.CodeConflict, Retriable: true, Cause: cause,
		Message: "the client is currently writing its file",
		Hint:    "Try again, or close the client first.",
	}
}

// makeDirs creates dir and returns the directories that were missing, outermost first.
func makeDirs(dir string) (made []string, err error) {
	for missing := dir; !exists(missing); missing = filepath.Dir(missing) {
		made = append(made, missing)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(dir, 0o700)
}
