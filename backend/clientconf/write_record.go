package clientconf

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// maxBackups is how many backups are retained for each client.
const maxBackups = 20

// record holds what undo needs to know about one connection. It is stored in DIR/KEY.json.
type record struct {
	Choice  Choice    `json:"choice"`
	Path    string    `json:"path"` // the file that was written, with symbolic links resolved
	At      time.Time `json:"at"`
	Existed bool      `json:"existed"` // the file existed before
	// Backup is the name of the original file in DIR/backups; "" if it is no longer usable
	// because another program changed the file before we wrote it again.
	Backup        string        `json:"backup"`
	WrittenBackup string        `json:"version"`  // name of the backup of the file as we wrote it
	PostHash      string        `json:"postHash"` // hash of the whole file after our write
	Edits         []entryChange `json:"edits"`
	// MadeDirs are the directories that were created for the file, outermost first.
	MadeDirs []string `json:"madeDirs,omitempty"`
	// Own is what a move added to our own configuration.
	Own *configRecord `json:"own,omitempty"`
	// RemovedByUser is set if the user removed our entry on purpose.
	RemovedByUser bool `json:"gone,omitempty"`
}

// entryChange records the change of one entry.
type entryChange struct {
	Path []string `json:"path"`
	Name string   `json:"name"`
	// Hash is the hash of our decoded entry; "" if an entry of the user was only removed.
	Hash string `json:"hash"`
	// Before and Value are the previous entry, as text and as JSON; empty if there was none.
	Before string          `json:"before,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
}

func (d entryChange) hasPathOf(e edit) bool { return d.Name == e.name && slices.Equal(d.Path, e.path) }

func (e edit) hasPathOf(o edit) bool { return e.name == o.name && slices.Equal(e.path, o.path) }

// isUnmodified reports whether value is the entry that we wrote.
func (d entryChange) isUnmodified(value json.RawMessage) bool { return d.Hash == hashValue(value) }

// hashValue hashes the decoded value, because clients reformat their files.
func hashValue(value json.RawMessage) string {
	m, err := decodeObject(value)
	if err != nil {
		return hashBytes(value)
	}
	b, _ := json.Marshal(m)
	return hashBytes(b)
}

func (c *Connector) recordPath(key string) string { return filepath.Join(c.dir, key+".json") }

func (c *Connector) loadRecord(key string) (r record, ok bool, err error) {
	b, err := os.ReadFile(c.recordPath(key))
	if isNotExist(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(b, &r)
}

// records returns all connections, by key.
func (c *Connector) records() (map[string]record, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil && !isNotExist(err) {
		return nil, err
	}
	all := map[string]record{}
	for _, e := range entries {
		key, isRecord := strings.CutSuffix(e.Name(), ".json")
		if !isRecord {
			continue
		}
		r, ok, err := c.loadRecord(key)
		if err != nil {
			return nil, err
		}
		if ok {
			all[key] = r
		}
	}
	return all, nil
}

// connection returns the records of a connection, the newest first: those of all files of a client, or
// of a project. The key of one further file stands for that file only.
func (c *Connector) connection(key string) (all []record, err error) {
	records, err := c.records()
	for own, r := range records {
		if own == key || Key(r.Choice.Client, r.Choice.Project) == key {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b record) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.Choice.File, a.Choice.File))
	})
	return all, err
}

// connectionTimes returns when the last file of each connection was written, by key.
func connectionTimes(records map[string]record) map[string]time.Time {
	times := map[string]time.Time{}
	for _, r := range records {
		if key := Key(r.Choice.Client, r.Choice.Project); r.At.After(times[key]) {
			times[key] = r.At
		}
	}
	return times
}

// client returns the client of a record, with the format of its file.
func (r record) client() (Client, error) {
	client, err := ByID(r.Choice.Client)
	return client.withFormatOf(r.Path), err
}

func (c *Connector) saveRecord(r record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return osutil.WriteFile(c.recordPath(r.Choice.key()), append(b, '\n'), 0o600)
}

// saveBackup stores a backup and returns its name. It deletes the oldest beyond maxBackups.
func (c *Connector) saveBackup(id string, src []byte) (string, error) {
	name := id + "-" + c.now().UTC().Format("20060102T150405.000000000") + ".bak"
	if err := osutil.WriteFile(c.backupPath(name), src, 0o600); err != nil {
		return "", err
	}
	entries, _ := os.ReadDir(filepath.Join(c.dir, "backups"))
	var mine []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+"-2") {
			mine = append(mine, e.Name())
		}
	}
	slices.Sort(mine)
	for len(mine) > maxBackups {
		os.Remove(c.backupPath(mine[0]))
		mine = mine[1:]
	}
	return name, nil
}

func (c *Connector) backupPath(name string) string {
	return filepath.Join(c.dir, "backups", filepath.Base(name))
}
