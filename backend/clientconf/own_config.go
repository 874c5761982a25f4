package clientconf

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ownRecord records what a move or import added to our own configuration.
type ownRecord struct {
	Path     string            `json:"path"`
	Existed  bool              `json:"existed"`
	Backup   string            `json:"backup"`
	PostHash string            `json:"postHash"`
	Servers  map[string]string `json:"servers"` // hash of the decoded entry, by label
	// Secrets are the names of the secrets that were stored, by label of the server.
	Secrets map[string][]string `json:"secrets,omitempty"`
}

// ownChange is a change of our configuration file that preserves its comments.
type ownChange struct {
	ownRecord
	dir           string // directory of the backups
	before, after []byte
	vault         Vault             // nil: literal secrets stay
	values        map[string]string // secrets to store, by name
}

// ownClient describes our own file as a client for the splicer.
func ownClient(src []byte) Client {
	c := Client{ID: "drawbridge", Name: "Drawbridge", Format: JSONC, TrailingCommas: true, KeyPath: []string{"mcpServers"}}
	m, ok := meaningOf(src, c)
	if !ok {
		return c
	}
	if mcp, ok := m["mcp"].(map[string]any); ok && m["mcpServers"] == nil && mcp["servers"] != nil {
		c.KeyPath = []string{"mcp", "servers"}
	} else if m["mcpServers"] == nil && m["servers"] != nil {
		c.KeyPath = []string{"servers"}
	}
	return c
}

// openOwn opens our configuration as it is, or as the preceding plans of a batch will leave
// it.
func (c *Connector) openOwn() (*ownChange, error) {
	o, err := openOwn(c.config, c.dir)
	if err == nil && c.ownText != nil {
		o.before, o.after, o.Existed = c.ownText, c.ownText, true
	}
	return o, err
}

func openOwn(path, dir string) (*ownChange, error) {
	resolved, err := target(path)
	if err != nil {
		return nil, err
	}
	o := &ownChange{ownRecord: ownRecord{Path: resolved, Servers: map[string]string{}}, dir: dir}
	if o.before, o.Existed, err = read(resolved); err != nil {
		return nil, err
	}
	o.after = o.before
	if !o.Existed {
		o.after = config.Starter()
	}
	return o, nil
}

// servers returns the servers of the configuration, by label in lower case.
func (o *ownChange) servers() (map[string]json.RawMessage, error) {
	client := ownClient(o.after)
	file, err := parse(o.after, client)
	if err != nil {
		return nil, err
	}
	m, err := file.meaning()
	if err != nil {
		return nil, err
	}
	var container any = m
	for _, key := range client.KeyPath {
		object, _ := container.(map[string]any)
		container = object[key]
	}
	object, isObject := container.(map[string]any)
	if container != nil && !isObject {
		return nil, core.Errorf(core.CodeRejected, "our configuration keeps its servers in a list: nothing can be added to it")
	}
	all := map[string]json.RawMessage{}
	for label, value := range object {
		if all[strings.ToLower(label)], err = encode(value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add inserts the servers and validates the result. It returns the server ids by label in
// lower case.
func (o *ownChange) add(all []Import) (ids map[string]string, err error) {
	for _, i := range all {
		if i.Have {
			continue
		}
		client := ownClient(o.after)
		file, err := parse(o.after, client)
		if err != nil {
			return nil, err
		}
		after, err := file.set(client.KeyPath, i.Label, i.Entry)
		if err != nil {
			return nil, err
		}
		if err := checkAfter(client, o.after, after, []edit{{client.KeyPath, i.Label, i.Entry}}); err != nil {
			return nil, err
		}
		o.after, o.Servers[i.Label] = after, hashMeaning(i.Entry)
		for name, value := range i.secrets {
			if o.values == nil {
				o.values, o.Secrets = map[string]string{}, map[string][]string{}
			}
			o.values[name] = value
			o.Secrets[i.Label] = append(o.Secrets[i.Label], name)
		}
	}
	o.PostHash = hash(o.after)
	parsed, problems := config.Parse(o.Path, o.after)
	for _, p := range problems {
		if _, mine := o.Servers[p.Server]; !p.Warning && (mine || p.Server == "") {
			return nil, &core.Error{Code: core.CodeValidation, Message: "our configuration cannot take it: " + p.Message, Hint: p.Suggestion}
		}
	}
	ids = map[string]string{}
	if parsed != nil {
		for _, s := range parsed.Servers {
			ids[strings.ToLower(s.Label)] = s.ID
		}
	}
	return ids, nil
}

// joined returns the record of this change merged with that of an earlier change for the same
// client, so that both are undone together. The earlier backup remains valid if nothing else
// wrote the file in between; else the record has none.
func (o *ownChange) joined(old *ownRecord) *ownRecord {
	r := o.ownRecord
	if old == nil || old.Path != o.Path {
		return &r
	}
	if len(o.Servers) == 0 {
		return old
	}
	r.Servers, r.Secrets = maps.Clone(old.Servers), maps.Clone(old.Secrets)
	if r.Secrets == nil {
		r.Secrets = map[string][]string{}
	}
	maps.Copy(r.Servers, o.Servers)
	maps.Copy(r.Secrets, o.Secrets)
	r.Existed, r.Backup = old.Existed, old.Backup
	if old.PostHash != hash(o.before) {
		r.Existed, r.Backup = true, ""
	}
	return &r
}

// carryOut stores the secrets and writes the file. Secrets come first, because the daemon may
// start the servers at once.
func (o *ownChange) carryOut(ctx context.Context) error {
	if err := o.keepSecrets(ctx); err != nil {
		return err
	}
	err := o.write(ctx)
	if err != nil {
		err = errors.Join(err, o.dropSecrets(ctx, slices.Collect(maps.Keys(o.values))))
	}
	return err
}

func (o *ownChange) write(ctx context.Context) error {
	if len(o.Servers) == 0 {
		return nil
	}
	unlock, err := atomicfile.Lock(ctx, o.Path)
	if err != nil {
		return err
	}
	defer unlock()
	return replace(o.Path, o.before, o.Existed, o.after)
}

// undo removes what was added: the file gets its original content byte for byte if nothing
// else wrote it since, else it loses the servers that were not modified. Their secrets are
// removed as well.
func (o *ownChange) undo(ctx context.Context) (Undone, error) {
	how, err := o.undoFile(ctx)
	if err != nil {
		return how, err
	}
	var names []string
	for _, list := range o.Secrets {
		names = append(names, list...)
	}
	return how, o.dropSecrets(ctx, names)
}

func (o *ownChange) undoFile(ctx context.Context) (Undone, error) {
	unlock, err := atomicfile.Lock(ctx, o.Path)
	if err != nil {
		return "", err
	}
	defer unlock()
	now, existed, err := read(o.Path)
	if err != nil || !existed || len(o.Servers) == 0 {
		return WasAbsent, err
	}
	if hash(now) == o.PostHash {
		if !o.Existed {
			return Restored, os.Remove(o.Path)
		}
		before, err := os.ReadFile(filepath.Join(o.dir, "backups", filepath.Base(o.Backup)))
		if err == nil && o.Backup != "" {
			return Restored, replace(o.Path, now, true, before)
		}
	}
	client, content := ownClient(now), now
	for _, label := range slices.Sorted(maps.Keys(o.Servers)) {
		file, err := parse(content, client)
		if err != nil {
			return "", err
		}
		_, value, err := file.entry(client.KeyPath, label)
		if err != nil {
			return "", err
		}
		if value == nil || hashMeaning(value) != o.Servers[label] {
			continue // the user modified it
		}
		if content, _, err = file.remove(client.KeyPath, label); err != nil {
			return "", err
		}
	}
	if slices.Equal(content, now) {
		return WasAbsent, nil
	}
	return Removed, replace(o.Path, now, true, content)
}
