package clientconf

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Taken is an import that was carried out and can be taken back.
type Taken struct {
	ID      string    `json:"id"`
	Client  string    `json:"client"`
	At      time.Time `json:"at"`
	Servers []string  `json:"servers"` // their names with us
	Own     ownRecord `json:"own"`
}

func (c *Connector) importsDir() string { return filepath.Join(c.dir, "imports") }

// Imports returns what can be taken back, the newest first.
func (c *Connector) Imports() ([]Taken, error) {
	entries, err := os.ReadDir(c.importsDir())
	if err != nil && !isNotExist(err) {
		return nil, err
	}
	var all []Taken
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.importsDir(), e.Name()))
		if err != nil {
			return nil, err
		}
		var t Taken
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Taken) int { return b.At.Compare(a.At) })
	return all, nil
}

// maxImports is how many imports can be taken back.
const maxImports = 50

// Apply stores the secrets and writes our configuration. A running daemon sees the
// file change. The record of it comes first, so that it can be taken back whatever
// happens in between.
func (t *Taking) Apply(ctx context.Context) (id string, err error) {
	o := t.own
	if len(o.Servers) == 0 {
		return "", nil
	}
	if o.Existed {
		if o.Backup, err = t.c.saveBackup("config", o.before); err != nil {
			return "", err
		}
	}
	at := t.c.now().UTC()
	done := Taken{ID: t.client + "-" + at.Format("20060102T150405.000000000"), Client: t.client, At: at, Own: o.ownRecord}
	for label := range o.Servers {
		done.Servers = append(done.Servers, label)
	}
	slices.Sort(done.Servers)
	b, err := json.MarshalIndent(done, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(t.c.importsDir(), done.ID+".json")
	if err := atomicfile.Write(path, append(b, '\n'), 0o600); err != nil {
		return "", err
	}
	if err := o.carryOut(ctx); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	if all, err := t.c.Imports(); err == nil {
		for _, old := range all[min(len(all), maxImports):] {
			_ = os.Remove(filepath.Join(t.c.importsDir(), old.ID+".json"))
		}
	}
	return done.ID, nil
}

// UndoImport takes an import back: our configuration becomes byte for byte what it
// was, or, when it was changed since, loses the servers that came with the import and
// were left as they came.
func (c *Connector) UndoImport(ctx context.Context, id string) (Undone, error) {
	all, err := c.Imports()
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(all, func(t Taken) bool { return t.ID == id })
	if at < 0 {
		return "", &core.Error{Code: core.CodeNotFound, Message: "no import is called " + quote(id), Hint: "List them with: drawbridge clients imports."}
	}
	how, err := (&ownChange{ownRecord: all[at].Own, dir: c.dir, vault: c.vault}).undo(ctx)
	if err != nil {
		return "", err
	}
	return how, os.Remove(filepath.Join(c.importsDir(), id+".json"))
}
