package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Restore reinstates our entries after they were lost. If the file is missing, empty, or
// differs from the version that we wrote only in its wiped servers, that version is restored
// byte for byte (whole); else only our entries are inserted. tokenOf returns a client's
// token, for entries with a URL.
func (c *Connector) Restore(ctx context.Context, key string, tokenOf func(client string) (string, error)) (whole bool, err error) {
	all, err := c.connection(key)
	if err != nil {
		return false, err
	}
	if len(all) == 0 {
		return false, core.Errorf(core.CodeNotFound, "%q is not connected", key)
	}
	whole = true
	for _, r := range all {
		if s, _ := c.Status(r.Choice.key()); len(all) > 1 && r.Choice.File != "" && s.State == Connected {
			continue
		}
		one, err := c.restoreFile(ctx, r, tokenOf)
		if err != nil {
			return false, err
		}
		whole = whole && one
	}
	return whole, nil
}

// restoreFile is Restore for one file.
func (c *Connector) restoreFile(ctx context.Context, r record, tokenOf func(client string) (string, error)) (whole bool, err error) {
	client, err := r.client()
	if err != nil {
		return false, err
	}
	now, existed, err := readFile(r.Path)
	if err != nil {
		return false, err
	}
	if version, err := os.ReadFile(c.backupPath(r.WrittenBackup)); err == nil && hashBytes(version) == r.PostHash && isWiped(client, r, now, version) {
		p := &Plan{Client: client, choice: r.Choice, target: r.Path}
		unlock, err := c.lock(ctx, p)
		if err != nil {
			return false, err
		}
		defer unlock()
		if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
			return false, err
		}
		r.RemovedByUser = false
		return true, cmp.Or(replaceFile(r.Path, now, existed, version), c.saveRecord(r))
	}
	return false, c.reconnect(ctx, r, tokenOf)
}

// reconnect makes the same connection again.
func (c *Connector) reconnect(ctx context.Context, r record, tokenOf func(string) (string, error)) (err error) {
	choice := r.Choice
	if choice.HTTP && !choice.ByVariable {
		if choice.Token, err = tokenOf(choice.Client); err != nil {
			return err
		}
	}
	p, err := c.planAgain(choice, r)
	if err != nil {
		return err
	}
	return c.Apply(ctx, p)
}

// planAgain is Plan for an existing connection: originals that a move replaced may be overwritten
// if the client restored them, and their switches are preserved.
func (c *Connector) planAgain(choice Choice, r record) (*Plan, error) {
	p, err := c.openPlan(choice)
	if err != nil {
		return nil, err
	}
	p.Path, p.target = r.Path, r.Path
	if err := p.readFile(); err != nil {
		return nil, err
	}
	if p.edits, err = c.buildEdits(p.Client, choice, p.target); err != nil {
		return nil, err
	}
	p.edits = slices.DeleteFunc(p.edits, func(e edit) bool { // a further file may only lose entries
		return choice.File != "" && !slices.ContainsFunc(r.Edits, func(d entryChange) bool { return d.Hash != "" && d.hasPathOf(e) })
	})
	for _, d := range r.Edits {
		at := slices.IndexFunc(p.edits, d.hasPathOf)
		if at >= 0 && d.Value != nil {
			if p.edits[at].value, err = mergeSwitches(p.Client.ID, p.edits[at].value, d.Value); err != nil {
				return nil, err
			}
		}
		if d.Value != nil {
			p.originals = append(p.originals, edit{path: d.Path, name: d.Name})
		}
		if at < 0 && d.Hash == "" {
			p.edits = append(p.edits, edit{path: d.Path, name: d.Name})
		}
	}
	if len(p.edits) > 0 {
		p.Entry = p.edits[0].value
	}
	return p, p.splice()
}

// isWiped reports whether now equals version without its servers, or is empty.
func isWiped(client Client, r record, now, version []byte) bool {
	if len(bytes.TrimSpace(now)) == 0 {
		return true
	}
	a, okA := decodeFile(now, client)
	b, okB := decodeFile(version, client)
	if !okA || !okB {
		return false
	}
	paths := [][]string{client.KeyPath}
	for _, d := range r.Edits {
		paths = append(paths, d.Path)
	}
	for _, path := range paths {
		if !isEmptyAt(a, path) {
			return false
		}
		isEmptyAt(b, path)
		deletePath(b, path)
		deletePath(a, path)
	}
	return encodeString(a) == encodeString(b)
}

// isEmptyAt reports whether the container at path is empty or missing.
func isEmptyAt(m map[string]any, path []string) bool {
	switch v := valueAt(m, path).(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == nil
	}
}

func deletePath(m map[string]any, path []string) {
	last := len(path) - 1
	parent, _ := valueAt(m, path[:last]).(map[string]any)
	delete(parent, path[last])
}

func encodeString(m map[string]any) string {
	b, _ := core.EncodeJSON(m)
	return string(b)
}

// Forget accepts that the user removed our entry on purpose: it deletes the record, so that
// the guard no longer reports it and nothing is restored. Backups are retained.
func (c *Connector) Forget(key string) error {
	all, err := c.connection(key)
	if err == nil && len(all) == 0 {
		err = core.Errorf(core.CodeNotFound, "%q is not connected", key)
	}
	for _, r := range all {
		err = errors.Join(err, c.deleteRecord(r.Choice.key()))
	}
	return err
}
