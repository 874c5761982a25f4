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

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// CompletedImport is an import that can be undone.
type CompletedImport struct {
	ID      string    `json:"id"`
	Client  string    `json:"client"`
	At      time.Time `json:"at"`
	Servers []string  `json:"servers" nullable:"false"` // labels in our configuration
}

// ImportRecord is the file of an applied import.
type ImportRecord struct {
	CompletedImport
	Own configRecord `json:"own"`
}

func (c *recordFolder) importsDir() string { return filepath.Join(c.dir, "imports") }

// Imports returns the imports that can be undone, newest first.
func (c *recordFolder) Imports() ([]ImportRecord, error) {
	entries, err := os.ReadDir(c.importsDir())
	if err != nil && !isNotExist(err) {
		return nil, err
	}
	var all []ImportRecord
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		b, err := osutil.ReadFile(filepath.Join(c.importsDir(), e.Name()))
		if err != nil {
			return nil, err
		}
		var t ImportRecord
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b ImportRecord) int { return b.At.Compare(a.At) })
	return all, nil
}

// maxImports is how many imports are retained for undo.
const maxImports = 50

// Apply stores the secrets and writes our configuration; a running daemon reloads it. The
// record is saved first, so that the import can be undone even after a crash.
func (t *PlannedImport) Apply(ctx context.Context) (id string, err error) {
	o := t.config
	if len(o.Servers) == 0 {
		return "", nil
	}
	if o.Existed {
		if o.Backup, err = t.c.saveBackup("config", o.before); err != nil {
			return "", err
		}
	}
	at := t.c.now().UTC()
	id = t.Client.ID + "-" + at.Format("20060102T150405.000000000")
	done := ImportRecord{CompletedImport{ID: id, Client: t.Client.ID, At: at}, o.configRecord}
	for label := range o.Servers {
		done.Servers = append(done.Servers, label)
	}
	slices.Sort(done.Servers)
	b, err := json.MarshalIndent(done, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(t.c.importsDir(), done.ID+".json")
	if err := osutil.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return "", err
	}
	if err := o.apply(ctx); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	if all, err := t.c.Imports(); err == nil {
		for _, old := range all[min(len(all), maxImports):] {
			_ = os.Remove(filepath.Join(t.c.importsDir(), old.ID+".json"))
		}
	}
	return done.ID, nil
}

// UndoImport undoes an import. Our configuration gets its original content byte for byte if
// nothing else changed it since; else it loses the imported servers that were not modified.
func (c *Connector) UndoImport(ctx context.Context, id string) (UndoOutcome, error) {
	all, err := c.Imports()
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(all, func(t ImportRecord) bool { return t.ID == id })
	if at < 0 {
		return "", &core.Error{Code: core.CodeNotFound, Message: "there is no import named " + quote(id), Hint: "List them with: drawbridge clients undo --list"}
	}
	others, err := c.bringersExcept(nil, id)
	if err != nil {
		return "", err
	}
	how, err := all[at].Own.changeBy(c).without(others).undo(ctx)
	if err != nil {
		return "", err
	}
	return how, os.Remove(filepath.Join(c.importsDir(), id+".json"))
}

// PlanImport plans to import servers of a client into our configuration without changing the
// client. names selects servers; none means all.
func (c *Connector) PlanImport(choice Choice, names []string) (*PlannedImport, error) {
	client, err := sourceByID(choice.Client)
	if err != nil {
		return nil, err
	}
	all, skipped, err := c.selectServers(choice, names)
	if err != nil {
		return nil, err
	}
	o, all, invalid, _, err := c.addToConfig(all)
	if err != nil {
		return nil, err
	}
	skipped = append(skipped, invalid...)
	return &PlannedImport{Servers: all, Skipped: skipped, Path: o.Path, Diff: Diff(o.Path, o.before, o.after), config: o, c: c, Client: client}, nil
}

// PlannedImport is a planned import.
type PlannedImport struct {
	Servers []ImportedServer
	Skipped []SkippedServer // entries that cannot be imported
	Path    string          // path of our configuration
	Diff    string
	config  *configChange
	c       *Connector
	Client  Client
}
