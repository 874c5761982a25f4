package clientconf

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// UndoServers undoes the move of some servers: it restores their originals and removes what
// was added for them to our configuration. The other servers stay moved. Undoing the last one
// undoes the whole connection.
func (c *Connector) UndoServers(ctx context.Context, key string, names []string, force bool) (UndoOutcome, error) {
	all, err := c.connection(key)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", core.Errorf(core.CodeNotFound, "%q is not connected", key)
	}
	var gone, left []ServerEntry
	for _, r := range all {
		part, rest := r.splitByServer(names)
		gone, left = append(gone, part.Choice.Servers...), append(left, rest.Choice.Servers...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(gone, func(s ServerEntry) bool { return s.Name == name }) {
			return "", core.Errorf(core.CodeNotFound, "%q was not moved from %s", name, key)
		}
	}
	if len(left) == 0 {
		return c.Undo(ctx, key, force)
	}
	how := WasAbsent
	var own *configRecord // of files that have no moved servers any more
	for n, r := range all {
		part, rest := r.splitByServer(names)
		if len(part.Choice.Servers) > 0 {
			one, err := c.undoPart(ctx, r, part, &rest, force)
			if err != nil {
				return how, err
			}
			how = how.with(one)
		}
		all[n] = rest
	}
	for n := range all {
		r := &all[n]
		if err := c.undoConfigServers(ctx, r, gone); err != nil {
			return how, err
		}
		if len(r.Edits) == 0 && r.Own != nil {
			own = (&configChange{configRecord: *r.Own}).merge(own)
		}
	}
	for _, r := range all {
		if len(r.Edits) == 0 {
			err = errors.Join(err, c.deleteRecord(r.Choice.key()))
			continue
		}
		if own != nil {
			r.Own, own = (&configChange{configRecord: *own}).merge(r.Own), nil
		}
		err = errors.Join(err, c.saveRecord(r))
	}
	return how, err
}

// undoPart undoes a part of a record in its file, and updates the rest of the record.
func (c *Connector) undoPart(ctx context.Context, r, part record, rest *record, force bool) (UndoOutcome, error) {
	if len(rest.Choice.Servers) == 0 {
		return c.undoFile(ctx, r, force)
	}
	p, unlock, err := c.reopen(ctx, r)
	if err != nil {
		return "", err
	}
	defer unlock()
	if !p.existed {
		return "", core.Errorf(core.CodeConflict, "the file %s no longer exists: undo the whole connection", r.Path)
	}
	how, err := c.undoEntries(p, part, true, force)
	if err != nil {
		return "", err
	}
	after, err := os.ReadFile(r.Path)
	if err == nil && rest.PostHash == hashBytes(p.before) { // the file had no other changes, so the first backup stays valid
		rest.PostHash = hashBytes(after)
		rest.WrittenBackup, err = c.saveBackup(r.Choice.key(), after)
	}
	return how, err
}

// splitByServer splits the record into the named servers and the rest.
func (r record) splitByServer(names []string) (part, rest record) {
	part, rest = r, r
	part.Edits, rest.Edits, part.Choice.Servers, rest.Choice.Servers = nil, nil, nil, nil
	for _, s := range r.Choice.Servers {
		if slices.Contains(names, s.Name) {
			part.Choice.Servers = append(part.Choice.Servers, s)
		} else {
			rest.Choice.Servers = append(rest.Choice.Servers, s)
		}
	}
	for _, d := range r.Edits {
		if slices.Contains(names, d.Name) {
			part.Edits = append(part.Edits, d)
		} else {
			rest.Edits = append(rest.Edits, d)
		}
	}
	return part, rest
}

// undoConfigServers removes the servers in gone from our configuration and from r.
func (c *Connector) undoConfigServers(ctx context.Context, r *record, gone []ServerEntry) error {
	if r.Own == nil {
		return nil
	}
	before, _, err := readFile(r.Own.Path)
	if err != nil {
		return err
	}
	removed := &configChange{configRecord: configRecord{Path: r.Own.Path, Existed: true, Servers: map[string]string{}, Secrets: map[string][]string{}}, dir: c.dir, vault: c.vault}
	rest := *r.Own
	rest.Servers, rest.Secrets = map[string]string{}, map[string][]string{}
	for label, sum := range r.Own.Servers {
		to := &rest
		if slices.ContainsFunc(gone, func(s ServerEntry) bool { return s.Server == core.Slug(label) }) {
			to = &removed.configRecord
		}
		to.Servers[label], to.Secrets[label] = sum, r.Own.Secrets[label]
	}
	if len(removed.Servers) == 0 {
		return nil
	}
	if _, err := removed.undo(ctx); err != nil {
		return err
	}
	if rest.PostHash == hashBytes(before) {
		after, _, err := readFile(rest.Path)
		if err != nil {
			return err
		}
		rest.PostHash = hashBytes(after)
	}
	r.Own = &rest
	return nil
}
