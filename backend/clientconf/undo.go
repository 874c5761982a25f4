package clientconf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// UndoOutcome is the way in which a connection was undone.
type UndoOutcome string

const (
	Restored  UndoOutcome = "restored"  // the file has its original content byte for byte
	Removed   UndoOutcome = "removed"   // only our entries were removed: the file had changed since
	WasAbsent UndoOutcome = "wasAbsent" // our entry did not exist any more
)

// UndoOptions change what Undo does.
type UndoOptions struct {
	// Force also removes an entry of ours that was modified by hand.
	Force bool
	// KeepServers leaves what the move added to our own configuration there.
	KeepServers bool
}

// Undo removes our entries from the client's file and restores the entries that Move
// replaced. If the file did not change since, it gets its original content byte for byte;
// else only our own spans are edited. An entry that was modified by hand is not touched (code
// conflict) unless forced. What the move added to our own configuration is removed as well, unless
// another client brought it in, too.
func (c *Connector) Undo(ctx context.Context, key string, o UndoOptions) (UndoOutcome, error) {
	all, err := c.connection(key)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		p, err := c.openPlan(Choice{Client: key})
		if err != nil || p.Path == "" {
			return WasAbsent, err
		}
		return c.undoFile(ctx, record{Choice: p.choice, Path: p.target, Edits: []entryChange{{Path: p.Client.KeyPath, Name: EntryName}}}, o.Force)
	}
	others, err := c.bringersExcept(all, "")
	if err != nil {
		return "", err
	}
	how := WasAbsent
	for _, r := range all {
		one, err := c.undoFile(ctx, r, o.Force)
		if o.KeepServers && r.Own != nil {
			r.Own = &configRecord{Path: r.Own.Path, Existed: true, ToolMode: r.Own.ToolMode}
		}
		if err == nil {
			err = errors.Join(c.undoConfig(ctx, r, others), c.deleteRecord(r.Choice.key()))
		}
		if err != nil {
			return "", err
		}
		how = how.with(one)
	}
	return how, nil
}

func (how UndoOutcome) with(other UndoOutcome) UndoOutcome {
	if how == Removed || other == WasAbsent {
		return how
	}
	return other
}

// undoFile undoes a connection in one file. A record without a date is none of ours: the connection was
// made by hand.
func (c *Connector) undoFile(ctx context.Context, r record, force bool) (UndoOutcome, error) {
	recorded := !r.At.IsZero()
	p, unlock, err := c.reopen(ctx, r)
	if err != nil {
		return "", err
	}
	defer unlock()
	switch {
	case p.existed:
	case r.Own != nil && r.Existed:
		return Restored, c.recreate(r, force)
	default:
		return WasAbsent, nil
	}
	if recorded && r.PostHash == hashBytes(p.before) {
		if done, err := c.restoreBackup(r, p.before); done || err != nil {
			return Restored, err
		}
	}
	how, err := p.undoEntries(r, recorded, force)
	if force && r.Existed && core.CodeOf(err) == core.CodeRejected { // it cannot be edited, for example because it is broken
		if _, err := c.saveBackup(r.Choice.key(), p.before); err != nil {
			return "", err
		}
		if done, failed := c.restoreBackup(r, p.before); done || failed != nil {
			return Restored, failed
		}
	}
	return how, err
}

// recreate creates a file that was deleted since, or is on a disk or a branch that is away. Undoing the rest
// without it would delete the servers that came from it.
func (c *recordFolder) recreate(r record, force bool) error {
	if !force {
		return &core.Error{
			Code: core.CodeConflict, Message: r.Path + " does not exist any more",
			Hint: "Nothing was changed, because the servers that came from it would be lost. To create it as it was, add --force.",
		}
	}
	before, err := osutil.ReadFile(c.backupPath(r.Backup))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.Path), 0o700)
	}
	if err != nil {
		return err
	}
	return replaceFile(r.Path, nil, false, before)
}

// reopen returns a plan for the current file of a connection, and acquires the client's lock
// if the file exists. The caller must call unlock.
func (c *recordFolder) reopen(ctx context.Context, r record) (p *Plan, unlock func(), err error) {
	client, err := r.client()
	if err != nil {
		return nil, nil, err
	}
	now, existed, err := readFile(r.Path)
	if err != nil {
		return nil, nil, err
	}
	p = &Plan{Client: client, Path: r.Path, choice: r.Choice, target: r.Path, before: now, existed: existed}
	if !existed {
		return p, func() {}, nil
	}
	unlock, err = c.lock(ctx, p)
	return p, unlock, err
}

func (c *Connector) undoConfig(ctx context.Context, r record, others []bringer) error {
	if r.Own == nil {
		return nil
	}
	_, err := r.Own.changeBy(c).without(others).undo(ctx)
	return err
}

// restoreBackup restores the backup. done is false if there is none.
func (c *recordFolder) restoreBackup(r record, now []byte) (done bool, err error) {
	if !r.Existed {
		if left, err := osutil.ReadFile(r.Path); err != nil || !bytes.Equal(left, now) { // it may have changed while waiting for the lock
			return false, errors.Join(err, changedError())
		}
		if err := os.Remove(r.Path); err != nil {
			return false, err
		}
		for _, dir := range slices.Backward(r.MadeDirs) {
			if os.Remove(dir) != nil {
				break // not empty
			}
		}
		return true, nil
	}
	if r.Backup == "" {
		return false, nil
	}
	before, err := osutil.ReadFile(c.backupPath(r.Backup))
	if err != nil {
		return false, nil // the backup was deleted: remove only our own spans
	}
	return true, replaceFile(r.Path, now, true, before)
}

// undoEntries undoes each entry separately, in reverse order.
func (p *Plan) undoEntries(r record, recorded, force bool) (UndoOutcome, error) {
	content, err := p.contentWithout(r, recorded, force)
	if err != nil {
		return "", err
	}
	if bytes.Equal(content, p.before) {
		return WasAbsent, nil
	}
	return Removed, replaceFile(p.target, p.before, true, content)
}

// contentWithout returns the file without our entries, with the entries that they had replaced.
func (p *Plan) contentWithout(r record, recorded, force bool) ([]byte, error) {
	original, err := p.parse(p.before)
	if err != nil {
		return nil, p.undoRefusal(err)
	}
	file := newEditing(p.Client, p.before, original)
	var edits []edit
	for _, d := range slices.Backward(r.Edits) {
		_, present, err := file.entry(d.Path, d.Name)
		if err != nil {
			return nil, p.undoRefusal(err)
		}
		e := edit{path: d.Path, name: d.Name, value: d.Value}
		switch {
		case present == nil && d.Value == nil, present != nil && d.Value != nil && sameJSON(present, d.Value):
			continue
		case present == nil:
			err = file.set(d.Path, d.Name, d.Value)
		case (!isOurs(present) || recorded && !d.isUnmodified(present)) && !force:
			return nil, &core.Error{
				Code:    core.CodeConflict,
				Message: "the entry " + quote(d.Name) + " in " + p.Path + " was changed manually",
				Hint:    "Nothing was changed. To remove it anyway, add --force.",
			}
		case d.Value != nil:
			err = file.replace(d.Path, d.Name, []byte(d.Before))
		default:
			err = file.remove(d.Path, d.Name)
		}
		if err != nil {
			return nil, p.undoRefusal(err)
		}
		edits = append(edits, e)
	}
	content := file.result()
	if bytes.Equal(content, p.before) {
		return content, nil
	}
	if err := p.verifyEdits(p.before, content, edits); err != nil {
		return nil, p.undoRefusal(err)
	}
	return content, nil
}

func (p *Plan) undoRefusal(why error) error {
	return &core.Error{
		Code: core.CodeRejected, Cause: why,
		Message: "cannot edit the configuration of " + p.Client.Name,
		Hint:    "Nothing was changed. Correct the file and try again. To restore the original content instead, add --force; the content now is kept in the backups.",
	}
}

// deleteRecord deletes the record. Backups stay until newer ones replace them.
func (c *recordFolder) deleteRecord(key string) error {
	if err := os.Remove(c.recordPath(key)); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}

type undoStep struct {
	at     time.Time
	result UndoResult
}

// UndoResult is the result of undoing one connection or import.
type UndoResult struct {
	Key    string      `json:"key,omitempty"`
	Import string      `json:"import,omitempty"`
	Undone UndoOutcome `json:"undone,omitempty"`
	Error  string      `json:"error,omitempty"`
}

// UndoAll undoes every connection and, if imports is set, every import, newest first: undoing
// in reverse order lets each file return to its original content. A failure does not stop the
// others.
func (c *Connector) UndoAll(ctx context.Context, imports, force bool, report func(UndoResult)) error {
	records, err := c.records()
	if err != nil {
		return err
	}
	steps := undoStepsOf(records)
	if imports {
		all, err := c.Imports()
		if err != nil {
			return err
		}
		for _, i := range all {
			steps = append(steps, undoStep{at: i.At, result: UndoResult{Import: i.ID}})
		}
	}
	return c.undoSteps(ctx, steps, force, report)
}

// UndoKeys undoes the connections with these keys, and the newest import of each source among them, in the same
// way as UndoAll. Others are ignored: they were undone before.
func (c *Connector) UndoKeys(ctx context.Context, keys []string, report func(UndoResult)) error {
	records, err := c.records()
	if err != nil {
		return err
	}
	steps := slices.DeleteFunc(undoStepsOf(records), func(s undoStep) bool { return !slices.Contains(keys, s.result.Key) })
	imports, err := c.Imports()
	if err != nil {
		return err
	}
	for _, key := range keys {
		client, _ := sourceByID(key)
		if n := slices.IndexFunc(imports, func(i ImportRecord) bool { return i.Client == key }); n >= 0 && client.isSource() {
			steps = append(steps, undoStep{at: imports[n].At, result: UndoResult{Key: key, Import: imports[n].ID}})
		}
	}
	return c.undoSteps(ctx, steps, false, report)
}

// undoStepsOf returns one step for each connection, however many files it has.
func undoStepsOf(records map[string]record) (steps []undoStep) {
	for key, at := range connectionTimes(records) {
		steps = append(steps, undoStep{at: at, result: UndoResult{Key: key}})
	}
	return steps
}

func (c *Connector) undoSteps(ctx context.Context, steps []undoStep, force bool, report func(UndoResult)) error {
	slices.SortFunc(steps, func(a, b undoStep) int { return b.at.Compare(a.at) })
	var failed error
	for _, s := range steps {
		var err error
		name := s.result.Key
		if s.result.Import != "" {
			name = "import " + s.result.Import
			s.result.Undone, err = c.UndoImport(ctx, s.result.Import)
		} else {
			s.result.Undone, err = c.Undo(ctx, s.result.Key, UndoOptions{Force: force})
		}
		if err != nil {
			s.result.Error = err.Error()
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
		report(s.result)
	}
	return failed
}

// UndoServers undoes the move of some servers: it restores their originals and removes what
// was added for them to our configuration. The other servers stay moved. Undoing the last one
// undoes the whole connection.
func (c *Connector) UndoServers(ctx context.Context, key string, names []string, force bool) (UndoOutcome, error) {
	all, err := c.connection(key)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", core.Errorf(core.CodeNotFound, "%q is not connected", key)
	}
	var gone, left []ServerEntry
	for _, r := range all {
		part, rest := r.splitByServer(names)
		gone, left = append(gone, part.Choice.Servers...), append(left, rest.Choice.Servers...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(gone, func(s ServerEntry) bool { return s.Name == name }) {
			return "", &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("%q was not moved from %s", name, key), Hint: hintNames("What was moved: ", slices.Concat(gone, left), func(s ServerEntry) string { return s.Name })}
		}
	}
	if len(left) == 0 {
		return c.Undo(ctx, key, UndoOptions{Force: force})
	}
	others, err := c.bringersExcept(all, "")
	if err != nil {
		return "", err
	}
	how := WasAbsent
	var own *configRecord // of files that have no moved servers any more
	for n, r := range all {
		part, rest := r.splitByServer(names)
		if len(part.Choice.Servers) > 0 {
			one, err := c.undoPart(ctx, r, part, &rest, force)
			if err != nil {
				return how, err
			}
			how = how.with(one)
		}
		all[n] = rest
	}
	for n := range all {
		r := &all[n]
		if err := c.undoConfigServers(ctx, r, gone, left, others); err != nil {
			return how, err
		}
		if len(r.Edits) == 0 && r.Own != nil {
			own = (&configChange{configRecord: *r.Own}).merge(own)
		}
	}
	for _, r := range all {
		if len(r.Edits) == 0 {
			err = errors.Join(err, c.deleteRecord(r.Choice.key()))
			continue
		}
		if own != nil {
			r.Own, own = (&configChange{configRecord: *own}).merge(r.Own), nil
		}
		err = errors.Join(err, c.saveRecord(r))
	}
	return how, err
}

// undoPart undoes a part of a record in its file, and updates the rest of the record.
func (c *Connector) undoPart(ctx context.Context, r, part record, rest *record, force bool) (UndoOutcome, error) {
	if len(rest.Choice.Servers) == 0 {
		return c.undoFile(ctx, r, force)
	}
	p, unlock, err := c.reopen(ctx, r)
	if err != nil {
		return "", err
	}
	defer unlock()
	if !p.existed {
		return "", core.Errorf(core.CodeConflict, "the file %s no longer exists: undo the whole connection", r.Path)
	}
	how, err := p.undoEntries(part, true, force)
	if err != nil {
		return "", err
	}
	after, err := osutil.ReadFile(r.Path)
	if err == nil && rest.PostHash == hashBytes(p.before) { // the file had no other changes, so the first backup stays valid
		rest.PostHash = hashBytes(after)
		rest.WrittenBackup, err = c.saveBackup(r.Choice.key(), after)
	}
	return how, err
}

// splitByServer splits the record into the named servers and the rest.
func (r record) splitByServer(names []string) (part, rest record) {
	part, rest = r, r
	part.Choice.Servers, rest.Choice.Servers = partition(r.Choice.Servers, func(s ServerEntry) bool { return slices.Contains(names, s.Name) })
	part.Edits, rest.Edits = partition(r.Edits, func(d entryChange) bool { return slices.Contains(names, d.Name) })
	return part, rest
}

// partition returns the elements that fit, and the others.
func partition[T any](all []T, fits func(T) bool) (fit, others []T) {
	for _, one := range all {
		if fits(one) {
			fit = append(fit, one)
		} else {
			others = append(others, one)
		}
	}
	return fit, others
}

// undoConfigServers removes the servers in gone from our configuration and from r, except those that other
// entries of the client or other clients have, too.
func (c *Connector) undoConfigServers(ctx context.Context, r *record, gone, left []ServerEntry, others []bringer) error {
	if r.Own == nil {
		return nil
	}
	before, _, err := readFile(r.Own.Path)
	if err != nil {
		return err
	}
	removed := configRecord{Path: r.Own.Path, Existed: true, Servers: map[string]string{}, Secrets: map[string][]string{}}.changeBy(c)
	rest := *r.Own
	rest.Servers, rest.Secrets = map[string]string{}, map[string][]string{}
	for label, sum := range r.Own.Servers {
		to := &rest
		isServer := func(s ServerEntry) bool { return s.Server == core.Slug(label) }
		if slices.ContainsFunc(gone, isServer) && !slices.ContainsFunc(left, isServer) {
			to = &removed.configRecord
		}
		to.Servers[label], to.Secrets[label] = sum, r.Own.Secrets[label]
	}
	if len(removed.Servers) == 0 {
		return nil
	}
	if _, err := removed.without(others).undo(ctx); err != nil {
		return err
	}
	if rest.PostHash == hashBytes(before) {
		after, _, err := readFile(rest.Path)
		if err != nil {
			return err
		}
		rest.PostHash = hashBytes(after)
	}
	r.Own = &rest
	return nil
}
