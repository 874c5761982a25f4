package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// configRecord records what a move or import added to our own configuration.
type configRecord struct {
	Path     string            `json:"path"`
	Existed  bool              `json:"existed"`
	Backup   string            `json:"backup"`
	PostHash string            `json:"postHash"`
	Servers  map[string]string `json:"servers"` // hash of the decoded entry, by label
	// Secrets are the names of the secrets that were stored, by label of the server.
	Secrets map[string][]string `json:"secrets,omitempty"`
	// ToolMode is the client whose tool mode was set; "" if none was.
	ToolMode string `json:"toolMode,omitempty"`
}

func (r *configRecord) isEmpty() bool { return len(r.Servers) == 0 && r.ToolMode == "" }

// configChange is a change of our configuration file that preserves its comments.
type configChange struct {
	configRecord
	dir           string // directory of the backups
	before, after []byte
	vault         Vault                                           // nil: literal secrets stay
	sync          func(ctx context.Context, confirm string) error // Connector.Sync
	secretValues  map[string]string                               // secrets to store, by name
	merged        []string                                        // labels of existing servers that are the same as those to add
	kept          []string                                        // labels of servers that the undo leaves
}

// configClient describes our own file as a client for the splicer.
func configClient(src []byte) Client {
	c := Client{ID: "drawbridge", Name: "Drawbridge", Format: JSONC, KeyPath: []string{"mcpServers"}}
	m, ok := decodeFile(src, c)
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

// openConfig opens our configuration as it is, or as the preceding plans of a batch will leave
// it.
func (c *Connector) openConfig() (*configChange, error) {
	o, err := openConfigFile(c.config, c.dir)
	if err != nil {
		return nil, err
	}
	o.sync = c.Sync
	if c.plannedConfig != nil {
		o.before, o.after, o.Existed = c.plannedConfig, c.plannedConfig, true
	}
	return o, nil
}

func openConfigFile(path, dir string) (*configChange, error) {
	resolved, err := resolveTarget(path)
	if err != nil {
		return nil, err
	}
	o := &configChange{configRecord: configRecord{Path: resolved, Servers: map[string]string{}}, dir: dir}
	if o.before, o.Existed, err = readFile(resolved); err != nil {
		return nil, err
	}
	o.after = o.before
	if !o.Existed {
		o.after = config.Starter()
	}
	return o, nil
}

// parseConfig parses our own configuration, with the client that describes it. Its error names the
// file and the line. As for files of clients, an empty file is an empty document.
func parseConfig(path string, src []byte) (document, Client, error) {
	if config.IsYAML(path) || len(bytes.TrimSpace(src)) > 0 {
		if err := config.CheckEditable(path, src); err != nil {
			return nil, Client{}, err
		}
	}
	client := configClient(src)
	file, err := parse(src, client)
	return file, client, err
}

// servers returns the servers of the configuration, and their labels, by the labelKey of their label.
func (o *configChange) servers() (all map[string]json.RawMessage, labels map[string]string, err error) {
	file, client, err := parseConfig(o.Path, o.after)
	if err != nil {
		return nil, nil, err
	}
	m, err := file.decode()
	if err != nil {
		return nil, nil, err
	}
	container := valueAt(m, client.KeyPath)
	object, isObject := container.(map[string]any)
	if container != nil && !isObject {
		return nil, nil, &core.Error{Code: core.CodeRejected, Message: "cannot edit " + o.Path + ": it stores its servers in an array",
			Hint: "Change the array to an object with the names as keys, or add the server in a text editor."}
	}
	all, labels = map[string]json.RawMessage{}, map[string]string{}
	for label, value := range object {
		labels[labelKey(label)] = label
		if all[labelKey(label)], err = core.EncodeJSON(value); err != nil {
			return nil, nil, err
		}
	}
	return all, labels, nil
}

// WroteEntry reports whether a move or an import wrote the entry of a server that a configuration file has
// now: the user has seen and confirmed it.
func (c *Connector) WroteEntry(path, label string) bool {
	o, err := c.openConfig()
	if target, broken := resolveTarget(path); err != nil || broken != nil || target != o.Path {
		return false
	}
	servers, _, err := o.servers()
	entry := servers[labelKey(label)]
	if err != nil || entry == nil {
		return false
	}
	all, _ := c.bringersExcept(nil, "")
	return slices.ContainsFunc(all, func(b bringer) bool { return b.own.Path == o.Path && b.own.Servers[label] == hashValue(entry) })
}

// addServers inserts the servers and validates the result. It returns the servers that are valid, the
// reasons of the others, and the server ids by label.
func (o *configChange) addServers(all []ImportedServer) (added []ImportedServer, skipped []SkippedServer, ids map[string]string, err error) {
	// Each insertion reads the whole file, so that they are only checked one by one if all together are invalid.
	if reason, err := o.insert(all); err != nil {
		return nil, nil, nil, err
	} else if reason == "" {
		added = all
	} else {
		for n, i := range all {
			if reason, err = o.insert(all[n : n+1]); err != nil {
				return nil, nil, nil, err
			}
			if reason != "" {
				skipped = append(skipped, SkippedServer{i.Name, i.Scope, "Drawbridge's configuration would be invalid: " + reason})
				continue
			}
			added = append(added, i)
		}
	}
	o.PostHash = hashBytes(o.after)
	parsed, problems := config.Parse(o.Path, o.after)
	if err := errors.Join(o.earlierProblem(problems), config.HiddenError(o.Path, o.before, o.after)); err != nil {
		return nil, nil, nil, err
	}
	for _, i := range added {
		if i.Exists {
			o.merged = append(o.merged, i.Label)
		}
	}
	ids = map[string]string{}
	if parsed != nil {
		for _, s := range parsed.Servers {
			ids[labelKey(s.Label)] = s.ID
		}
	}
	return added, skipped, ids, nil
}

// insert inserts the servers that do not exist, or returns why the configuration would be invalid.
func (o *configChange) insert(all []ImportedServer) (reason string, err error) {
	all = slices.DeleteFunc(slices.Clone(all), func(i ImportedServer) bool { return i.Exists })
	if len(all) == 0 {
		return "", nil
	}
	parsed, client, err := parseConfig(o.Path, o.after)
	if err != nil {
		return "", err
	}
	file, edits := newEditing(client, o.after, parsed), []edit(nil)
	for _, i := range all {
		if err := file.set(client.KeyPath, i.Label, i.Entry); err != nil {
			return "", err
		}
		edits = append(edits, edit{client.KeyPath, i.Label, i.Entry})
	}
	after := file.result()
	if err := (&Plan{Client: client}).verifyEdits(o.after, after, edits); err != nil {
		return "", err
	}
	_, problems := config.Parse(o.Path, after)
	if err := o.earlierProblem(problems); err != nil {
		return "", err
	}
	if at := slices.IndexFunc(problems, func(p config.Problem) bool {
		return !p.Warning && (p.Server == "" || slices.ContainsFunc(edits, func(e edit) bool { return e.name == p.Server }))
	}); at >= 0 {
		return problems[at].Message, nil
	}
	o.after = after
	for _, i := range all {
		o.Servers[i.Label] = hashValue(i.Entry)
		for name, value := range i.secretValues {
			if o.secretValues == nil {
				o.secretValues, o.Secrets = map[string]string{}, map[string][]string{}
			}
			o.secretValues[name] = value
			o.Secrets[i.Label] = append(o.Secrets[i.Label], name)
		}
	}
	return "", nil
}

// earlierProblem returns the error for the first of problems that the file had before the change, if it
// concerns no single server.
func (o *configChange) earlierProblem(problems []config.Problem) error {
	if !o.Existed || len(bytes.TrimSpace(o.before)) == 0 {
		return nil
	}
	_, before := config.Parse(o.Path, o.before)
	for _, p := range problems {
		i := slices.IndexFunc(before, func(b config.Problem) bool { return b.Key == p.Key && b.Message == p.Message })
		if !p.Warning && p.Server == "" && i >= 0 {
			return config.EditError(before[i])
		}
	}
	return nil
}

// merge returns the record of this change merged with that of an earlier change for the same
// client, so that both are undone together. The earlier backup remains valid if nothing else
// wrote the file in between; else the record has none.
func (o *configChange) merge(old *configRecord) *configRecord {
	r := o.configRecord
	if old == nil || old.Path != o.Path {
		return &r
	}
	if o.isEmpty() {
		return old
	}
	r.ToolMode = cmp.Or(o.ToolMode, old.ToolMode)
	r.Servers, r.Secrets = maps.Clone(old.Servers), maps.Clone(old.Secrets)
	if r.Secrets == nil {
		r.Secrets = map[string][]string{}
	}
	maps.Copy(r.Servers, o.Servers)
	maps.Copy(r.Secrets, o.Secrets)
	r.Existed, r.Backup = old.Existed, old.Backup
	if old.PostHash != hashBytes(o.before) {
		r.Existed, r.Backup = true, ""
	}
	return &r
}

// apply stores the secrets and writes the file. Secrets come first, because the daemon may
// start the servers at once. It returns when a running daemon uses the file; if it does not, nothing
// has changed.
func (o *configChange) apply(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // it ended while the change was planned
		return err
	}
	if err := o.storeSecrets(ctx); err != nil {
		return err
	}
	err := o.write(ctx)
	if err == nil && o.sync != nil && !o.isEmpty() {
		if err = o.sync(ctx, ""); err != nil {
			_, undone := o.undoFile(context.WithoutCancel(ctx))
			err = errors.Join(err, undone)
		}
	}
	if err != nil {
		err = errors.Join(err, o.deleteSecrets(ctx, slices.Collect(maps.Keys(o.secretValues))))
	}
	return err
}

func (o *configChange) write(ctx context.Context) error {
	if o.isEmpty() {
		return nil
	}
	unlock, err := osutil.LockBeside(ctx, o.Path)
	if err != nil {
		return err
	}
	defer unlock()
	return o.replace(o.before, o.Existed, o.after)
}

// replace replaces the content now of the file, and backs it up before.
func (o *configChange) replace(now []byte, existed bool, next []byte) error {
	if existed {
		if err := o.backUp(now); err != nil {
			return err
		}
	}
	return replaceFile(o.Path, now, existed, next)
}

// backUp makes one of the backups that the user sees and restores; the records have their own, for undo.
func (o *configChange) backUp(now []byte) error {
	_, err := config.BackupsOf(filepath.Dir(o.dir)).Create(o.Path, now, time.Now())
	return err
}

// undo removes what was added: the file gets its original content byte for byte if nothing
// else wrote it since and nothing stays, else it loses the servers that were not modified. Their secrets are
// removed as well.
func (o *configChange) undo(ctx context.Context) (UndoOutcome, error) {
	how, err := o.undoFile(ctx)
	if err != nil {
		return how, err
	}
	if o.sync != nil && how != WasAbsent {
		_ = o.sync(ctx, config.AnyETag) // what else is wrong with the file is no failure of the undo
	}
	var names []string
	for _, list := range o.Secrets {
		names = append(names, list...)
	}
	return how, o.deleteSecrets(ctx, names)
}

func (o *configChange) undoFile(ctx context.Context) (UndoOutcome, error) {
	unlock, err := osutil.LockBeside(ctx, o.Path)
	if err != nil {
		return "", err
	}
	defer unlock()
	now, existed, err := readFile(o.Path)
	if err != nil || !existed || o.isEmpty() {
		return WasAbsent, err
	}
	if hashBytes(now) == o.PostHash {
		if !o.Existed && len(o.kept) == 0 {
			if err := o.backUp(now); err != nil {
				return "", err
			}
			return Restored, os.Remove(o.Path)
		}
		before, err := osutil.ReadFile(filepath.Join(o.dir, "backups", filepath.Base(o.Backup)))
		if err == nil && o.Backup != "" && o.isOriginal(before) {
			return Restored, o.replace(now, true, before)
		}
	}
	parsed, client, err := parseConfig(o.Path, now)
	if err != nil {
		return "", err
	}
	file := newEditing(client, now, parsed)
	for _, label := range slices.Sorted(maps.Keys(o.Servers)) {
		_, value, err := file.entry(client.KeyPath, label)
		if err != nil {
			return "", err
		}
		if value == nil || hashValue(value) != o.Servers[label] {
			continue // the user modified it
		}
		if err := file.remove(client.KeyPath, label); err != nil {
			return "", err
		}
	}
	content := file.result()
	if content, err = o.withoutToolMode(content); err != nil {
		return "", err
	}
	if slices.Equal(content, now) {
		return WasAbsent, nil
	}
	return Removed, o.replace(now, true, content)
}
