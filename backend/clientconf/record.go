package clientconf

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxBackups is how many pre-images of one client are kept.
const maxBackups = 10

// record is what undo needs to know of one connection. It lives in DIR/ID.json.
type record struct {
	Client  string    `json:"client"`
	Entry   string    `json:"entry"`
	Path    string    `json:"path"` // the file that was written, links followed
	At      time.Time `json:"at"`
	Existed bool      `json:"existed"` // there was a file before
	// Backup names the pre-image in DIR/backups; "" when it is of no use any more,
	// because the file was changed by others before we wrote it again.
	Backup    string `json:"backup"`
	PostHash  string `json:"postHash"`  // of the whole file after our write
	EntryHash string `json:"entryHash"` // of our entry's bytes in it
	// MadeDirs are folders that were created for the file, outermost first.
	MadeDirs []string `json:"madeDirs,omitempty"`
}

func (c *Connector) recordPath(id string) string { return filepath.Join(c.dir, id+".json") }

func (c *Connector) loadRecord(id string) (r record, ok bool, err error) {
	b, err := os.ReadFile(c.recordPath(id))
	if isNotExist(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(b, &r)
}

func (c *Connector) saveRecord(r record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(c.recordPath(r.Client), append(b, '\n'))
}

// saveBackup keeps a pre-image and returns its name. The oldest beyond maxBackups go.
func (c *Connector) saveBackup(id string, src []byte) (string, error) {
	name := id + "-" + c.now().UTC().Format("20060102T150405.000000000") + ".bak"
	if err := writePrivate(c.backupPath(name), src); err != nil {
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

// writePrivate replaces a file of our own: 0600, in a 0700 folder, never torn.
func writePrivate(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
