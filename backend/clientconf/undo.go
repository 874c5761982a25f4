package clientconf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Undone is the way in which a connection was undone.
type Undone string

const (
	Restored  Undone = "restored"  // the file has its original content byte for byte
	Removed   Undone = "removed"   // only our entries were removed: the file had changed since
	WasAbsent Undone = "wasAbsent" // our entry did not exist any more
)

// Undo removes our entries from the client's file and restores the entries that Move
// replaced. If the file did not change since, it gets its original content byte for byte;
// else only our own spans are edited. An entry that was modified by hand is not touched (code
// conflict) unless force is set. What Move added to our own configuration is removed as well.
func (c *Connector) Undo(ctx context.Context, key string, force bool) (Undone, error) {
	r, recorded, err := c.loadRecord(key)
	if err != nil {
		return "", err
	}
	if !recorded {
		p, err := c.open(Choice{Client: key})
		if err != nil || p.Path == "" {
			return WasAbsent, err
		}
		r = record{Choice: p.choice, Path: p.target, Edits: []done{{Path: p.Client.KeyPath, Name: EntryName}}}
	}
	p, unlock, err := c.reopen(ctx, r)
	if err != nil {
		return "", err
	}
	defer unlock()
	if !p.existed {
		return WasAbsent, errors.Join(c.undoOwn(ctx, r), c.forget(key))
	}
	if recorded && r.PostHash == hash(p.before) {
		if done, err := c.restore(r, p.before); done || err != nil {
			return Restored, errors.Join(err, c.undoOwn(ctx, r), c.forget(key))
		}
	}
	how, err := c.takeBack(p, r, recorded, force)
	if err != nil {
		return "", err
	}
	return how, errors.Join(c.undoOwn(ctx, r), c.forget(key))
}

// reopen returns a plan for the current file of a connection, and acquires the client's lock
// if the file exists. The caller must call unlock.
func (c *Connector) reopen(ctx context.Context, r record) (p *Plan, unlock func(), err error) {
	client, err := ByID(r.Choice.Client)
	if err != nil {
		return nil, nil, err
	}
	now, existed, err := read(r.Path)
	if err != nil {
		return nil, nil, err
	}
	p = &Plan{Client: client, Path: r.Path, choice: r.Choice, target: r.Path, before: now, existed: existed}
	if !existed {
		return p, func() {}, nil
	}
	unlock, err = c.lock(ctx, p)
	return p, unlock, err
}

func (c *Connector) undoOwn(ctx context.Context, r record) error {
	if r.Own == nil {
		return nil
	}
	_, err := (&ownChange{ownRecord: *r.Own, dir: c.dir, vault: c.vault}).undo(ctx)
	return err
}

// restore restores the backup. done is false if there is none.
func (c *Connector) restore(r record, now []byte) (done bool, err error) {
	if !r.Existed {
		if err := unchanged(r.Path, now, true); err != nil { // the file may have changed while waiting for the lock
			return false, err
		}
		if err := os.Remove(r.Path); err != nil {
			return false, err
		}
		for _, dir := range slices.Backward(r.MadeDirs) {
			if os.Remove(dir) != nil {
				break // not empty
			}
		}
		return true, nil
	}
	if r.Backup == "" {
		return false, nil
	}
	before, err := os.ReadFile(c.backupPath(r.Backup))
	if err != nil {
		return false, nil // the backup was deleted: remove only our own spans
	}
	return true, replace(r.Path, now, true, before)
}

// takeBack undoes each entry separately, in reverse order.
func (c *Connector) takeBack(p *Plan, r record, recorded, force bool) (Undone, error) {
	content, err := p.without(r, recorded, force)
	if err != nil {
		return "", err
	}
	if bytes.Equal(content, p.before) {
		return WasAbsent, nil
	}
	return Removed, replace(p.target, p.before, true, content)
}

// without returns the file without our entries, with the entries that they had replaced.
func (p *Plan) without(r record, recorded, force bool) ([]byte, error) {
	content := p.before
	var edits []edit
	for _, d := range slices.Backward(r.Edits) {
		file, err := parse(content, p.Client)
		if err != nil {
			return nil, p.byHand(err)
		}
		_, present, err := file.entry(d.Path, d.Name)
		if err != nil {
			return nil, p.byHand(err)
		}
		e := edit{path: d.Path, name: d.Name, value: d.Value}
		switch {
		case present == nil && d.Value == nil, present != nil && d.Value != nil && sameJSON(present, d.Value):
			continue
		case present == nil:
			content, err = file.set(d.Path, d.Name, d.Value)
		case (!isOurs(present) || recorded && !d.holds(present)) && !force:
			return nil, &core.Error{
				Code:    core.CodeConflict,
				Message: "the entry " + quote(d.Name) + " in " + p.Path + " was changed by hand",
				Hint:    "Nothing was changed. Add --force to remove it all the same.",
			}
		case d.Value != nil:
			content, err = file.replace(d.Path, d.Name, []byte(d.Before))
		default:
			content, _, err = file.remove(d.Path, d.Name)
		}
		if err != nil {
			return nil, p.byHand(err)
		}
		edits = append(edits, e)
	}
	if bytes.Equal(content, p.before) {
		return content, nil
	}
	if err := checkAfter(p.Client, p.before, content, edits); err != nil {
		return nil, p.byHand(err)
	}
	return content, nil
}

func (p *Plan) byHand(why error) error {
	return &core.Error{
		Code: core.CodeRejected, Cause: why,
		Message: "cannot edit the configuration of " + p.Client.Name,
		Hint:    "Nothing was changed. Take the entry " + quote(EntryName) + " out of " + p.Path + " by hand.",
	}
}

// forget deletes the record. Backups stay until newer ones replace them.
func (c *Connector) forget(key string) error {
	if err := os.Remove(c.recordPath(key)); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}
