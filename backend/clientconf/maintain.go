package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
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

func (c *Connector) restoreFile(ctx context.Context, r record, tokenOf func(client string) (string, error)) (whole bool, err error) {
	client, err := r.client()
	if err != nil {
		return false, err
	}
	now, existed, err := readFile(r.Path)
	if err != nil {
		return false, err
	}
	if version, err := osutil.ReadFile(c.backupPath(r.WrittenBackup)); err == nil && hashBytes(version) == r.PostHash && isWiped(client, r, now, version) {
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

// State is the state of one connection.
type State string

const (
	NotConnected State = "notConnected"
	Connected    State = "connected"
	Vanished     State = "vanished"   // the Drawbridge entry is no longer in the file
	Changed      State = "changed"    // our entry was modified
	Unreadable   State = "unreadable" // the file cannot be edited; Problem says why
)

// Status describes one client on this machine.
type Status struct {
	Client   Client
	Key      string // key of the connection
	Project  string // "" for the user's own file
	Path     string // path of its file; "" if it has none on this system
	Detected bool   // it seems to be installed
	State    State
	// Connected is set if the file contains our entry, even if it was modified.
	Connected bool
	// Problem explains why the file cannot be edited, or that our entry was lost.
	Problem string
	// Choice is how it was connected, At when.
	Choice Choice
	At     time.Time
}

// List returns the status of every known client, followed by the connections of projects. It
// only reads.
func (c *Connector) List() []Status {
	records, _ := c.records()
	var all []Status
	for _, client := range Known() {
		s := Status{Client: client, Key: client.ID, Detected: c.system.detected(client), State: NotConnected}
		if loc, ok := c.system.locate(client); ok {
			s.Path = loc.path
			r, recorded := records[client.ID]
			c.inspect(&s, r, recorded)
		}
		for _, r := range records {
			if r.Choice.Client == client.ID && r.Choice.Project == "" && r.Choice.File != "" {
				c.include(&s, r)
			}
		}
		all = append(all, s)
	}
	for _, key := range slices.Sorted(maps.Keys(connectionTimes(records))) {
		if s, ok := c.Status(key); ok && s.Project != "" {
			all = append(all, s)
		}
	}
	return all
}

// include adds the state of a further file to s. A problem in one file is one of the connection.
func (c *Connector) include(s *Status, r record) {
	one := Status{Client: s.Client.withFormatOf(r.Path), Path: r.Path}
	c.inspect(&one, r, true)
	connected, servers := s.Connected || one.Connected, slices.Concat(s.Choice.Servers, one.Choice.Servers)
	if s.Path == "" || s.State == NotConnected {
		s.Path, s.Choice, s.At = cmp.Or(s.Path, one.Path), one.Choice, one.At
	}
	if s.State == NotConnected || s.State == Connected && one.State != NotConnected {
		s.State, s.Problem = one.State, one.Problem
	}
	s.Connected, s.Choice.Servers = connected, servers
}

// inspect sets the fields of s that depend on the client's file.
func (c *Connector) inspect(s *Status, r record, recorded bool) {
	s.Choice, s.At = r.Choice, r.At
	edits := r.Edits
	if !recorded {
		edits = []entryChange{{Path: s.Client.KeyPath, Name: EntryName}}
	}
	path := s.Path
	if recorded {
		path = r.Path
	}
	lost, changed, found, err := countEntryStates(s.Client, path, edits, recorded)
	switch {
	case err != nil:
		s.State, s.Problem = Unreadable, err.Error()
	case !recorded && found == 0:
		s.State = NotConnected
	case r.RemovedByUser && found == 0:
		s.State = NotConnected
	case lost > 0:
		s.State, s.Problem = Vanished, "the Drawbridge entry is no longer in the file"
	case changed > 0:
		s.State, s.Problem = Changed, "the Drawbridge entry was changed"
	default:
		s.State = Connected
	}
	s.Connected = found > 0
}

// countEntryStates counts the lost, changed and found entries of a connection. Changed entries are found
// as well.
func countEntryStates(client Client, path string, edits []entryChange, recorded bool) (lost, changed, found int, err error) {
	if !editable(client) {
		return 0, 0, 0, nil
	}
	src, existed, err := readFile(path)
	if err != nil {
		return 0, 0, 0, err
	}
	var file document
	if existed {
		if file, err = parse(src, client); err != nil {
			return 0, 0, 0, err
		}
	}
	for _, d := range edits {
		if recorded && d.Hash == "" {
			continue // an entry of the user that was only removed
		}
		var value []byte
		if file != nil {
			if _, value, err = file.entry(d.Path, d.Name); err != nil {
				return 0, 0, 0, err
			}
		}
		switch {
		case value == nil || !isOurs(value) && !d.isUnmodified(value):
			lost++
		case recorded && !d.isUnmodified(value):
			changed++
			found++
		default:
			found++
		}
	}
	return lost, changed, found, nil
}

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
	return c.updateEntries(withURL(client, url), tokenOf, func(p *Plan) error { return c.Apply(ctx, p) })
}

// PreviewUpdate returns what UpdateEntries would change for a new token. It writes nothing.
func (c *Connector) PreviewUpdate(client string) ([]EntryUpdate, error) {
	another := func(string) (string, error) { return "dbr_another", nil }
	return c.updateEntries(withURL(client, ""), another, func(*Plan) error { return nil })
}

func withURL(client, url string) func(*Choice) bool {
	return func(choice *Choice) bool {
		choice.URL = cmp.Or(url, choice.URL)
		return choice.HTTP && (client == "" || choice.Client == client)
	}
}

// updateEntries updates the unchanged entries of the connections whose choice is to be changed, which change
// does and reports.
func (c *Connector) updateEntries(change func(*Choice) bool, tokenOf func(client string) (string, error), apply func(*Plan) error) ([]EntryUpdate, error) {
	records, err := c.records()
	if err != nil {
		return nil, err
	}
	var all []EntryUpdate
	for _, key := range slices.Sorted(maps.Keys(records)) {
		r := records[key]
		choice := r.Choice
		if !change(&choice) {
			continue
		}
		if s, ok := c.Status(key); !ok || s.State != Connected {
			continue
		}
		if choice.HTTP {
			if choice.Token, err = tokenOf(choice.Client); err != nil {
				return all, err
			}
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
		if _, err := c.Undo(ctx, s.Key, UndoOptions{}); err != nil {
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
			if before, err := osutil.ReadFile(c.backupPath(r.Backup)); err == nil {
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
