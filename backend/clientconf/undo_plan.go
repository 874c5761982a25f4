package clientconf

import (
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// UndoPlan says what undoing a connection would do.
type UndoPlan struct {
	Path     string          `json:"path" doc:"File of the client"`
	File     string          `json:"file" enum:"unchanged,changed,byHand" doc:"Whether it has changed since it was connected: if not, it gets its original content, else only Drawbridge's entries are undone. byHand: the user added the entry"`
	Restored []string        `json:"restored" nullable:"false" doc:"Servers that the client starts by itself again, by the names in its file"`
	Removed  []RemovedServer `json:"removed" nullable:"false" doc:"Servers that are removed from Drawbridge's configuration"`
	Kept     []string        `json:"kept" nullable:"false" doc:"Servers that were moved and stay in Drawbridge's configuration, because they were changed there"`
	Shared   []SharedServer  `json:"shared,omitempty" nullable:"false" doc:"Servers that were moved and stay in Drawbridge's configuration, because other clients or imports brought them in, too: until the last of these is undone"`
	Problem  string          `json:"problem" doc:"Why it cannot be undone; empty if it can"`
}

// RemovedServer is a server that would be removed from our configuration.
type RemovedServer struct {
	Name   string   `json:"name"`
	UsedBy []string `json:"usedBy" nullable:"false" doc:"Other clients with an entry for it or for all servers"`

	Profiles []string `json:"profiles" nullable:"false" doc:"Profiles that include it by name"`
}

// PlanUndo returns what Undo would do. It writes nothing.
func (c *Connector) PlanUndo(key string) (UndoPlan, error) {
	out := UndoPlan{File: "unchanged", Restored: []string{}, Removed: []RemovedServer{}, Kept: []string{}, Shared: []SharedServer{}}
	files, err := c.connection(key)
	if err != nil {
		return out, err
	}
	if len(files) == 0 { // connected by hand: only the entry is removed
		p, err := c.openPlan(Choice{Client: key})
		if err == nil {
			out.Path, out.File = p.Path, "byHand"
		}
		return out, err
	}
	others, err := c.bringersExcept(files, "")
	if err != nil {
		return out, err
	}
	out.Path = files[0].Path
	for _, r := range files {
		if err := out.addFile(r); err != nil {
			return out, err
		}
		if r.Own == nil {
			continue
		}
		if err := out.addRemoved(c, r, others); err != nil {
			return out, err
		}
	}
	return out, nil
}

// addFile adds what would happen to a file of the client.
func (u *UndoPlan) addFile(r record) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	for _, d := range r.Edits {
		if d.Value != nil {
			u.Restored = append(u.Restored, d.Name)
		}
	}
	now, existed, err := readFile(r.Path)
	if !existed && r.Own != nil && r.Existed {
		u.Problem = r.Path + " does not exist any more"
	}
	if err != nil || !existed || hashBytes(now) == r.PostHash {
		return err
	}
	u.File = "changed"
	p := &Plan{Client: client, Path: r.Path, choice: r.Choice, target: r.Path, before: now, existed: true}
	if _, err := p.contentWithout(r, true, false); err != nil {
		u.Problem = err.Error()
	}
	return nil
}

// addRemoved adds the servers that would be removed from our configuration, and those that would stay.
func (u *UndoPlan) addRemoved(c *Connector, r record, others []bringer) error {
	now, existed, err := readFile(r.Own.Path)
	if err != nil || !existed {
		return err
	}
	file, client, err := parseConfig(r.Own.Path, now)
	if err != nil {
		return err
	}
	records, err := c.records()
	if err != nil {
		return err
	}
	ours, _ := config.Parse(r.Own.Path, now) // nil if it has errors
	for _, label := range slices.Sorted(maps.Keys(r.Own.Servers)) {
		_, value, err := file.entry(client.KeyPath, label)
		bringers := bringersOf(others, label)
		switch {
		case err != nil:
			return err
		case value == nil: // the user removed it
		case len(bringers) > 0:
			u.Shared = append(u.Shared, SharedServer{label, bringers})
		case hashValue(value) != r.Own.Servers[label]:
			u.Kept = append(u.Kept, label)
		default:
			id := core.Slug(label)
			u.Removed = append(u.Removed, RemovedServer{label, usersOf(records, id, r.Choice.Client), profilesOf(ours, id)})
		}
	}
	return nil
}

// profilesOf returns the profiles that include a server by name.
func profilesOf(c *config.Config, server string) []string {
	names := []string{}
	if c != nil {
		for _, p := range c.Profiles {
			if _, in := p.Servers[server]; in {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// usersOf returns the names of the clients with an entry for a server or for all, except one.
func usersOf(records map[string]record, server, except string) []string {
	names := []string{}
	for _, key := range slices.Sorted(maps.Keys(records)) {
		choice := records[key].Choice
		client, err := ByID(choice.Client)
		uses := len(choice.listed()) == 0 || slices.Contains(choice.listed(), server)
		if err == nil && choice.Client != except && uses && !records[key].RemovedByUser && !slices.Contains(names, client.Name) {
			names = append(names, client.Name)
		}
	}
	return names
}
