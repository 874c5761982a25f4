package clientconf

import (
	"context"
	"os"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// UndoServers undoes the move of some servers: it restores their originals and removes what
// was added for them to our configuration. The other servers stay moved. Undoing the last one
// undoes the whole connection.
func (c *Connector) UndoServers(ctx context.Context, key string, names []string, force bool) (UndoOutcome, error) {
	r, ok, err := c.loadRecord(key)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", core.Errorf(core.CodeNotFound, "%q is not connected", key)
	}
	part, rest := r.splitByServer(names)
	for _, name := range names {
		if !slices.ContainsFunc(part.Choice.Servers, func(s ServerEntry) bool { return s.Name == name }) {
			return "", core.Errorf(core.CodeNotFound, "%q was not moved from %s", name, key)
		}
	}
	if len(rest.Choice.Servers) == 0 {
		return c.Undo(ctx, key, force)
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
	if err := c.undoConfigServers(ctx, &rest, part.Choice.Servers); err != nil {
		return how, err
	}
	after, err := os.ReadFile(r.Path)
	if err != nil {
		return how, err
	}
	if rest.PostHash == hashBytes(p.before) { // the file had no other changes, so the first backup stays valid
		rest.PostHash = hashBytes(after)
		if rest.WrittenBackup, err = c.saveBackup(key, after); err != nil {
			return how, err
		}
	}
	return how, c.saveRecord(rest)
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
