package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// lockTimeout is how long a write waits for the client's own lock.
const lockTimeout = 5 * time.Second

// Apply executes the plan. It holds the client's lock, makes a backup, replaces the file
// atomically and verifies the result. A file that changed since the plan was made is left
// alone (code conflict).
func (c *Connector) Apply(ctx context.Context, p *Plan) error {
	if err := c.applyFile(ctx, p); err != nil {
		return err
	}
	for _, other := range p.further {
		if err := c.applyFile(ctx, other); err != nil {
			return &core.Error{Code: core.CodeOf(err), Cause: err, Message: "the servers in " + other.Path + " were not moved",
				Hint: "The others were moved. Try again, or undo it with: drawbridge clients undo " + p.Client.ID + "."}
		}
	}
	return nil
}

func (c *Connector) applyFile(ctx context.Context, p *Plan) error {
	old, recorded, err := c.loadRecord(p.choice.key())
	if err != nil {
		return err
	}
	if p.Action == Equal && recorded && p.config == nil {
		return nil
	}
	r, err := c.newRecord(p, old, recorded)
	if err != nil {
		return err
	}
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return err
	}
	defer unlock()
	// The record is saved first, so that undo finds the backup even after a crash.
	if err := c.saveRecord(r); err != nil {
		return err
	}
	moves := p.config != nil && len(p.config.Servers) > 0
	if moves {
		if err := p.config.apply(ctx); err != nil {
			c.restoreRecord(old, recorded, p.choice.key())
			return err
		}
	}
	if p.Action != Equal {
		if err := replaceFile(p.target, p.before, p.existed, p.after); err != nil {
			if moves {
				_, undone := p.config.undo(ctx)
				err = errors.Join(err, undone)
			}
			c.restoreRecord(old, recorded, p.choice.key())
			return err
		}
	}
	if p.config != nil && !moves {
		if err := p.config.apply(ctx); err != nil { // the client is connected without its tool mode
			p.Warnings = append(p.Warnings, "The tool mode of "+p.Client.Name+" was not set: "+err.Error()+".")
			r.Own = old.Own
			return c.saveRecord(r)
		}
	}
	if now, _, err := readFile(p.target); err != nil || !bytes.Equal(now, p.after) {
		return errors.Join(core.Errorf(core.CodeConflict, "the file was changed again right after it was written"), err)
	}
	return nil
}

// newRecord returns the record that undo needs, and saves the backup.
func (c *recordFolder) newRecord(p *Plan, old record, recorded bool) (r record, err error) {
	r = record{Choice: p.choice, Path: p.target, At: c.now().UTC(), Existed: p.existed, PostHash: hashBytes(p.after)}
	if p.config != nil {
		if p.config.Existed {
			if p.config.Backup, err = c.saveBackup("config", p.config.before); err != nil {
				return r, err
			}
		}
		if r.Own, err = c.shareServers(*p.config.merge(old.Own), p.config.merged); err != nil {
			return r, err
		}
	} else if recorded {
		r.Own = old.Own
	}
	switch {
	case recorded && old.Path == p.target && old.PostHash == hashBytes(p.before):
		// The file still holds our last write: keep the first backup.
		r.Existed, r.Backup, r.MadeDirs = old.Existed, old.Backup, old.MadeDirs
	case p.Action == Add:
		if r.Backup, err = c.saveBackup(p.choice.key(), p.before); err != nil {
			return r, err
		}
	case p.Action == Create:
		if r.MadeDirs, err = makeDirs(filepath.Dir(p.target)); err != nil {
			return r, err
		}
	}
	if p.Action != Equal {
		if r.WrittenBackup, err = c.saveBackup(p.choice.key(), p.after); err != nil {
			return r, err
		}
	} else {
		r.WrittenBackup = old.WrittenBackup
	}
	r.Edits, err = p.entryChanges(old)
	return r, err
}

// entryChanges returns the record of each entry that the plan writes or removes.
func (p *Plan) entryChanges(old record) ([]entryChange, error) {
	before, err := p.parse(p.before)
	if err != nil {
		return nil, err
	}
	after, err := p.parse(p.after)
	if err != nil {
		return nil, err
	}
	var all []entryChange
	for _, e := range p.edits {
		d := entryChange{Path: e.path, Name: e.name}
		if i := slices.IndexFunc(old.Edits, func(o entryChange) bool { return o.hasPathOf(e) }); i >= 0 {
			d.Before, d.Value = old.Edits[i].Before, old.Edits[i].Value
		} else if raw, value, _ := before.entry(e.path, e.name); value != nil && !isOurs(value) {
			d.Before, d.Value = string(raw), value
		}
		if e.value != nil && !(d.Value != nil && sameJSON(e.value, d.Value)) {
			_, value, err := after.entry(e.path, e.name)
			if err != nil {
				return nil, err
			}
			d.Hash = hashValue(value)
		}
		if d.Hash != "" || d.Value != nil && e.value == nil {
			all = append(all, d)
		}
	}
	return all, nil
}

func (c *recordFolder) restoreRecord(old record, had bool, key string) {
	if had {
		_ = c.saveRecord(old) // the caller reports the error of the write
	} else {
		os.Remove(c.recordPath(key))
	}
}

func (c *recordFolder) lock(ctx context.Context, p *Plan) (unlock func(), err error) {
	if p.Client.Lock == "" || p.Action == Equal || p.choice.Project != "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	if p.Client.Lock == "flock" {
		return lockFile(ctx, filepath.Join(filepath.Dir(p.target), ".mcp-writer.lock"))
	}
	return lockDir(ctx, p.target)
}

// lockFile acquires the advisory lock (flock) that the client uses as well. It does nothing on
// Windows, where the locking of clients is unknown.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	if runtime.GOOS == "windows" {
		return func() {}, nil
	}
	unlock, err = osutil.LockFile(ctx, path)
	if errors.Is(err, osutil.ErrLocked) {
		err = clientWritingError(err)
	}
	return unlock, err
}

func clientWritingError(cause error) error {
	return &core.Error{
		Code: core.CodeConflict, Retriable: true, Cause: cause,
		Message: "the client is currently writing its file",
		Hint:    "Try again, or close the client first.",
	}
}

// makeDirs creates dir and returns the directories that were missing, outermost first.
func makeDirs(dir string) (made []string, err error) {
	for missing := dir; !exists(missing); missing = filepath.Dir(missing) {
		made = append(made, missing)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(dir, 0o700)
}

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

func (c *recordFolder) recordPath(key string) string { return filepath.Join(c.dir, key+".json") }

func (c *recordFolder) loadRecord(key string) (r record, ok bool, err error) {
	b, err := osutil.ReadFile(c.recordPath(key))
	if isNotExist(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(b, &r)
}

// records returns all connections, by key.
func (c *recordFolder) records() (map[string]record, error) {
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
func (c *recordFolder) connection(key string) (all []record, err error) {
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

func (c *recordFolder) saveRecord(r record) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return osutil.WriteFile(c.recordPath(r.Choice.key()), append(b, '\n'), 0o600)
}

// saveBackup stores a backup and returns its name. It deletes the oldest beyond maxBackups.
func (c *recordFolder) saveBackup(id string, src []byte) (string, error) {
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

func (c *recordFolder) backupPath(name string) string {
	return filepath.Join(c.dir, "backups", filepath.Base(name))
}

// maxFile is the maximum size of a client file. Claude Code's contains its history and grows.
const maxFile = 64 << 20

// readFile returns the content of path, or nil and false if the file does not exist.
func readFile(path string) (src []byte, existed bool, err error) {
	info, err := os.Stat(path)
	if isNotExist(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, false, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	src, err = osutil.ReadFile(path)
	return src, true, err
}

// replaceFile atomically replaces the content of path, which must still be before (existed is
// false if there was no file). If another program wrote the file in the meantime, nothing is
// written and the error has code conflict.
func replaceFile(path string, before []byte, existed bool, content []byte) error {
	return writeError(osutil.ReplaceUnchangedFile(path, before, existed, content))
}

// writeError returns err with a hint for the user. The file is unchanged.
func writeError(err error) error {
	switch {
	case errors.Is(err, osutil.ErrChanged):
		return changedError()
	case errors.Is(err, osutil.ErrReadOnly):
		return &core.Error{Code: core.CodeRejected, Message: "the file is read-only", Hint: "Make it writable, or paste the entry yourself."}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot write the file: the disk is full", Cause: err,
			Hint: "The file is unchanged. Free some disk space, then try again.", Retriable: true}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return &core.Error{Code: core.CodeRejected, Message: "cannot write the file: permission denied, or the file system is read-only", Cause: err,
			Hint: "The file is unchanged. Check the permissions of its folder, or paste the entry yourself."}
	}
	return err
}

func changedError() error {
	return &core.Error{
		Code: core.CodeConflict, Retriable: true,
		Message: "the file was changed by another program at the same time",
		Hint:    "Nothing was written. Try again.",
	}
}

// staleLock is the age after which a lock directory is considered abandoned.
const staleLock = time.Minute

// lockDir acquires the lock that some clients use: a directory FILE.lock, whose creation
// is atomic. It waits until ctx is done.
func lockDir(ctx context.Context, path string) (unlock func(), err error) {
	lock := path + ".lock"
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.Mkdir(lock, 0o700)
		if err == nil {
			return func() { os.Remove(lock) }, nil
		}
		if !os.IsExist(err) {
			return nil, err
		}
		if info, statErr := os.Stat(lock); statErr == nil && time.Since(info.ModTime()) > staleLock {
			os.Remove(lock)
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, clientWritingError(err)
		}
	}
}

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
