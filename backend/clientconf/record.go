package clientconf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
)

// maxBackups is how many pre-images of one client are kept.
const maxBackups = 20

// record is what undo needs to know of one connection. It lives in DIR/KEY.json.
type record struct {
	Choice  Choice    `json:"choice"`
	Path    string    `json:"path"` // the file that was written, links followed
	At      time.Time `json:"at"`
	Existed bool      `json:"existed"` // there was a file before
	// Backup names the pre-image in DIR/backups; "" when it is of no use any more,
	// because the file was changed by others before we wrote it again.
	Backup   string `json:"backup"`
	Version  string `json:"version"`  // the backup that holds the file as we left it
	PostHash string `json:"postHash"` // of the whole file after our write
	Edits    []done `json:"edits"`
	// MadeDirs are folders that were created for the file, outermost first.
	MadeDirs []string `json:"madeDirs,omitempty"`
	// Own is what Move added to our own configuration.
	Own *ownRecord `json:"own,omitempty"`
	// Gone is set while our entry is missing because the user took it out.
	Gone bool `json:"gone,omitempty"`
}

// done is what became of one entry.
type done struct {
	Path []string `json:"path"`
	Name string   `json:"name"`
	// Hash is of the meaning of our entry; "" when one of others was only taken out.
	Hash string `json:"hash"`
	// Before and Value are what stood there, as text and as JSON; "" when nothing did.
	Before string          `json:"before,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
}

func (d done) same(e edit) bool { return d.Name == e.name && slices.Equal(d.Path, e.path) }

func (e edit) same(o edit) bool { return e.name == o.name && slices.Equal(e.path, o.path) }

// holds reports whether value is the entry that we wrote.
func (d done) holds(value json.RawMessage) bool { return d.Hash == hashMeaning(value) }

// hashMeaning is the same for two spellings of one value: clients write their files anew.
func hashMeaning(value json.RawMessage) string {
	m, err := decodeObject(value)
	if err != nil {
		return hash(value)
	}
	b, _ := json.Marshal(m)
	return hash(b)
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

// records returns every connection, by key.
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

func (c *Connector) saveRecord(r record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(c.recordPath(Key(r.Choice.Client, r.Choice.Project)), append(b, '\n'), 0o600)
}

// saveBackup keeps a pre-image and returns its name. The oldest beyond maxBackups go.
func (c *Connector) saveBackup(id string, src []byte) (string, error) {
	name := id + "-" + c.now().UTC().Format("20060102T150405.000000000") + ".bak"
	if err := atomicfile.Write(c.backupPath(name), src, 0o600); err != nil {
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
