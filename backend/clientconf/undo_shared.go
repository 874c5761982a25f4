package clientconf

import (
	"maps"
	"slices"
	"strings"
)

// SharedServer is a server that stays in our configuration when one client is disconnected, because other
// clients or imports brought it in, too.
type SharedServer struct {
	Name    string   `json:"name"`
	Clients []string `json:"clients" nullable:"false" doc:"Names of the other clients, and imports"`
}

// describeShared says which servers stay and for whom.
func describeShared(all []SharedServer) (text string) {
	for _, s := range all {
		text += " " + quote(s.Name) + " stays in Drawbridge, because it also came from " + strings.Join(s.Clients, " and ") + "."
	}
	return text
}

// bringer is a move or an import with what it added to our configuration.
type bringer struct {
	name string // "" if the user removed our entry from the client
	own  configRecord
}

// bringersExcept returns all moves and imports but some.
func (c *recordFolder) bringersExcept(moves []record, imported string) (all []bringer, err error) {
	records, err := c.records()
	if err != nil {
		return nil, err
	}
	for _, r := range moves {
		delete(records, r.Choice.key())
	}
	for _, key := range slices.Sorted(maps.Keys(records)) {
		r := records[key]
		client, err := r.client()
		if err != nil || r.Own == nil {
			continue
		}
		if r.RemovedByUser {
			client.Name = ""
		}
		all = append(all, bringer{client.Name, *r.Own})
	}
	imports, err := c.Imports()
	for _, i := range imports {
		if i.ID != imported {
			all = append(all, bringer{"the import " + i.ID, i.Own})
		}
	}
	return all, err
}

// bringersOf returns the names of the clients and imports that brought in a server.
func bringersOf(all []bringer, label string) (names []string) {
	for _, b := range all {
		if b.name != "" && b.own.Servers[label] != "" && !slices.Contains(names, b.name) {
			names = append(names, b.name)
		}
	}
	return names
}

// shareServers returns own with the servers of labels that other moves or imports had added, so that each of
// them stays until all are undone. Servers that the user added are not recorded.
func (c *recordFolder) shareServers(own configRecord, labels []string) (*configRecord, error) {
	all, err := c.bringersExcept(nil, "")
	own.Servers, own.Secrets = maps.Clone(own.Servers), maps.Clone(own.Secrets)
	for _, label := range labels {
		at := slices.IndexFunc(all, func(b bringer) bool { return b.own.Path == own.Path && b.own.Servers[label] != "" })
		if at < 0 || own.Servers[label] != "" {
			continue
		}
		own.Servers[label] = all[at].own.Servers[label]
		if names := all[at].own.Secrets[label]; names != nil {
			if own.Secrets == nil {
				own.Secrets = map[string][]string{}
			}
			own.Secrets[label] = names
		}
	}
	return &own, err
}

func (r configRecord) changeBy(c *Connector) *configChange {
	return &configChange{configRecord: r, dir: c.dir, vault: c.vault, sync: c.Sync}
}

// without returns the change without the servers that others brought in, too: its undo leaves them.
func (o *configChange) without(others []bringer) *configChange {
	o.Servers, o.Secrets = maps.Clone(o.Servers), maps.Clone(o.Secrets)
	for label := range o.Servers {
		if len(bringersOf(others, label)) > 0 {
			o.kept = append(o.kept, label)
			delete(o.Servers, label)
			delete(o.Secrets, label)
		}
	}
	return o
}

// isOriginal reports whether our configuration, as it was before, has the servers that stay and none that go:
// another client may have brought them in before or since.
func (o *configChange) isOriginal(before []byte) bool {
	all, _, err := (&configChange{configRecord: o.configRecord, after: before}).servers()
	has := func(label string) bool { return all[labelKey(label)] != nil }
	lacks := func(label string) bool { return !has(label) }
	return err == nil && !slices.ContainsFunc(o.kept, lacks) && !slices.ContainsFunc(slices.Collect(maps.Keys(o.Servers)), has)
}
