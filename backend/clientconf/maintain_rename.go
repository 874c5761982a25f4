package clientconf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// RenameServer updates what names a server that was renamed from the id from: the entries of clients that
// provide only this server, which keep their own names, and what undo removes from our configuration.
// label is its new name. The warnings are the entries that still have the old name, and the clients that use
// it until they read their changed file.
func (c *Connector) RenameServer(ctx context.Context, from, to, label string, tokenOf func(client string) (string, error)) (warnings []string) {
	done, err := c.updateEntries(func(choice *Choice) bool {
		choice.Servers = slices.Clone(choice.Servers)
		found := false
		for i := range choice.Servers {
			if s := &choice.Servers[i]; core.Slug(s.Server) == from {
				s.Server, found = to, true
			}
		}
		return found
	}, tokenOf, func(p *Plan) error { return c.Apply(ctx, p) })
	err = errors.Join(err, c.renameOwnServer(from, label))
	if err != nil {
		warnings = append(warnings, "the entries in clients' files: "+err.Error())
	}
	if from == to {
		return warnings
	}
	for _, u := range done {
		if s, ok := c.Status(u.Key); ok && u.Error == "" && !s.Client.ReloadsAutomatically() {
			warnings = append(warnings, s.Client.Name+" uses the old name until it reads its changed file. "+s.Client.ApplyHint())
		}
	}
	for _, e := range c.EntriesOf(from) {
		warnings = append(warnings, e.String()+". Undo the entry with: "+e.Undo())
	}
	return warnings
}

// renameOwnServer renames a server in the records of what moves added to our configuration.
func (c *recordFolder) renameOwnServer(from, label string) error {
	records, err := c.records()
	for _, r := range records {
		if r.Own == nil {
			continue
		}
		for old, sum := range r.Own.Servers {
			if core.Slug(old) != from || old == label {
				continue
			}
			own := *r.Own
			own.Servers, own.Secrets = maps.Clone(own.Servers), maps.Clone(own.Secrets)
			delete(own.Servers, old)
			own.Servers[label] = sum
			if names, some := own.Secrets[old]; some {
				delete(own.Secrets, old)
				own.Secrets[label] = names
			}
			r.Own = &own
			err = errors.Join(err, c.saveRecord(r))
			break
		}
	}
	return err
}

// NamedEntry is an entry in a client's file that provides only one server.
type NamedEntry struct {
	Client        Client
	Path, Project string
	ServerEntry
}

// String says that the entry names the server, which was renamed or removed.
func (e NamedEntry) String() string {
	return fmt.Sprintf("the entry %q of %s in %s names the server %q, which does not exist", e.Name, e.Client.Name, e.Path, e.Server)
}

// Undo is the command that restores what the entry replaced, or removes the entry.
func (e NamedEntry) Undo() string {
	command := "drawbridge clients undo " + e.Client.ID + " " + e.Name
	if e.Project != "" {
		command += " --project " + e.Project
	}
	return command
}

// EntriesOf returns the entries that clients have for one server.
func (c *Connector) EntriesOf(server string) (all []NamedEntry) {
	records, _ := c.records() // unreadable records are reported elsewhere
	for _, key := range slices.Sorted(maps.Keys(records)) {
		r := records[key]
		client, err := r.client()
		if s, ok := c.Status(key); err != nil || !ok || !s.Connected {
			continue
		}
		for _, s := range r.Choice.Servers {
			if core.Slug(s.Server) == server {
				all = append(all, NamedEntry{client, r.Path, r.Choice.Project, s})
			}
		}
	}
	return all
}
