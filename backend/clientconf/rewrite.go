package clientconf

import (
	"context"
	"maps"
	"os"
	"slices"
)

// Rewritten is the change of one client file after our URL or token changed.
type Rewritten struct {
	Key   string `json:"key"`
	Path  string `json:"path"`
	Diff  string `json:"diff"`
	Error string `json:"error,omitempty"`
}

// Rewrite updates the entries with a URL: those of one client, or of all clients if client is
// empty. An empty url keeps the URL of each entry. Entries that the user removed or changed
// are not touched.
func (c *Connector) Rewrite(ctx context.Context, client, url string, tokenOf func(client string) (string, error)) ([]Rewritten, error) {
	return c.rewrite(client, url, tokenOf, func(p *Plan) error { return c.Apply(ctx, p) })
}

// WouldRewrite returns what Rewrite would change for a new token. It writes nothing.
func (c *Connector) WouldRewrite(client string) ([]Rewritten, error) {
	another := func(string) (string, error) { return "dbr_another", nil }
	return c.rewrite(client, "", another, func(*Plan) error { return nil })
}

func (c *Connector) rewrite(client, url string, tokenOf func(client string) (string, error), apply func(*Plan) error) ([]Rewritten, error) {
	records, err := c.records()
	if err != nil {
		return nil, err
	}
	var all []Rewritten
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
		p, err := c.replan(choice, r)
		if err == nil && p.Action == Equal {
			continue
		}
		w := Rewritten{Key: key, Path: r.Path}
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

// TakeOut removes the entries that contain the client's token, after the token was revoked.
// Entries of the shim stay, because the shim obtains a new token.
func (c *Connector) TakeOut(ctx context.Context, client string) []Rewritten {
	return c.takeOut(client, func(s Status, path string) ([]byte, error) {
		if _, err := c.Undo(ctx, s.Key, false); err != nil {
			return nil, err
		}
		after, _, err := read(path)
		return after, err
	})
}

// WouldTakeOut returns what TakeOut would change. It writes nothing.
func (c *Connector) WouldTakeOut(client string) []Rewritten {
	return c.takeOut(client, func(s Status, path string) ([]byte, error) {
		r, recorded, err := c.loadRecord(s.Key)
		if err != nil || !recorded {
			return nil, err
		}
		now, _, err := read(path)
		if err != nil {
			return nil, err
		}
		if r.PostHash == hash(now) && !r.Existed {
			return nil, nil // Undo deletes a file that did not exist before
		}
		if r.PostHash == hash(now) && r.Backup != "" {
			if before, err := os.ReadFile(c.backupPath(r.Backup)); err == nil {
				return before, nil
			}
		}
		p := &Plan{Client: s.Client, Path: path, choice: r.Choice, target: path, before: now, existed: true}
		return p.without(r, recorded, false)
	})
}

func (c *Connector) takeOut(client string, after func(s Status, path string) ([]byte, error)) (all []Rewritten) {
	for _, s := range c.List() {
		if s.Client.ID != client || !s.Choice.HTTP || s.Choice.ByVariable || !s.Connected {
			continue
		}
		path := s.Path
		if r, ok, _ := c.loadRecord(s.Key); ok {
			path = r.Path
		}
		before, _, _ := read(path)
		w := Rewritten{Key: s.Key, Path: path}
		if now, err := after(s, path); err != nil {
			w.Error = err.Error()
		} else {
			w.Diff = diff(path, before, now)
		}
		all = append(all, w)
	}
	return all
}
