package clientconf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"

	"drawbridge/backend/hub"
)

// Undone says how a connection was taken back.
type Undone string

const (
	Restored  Undone = "restored"  // the file is byte for byte what it was
	Removed   Undone = "removed"   // only our entry went: the file was changed since
	WasAbsent Undone = "wasAbsent" // our entry was gone already
)

// Undo takes our entry out of the client's file. A file that nobody touched since
// becomes byte for byte what it was before; else only our own span goes. An entry
// that was changed by hand is left alone (code conflict) unless force is set.
func (c *Connector) Undo(ctx context.Context, id string, force bool) (Undone, error) {
	client, err := ByID(id)
	if err != nil {
		return "", err
	}
	r, recorded, err := c.loadRecord(id)
	if err != nil {
		return "", err
	}
	if !recorded {
		loc, ok := c.system.locate(client)
		if !ok {
			return WasAbsent, nil
		}
		if r.Path, err = target(loc.path); err != nil {
			return "", err
		}
	}
	now, existed, err := read(r.Path)
	if err != nil {
		return "", err
	}
	if !existed {
		return WasAbsent, c.forget(client.ID)
	}
	p := &Plan{Client: client, Path: r.Path, target: r.Path, before: now, existed: true}
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return "", err
	}
	defer unlock()
	if recorded && r.PostHash == hash(now) {
		if done, err := c.restore(r, now); done || err != nil {
			return Restored, errors.Join(err, c.forget(id))
		}
	}
	return c.removeEntry(p, r, recorded, force)
}

// restore puts the pre-image back. done is false when there is none to put back.
func (c *Connector) restore(r record, now []byte) (done bool, err error) {
	if !r.Existed {
		if err := os.Remove(r.Path); err != nil {
			return false, err
		}
		for _, dir := range slices.Backward(r.MadeDirs) {
			if os.Remove(dir) != nil {
				break // not empty: somebody uses it
			}
		}
		return true, nil
	}
	if r.Backup == "" {
		return false, nil
	}
	before, err := os.ReadFile(c.backupPath(r.Backup))
	if err != nil {
		return false, nil // the backup was cleaned up: our span can still go
	}
	return true, replace(r.Path, now, true, before)
}

func (c *Connector) removeEntry(p *Plan, r record, recorded, force bool) (Undone, error) {
	file, err := parse(p.before, p.Client)
	if err != nil {
		return "", &hub.Error{
			Code: hub.CodeRejected, Cause: err,
			Message: "cannot edit the configuration of " + p.Client.Name,
			Hint:    "Nothing was changed. Take the entry " + quote(EntryName) + " out of " + p.Path + " by hand.",
		}
	}
	raw, entry, err := file.entry(p.Client.KeyPath, EntryName)
	if err != nil {
		return "", err
	}
	if entry == nil {
		return WasAbsent, c.forget(p.Client.ID)
	}
	ours := isOurs(entry) && (!recorded || hash(raw) == r.EntryHash)
	if !ours && !force {
		return "", &hub.Error{
			Code:    hub.CodeConflict,
			Message: "the entry " + quote(EntryName) + " in " + p.Path + " was changed by hand",
			Hint:    "Nothing was changed. Add --force to remove it all the same.",
		}
	}
	after, ok, err := file.remove(p.Client.KeyPath, EntryName)
	if err != nil || !ok {
		return "", errors.Join(errors.New("cannot find our entry again"), err)
	}
	if _, err := parse(after, p.Client); err != nil || !sameElse(p.before, after, p.Client, EntryName) || bytes.Equal(after, p.before) {
		return "", hub.Errorf(hub.CodeRejected, "cannot take our entry out of %s without touching other parts", p.Path)
	}
	if err := replace(p.target, p.before, true, after); err != nil {
		return "", err
	}
	return Removed, c.forget(p.Client.ID)
}

// forget drops the record. Backups stay until newer ones push them out.
func (c *Connector) forget(id string) error {
	if err := os.Remove(c.recordPath(id)); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}
