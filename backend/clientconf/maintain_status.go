package clientconf

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

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
