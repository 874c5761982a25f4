package clientconf

import (
	"context"
	"maps"
	"os"
	"slices"
)

// EntryUpdate is the change of one client file after our URL or token changed.
type EntryUpdate struct {
	Key   string `json:"key"`
	Path  string `json:"path"`
	Diff  string `json:"diff"`
	Error string `json:"error,omitempty"`
}

// UpdateEntries updates the entries with a URL: those of one client, or of all clients if client is
// empty. An empty url keeps the URL of each entry. Entries that the user removed or changed
// are not touched.
func (c *Connector) UpdateEntries(ctx context.Context, client, url string, tokenOf func(client string) (string, error)) ([]EntryUpdate, error) {
	return c.updateEntries(client, url, tokenOf, func(p *Plan) error { return c.Apply(ctx, p) })
}

// PreviewUpdate returns what UpdateEntries would change for a new token. It writes nothing.
func (c *Connector) PreviewUpdate(client string) ([]EntryUpdate, error) {
	another := func(string) (string, error) { return "dbr_another", nil }
	return c.updateEntries(client, "", another, func(*Plan) error { return nil })
}

func (c *Connector) updateEntries(client, url string, tokenOf func(client string) (string, error), apply func(*Plan) error) ([]EntryUpdate, error) {
	records, err := c.records()
	if err != nil {
		return nil, err
	}
	var all []EntryUpdate
	for _, key := range slices.Sorted(maps.Keys(records)) {
		r := records[key]
		if !r.Choice.HTTP || client != "" && r.Choice.Client != client {
			continue
		}
		if s, ok := c.Status(key); !ok || s.State != Connected {
			continue
		}
		choice := r.Choice
		if url != "" {
			choice.URL = url
		}
		if choice.Token, err = tokenOf(choice.Client); err != nil {
			return all, err
		}
		p, err := c.planAgain(choice, r)
		if err == nil && p.Action == Equal {
			continue
		}
		w := EntryUpdate{Key: key, Path: r.Path}
		if err == nil {
			w.Diff = p.Diff
			err = apply(p)
		}
		if err != nil {
			w.Error = err.Error()
		}
		all = append(all, w)
	}
	return all, nil
}

// RemoveTokenEntries removes the entries that contain the client's token, after the token was revoked.
// Entries of the shim stay, because the shim obtains a new token.
func (c *Connector) RemoveTokenEntries(ctx context.Context, client string) []EntryUpdate {
	return c.removeTokenEntries(client, func(s Status, path string) ([]byte, error) {
		if _, err := c.Undo(ctx, s.Key, false); err != nil {
			return nil, err
		}
		after, _, err := readFile(path)
		return after, err
	})
}

// PreviewRemoveTokenEntries returns what RemoveTokenEntries would change. It writes nothing.
func (c *Connector) PreviewRemoveTokenEntries(client string) []EntryUpdate {
	return c.removeTokenEntries(client, func(s Status, path string) ([]byte, error) {
		r, recorded, err := c.loadRecord(s.Key)
		if err != nil || !recorded {
			return nil, err
		}
		now, _, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if r.PostHash == hashBytes(now) && !r.Existed {
			return nil, nil // Undo deletes a file that did not exist before
		}
		if r.PostHash == hashBytes(now) && r.Backup != "" {
			if before, err := os.ReadFile(c.backupPath(r.Backup)); err == nil {
				return before, nil
			}
		}
		p := &Plan{Client: s.Client, Path: path, choice: r.Choice, target: path, before: now, existed: true}
		return p.contentWithout(r, recorded, false)
	})
}

func (c *Connector) removeTokenEntries(client string, after func(s Status, path string) ([]byte, error)) (all []EntryUpdate) {
	for _, s := range c.List() {
		if s.Client.ID != client || !s.Choice.HTTP || s.Choice.ByVariable || !s.Connected {
			continue
		}
		path := s.Path
		if r, ok, _ := c.loadRecord(s.Key); ok {
			path = r.Path
		}
		before, _, _ := readFile(path)
		w := EntryUpdate{Key: s.Key, Path: path}
		if now, err := after(s, path); err != nil {
			w.Error = err.Error()
		} else {
			w.Diff = Diff(path, before, now)
		}
		all = append(all, w)
	}
	return all
}
