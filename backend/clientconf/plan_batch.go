package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Batch is a batch of plans for all clients of this machine. Each plan starts from the
// state that the preceding one leaves, so that the preview equals the result.
type Batch struct {
	Plans   []*Plan          // clients to move or connect
	Imports []*PlannedImport // clients whose servers are copied
	Skipped []SkippedClient  // clients that are left out, with the reason

	c *Connector
}

// SkippedClient is a client that a batch leaves out.
type SkippedClient struct {
	Client string `json:"client"`
	Reason string `json:"reason"`
}

// ServerCount returns the number of servers that the batch moves, or adds by imports.
func (t *Batch) ServerCount() (n int) {
	for _, p := range t.Plans {
		n += p.MovedCount()
	}
	for _, i := range t.Imports {
		n += len(i.config.Servers)
	}
	return n
}

// ClientCount returns the number of clients that the batch changes or imports from.
func (t *Batch) ClientCount() int { return len(t.Plans) + len(t.Imports) }

// MovedCount returns the number of the client's servers that the plan moves.
func (p *Plan) MovedCount() int { return len(p.movedServers()) }

func (p *Plan) movedServers() (names []string) {
	if p.config == nil {
		return nil
	}
	for _, file := range append([]*Plan{p}, p.further...) {
		for _, o := range file.originals {
			names = append(names, o.name)
		}
	}
	return names
}

// PlanMoveAll plans to move the servers of every installed client that
// has servers and is not connected, except some by their ids. A client that only starts another gateway is
// connected instead. It also plans to import the servers of the sources.
func (c *Connector) PlanMoveAll(except ...string) *Batch {
	return c.planBatch(true, func(planner *Connector, t *Batch, id string) (*configChange, error) {
		if slices.Contains(except, id) {
			return nil, nil
		}
		if client, _ := sourceByID(id); client.isSource() {
			return t.planImport(planner, id)
		}
		p, err := planner.PlanMove(Choice{Client: id}, nil, false)
		if err != nil {
			if connected, failed := planner.Plan(Choice{Client: id}); failed == nil && len(connected.gateways) > 0 {
				p, err = connected, nil
			}
		}
		if err != nil || p.sharesFile(t.Plans) {
			return nil, err
		}
		t.Plans = append(t.Plans, p)
		return p.config, nil
	})
}

// PlanImportAll plans an import for every installed client that
// has servers and is not connected.
func (c *Connector) PlanImportAll() *Batch {
	return c.planBatch(true, func(planner *Connector, t *Batch, id string) (*configChange, error) {
		return t.planImport(planner, id)
	})
}

func (t *Batch) planImport(planner *Connector, id string) (*configChange, error) {
	i, err := planner.PlanImport(Choice{Client: id}, nil)
	if err != nil || len(i.config.Servers) == 0 {
		return nil, err
	}
	i.c = t.c
	t.Imports = append(t.Imports, i)
	return i.config, nil
}

// PlanConnectAll plans to connect every installed client that is not connected.
func (c *Connector) PlanConnectAll() *Batch {
	return c.planBatch(false, func(planner *Connector, t *Batch, id string) (*configChange, error) {
		p, err := planner.Plan(Choice{Client: id})
		if err != nil || p.Action == Equal || p.sharesFile(t.Plans) {
			return nil, err
		}
		t.Plans = append(t.Plans, p)
		return p.config, nil
	})
}

// sharesFile reports whether another plan writes the same file. Some clients share one file.
func (p *Plan) sharesFile(others []*Plan) bool {
	return slices.ContainsFunc(others, func(o *Plan) bool {
		return o.target == p.target || p.sharesFile(o.further)
	}) || slices.ContainsFunc(p.further, func(f *Plan) bool { return f.sharesFile(others) })
}

// planBatch calls plan for each installed client that is not connected, and then for each source that is
// there.
func (c *Connector) planBatch(sources bool, plan func(planner *Connector, t *Batch, id string) (*configChange, error)) *Batch {
	t := &Batch{c: c}
	planner := *c
	planner.plannedFrom = map[string]string{}
	pending := &pendingVault{Vault: c.vault, values: map[string]string{}}
	if c.vault != nil {
		planner.vault = pending
	}
	list := c.List()
	if sources { // imports are applied after the other plans
		list = append(list, c.system.presentSources()...)
	}
	for _, s := range list {
		if !s.Detected || s.Project != "" || s.Path == "" || s.Connected {
			continue
		}
		own, err := plan(&planner, t, s.Client.ID)
		if err != nil {
			if core.CodeOf(err) != core.CodeNotFound { // it has no servers
				message, _ := core.Describe(err)
				if known, ok := errors.AsType[*core.Error](err); ok && known.Cause != nil { // what is wrong with the file, and where
					message += ": " + known.Cause.Error()
				}
				t.Skipped = append(t.Skipped, SkippedClient{s.Client.Name, message})
			}
			continue
		}
		if own != nil {
			own.vault = c.vault
			planner.plannedConfig = own.after
			for label := range own.Servers {
				planner.plannedFrom[label] = s.Client.Name
			}
			for name, value := range own.secretValues {
				pending.values[name] = value
			}
		}
	}
	return t
}

// pendingVault is the vault as it will be after the preceding plans have been applied.
type pendingVault struct {
	Vault
	values map[string]string
}

func (v *pendingVault) Get(ctx context.Context, name string) (string, error) {
	if value, ok := v.values[name]; ok {
		return value, nil
	}
	return v.Vault.Get(ctx, name)
}

// ClientResult is the result for one client of a batch.
type ClientResult struct {
	Client  Client
	Servers int   // number of servers that were moved or added
	Err     error // why the client was left unchanged; nil on success
}

// Reason returns Err as text for the user, or "" on success.
func (d ClientResult) Reason() string {
	var known *core.Error
	switch {
	case d.Err == nil:
		return ""
	case errors.As(d.Err, &known):
		message, _ := core.Describe(d.Err)
		return message
	}
	return d.Err.Error() // an I/O error on this machine: nothing to hide
}

// Apply applies all plans in order. It calls before with each client whose file is about to
// be written, and tell with the result for each client. A failing client does not stop the
// others: the plans that follow it are made again from the current configuration, so a server
// may get another name there than the preview showed. The returned error names each client
// that failed.
func (t *Batch) Apply(ctx context.Context, before func(client string) error, report func(ClientResult)) error {
	var failed error
	finish := func(client Client, servers int, err error) {
		done := ClientResult{client, servers, err}
		if err != nil {
			done.Servers = 0
			failed = errors.Join(failed, fmt.Errorf("%s: %s", client.Name, done.Reason()))
		}
		report(done)
	}
	for _, p := range t.Plans {
		err := before(p.Client.ID)
		if err == nil {
			err = t.apply(ctx, p, failed != nil)
		}
		finish(p.Client, p.MovedCount(), err)
	}
	for _, i := range t.Imports {
		finish(i.Client, len(i.config.Servers), t.importServers(ctx, i, failed != nil))
	}
	return failed
}

// apply applies a plan. If replan is set, a preceding plan failed: our configuration
// differs from the plan's starting point, so the plan is made again first.
func (t *Batch) apply(ctx context.Context, p *Plan, replan bool) error {
	if !replan || p.config == nil {
		return t.c.Apply(ctx, p)
	}
	plan := func(choice Choice) (*Plan, error) { return t.c.PlanMove(choice, nil, false) }
	if p.MovedCount() == 0 {
		plan = t.c.Plan
	}
	now, err := plan(Choice{Client: p.Client.ID})
	if err != nil {
		return err
	}
	if !bytes.Equal(now.before, p.before) || now.MovedCount() != p.MovedCount() {
		return core.Errorf(core.CodeConflict, "the file has changed since the preview")
	}
	p.Same = now.Same
	return t.c.Apply(ctx, now)
}

func (t *Batch) importServers(ctx context.Context, i *PlannedImport, replan bool) error {
	if replan {
		now, err := t.c.PlanImport(Choice{Client: i.Client.ID}, nil)
		if err != nil {
			return err
		}
		i = now
	}
	_, err := i.Apply(ctx)
	return err
}

// hintNames lists the names that the user could have meant.
func hintNames[T any](text string, all []T, name func(T) string) string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = name(all[i])
	}
	return text + cmp.Or(strings.Join(names, ", "), "nothing") + "."
}

// selectServers returns the selected servers of a client, or all of them except for those that are
// skipped.
func (c *Connector) selectServers(choice Choice, names []string) (all []ImportedServer, skipped []SkippedServer, err error) {
	found, err := c.Servers(choice)
	if err != nil {
		return nil, nil, err
	}
	var reasons []string
	for _, i := range found {
		switch {
		case len(names) > 0 && !slices.Contains(names, i.Name):
		case i.SkipReason == "":
			all = append(all, i)
		default:
			skipped = append(skipped, SkippedServer{i.Name, i.Scope, i.SkipReason})
			reasons = append(reasons, i.Name+": "+i.SkipReason)
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(found, func(i ImportedServer) bool { return i.Name == name })
		if at < 0 {
			return nil, nil, &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("%s has no server named %q", choice.Client, name), Hint: hintNames("Its file has: ", found, func(i ImportedServer) string { return i.Name })}
		}
		if found[at].SkipReason != "" {
			return nil, nil, core.Errorf(core.CodeValidation, "cannot copy or move %q: %s", name, found[at].SkipReason)
		}
	}
	switch {
	case len(all) > 0:
		return all, skipped, nil
	case len(skipped) > 0:
		return nil, nil, core.Errorf(core.CodeValidation, "%s has no servers that can be copied or moved: %s", choice.Client, strings.Join(reasons, "; "))
	}
	return nil, nil, core.Errorf(core.CodeNotFound, "%s has no servers to copy or move", choice.Client)
}

// addToConfig adds servers to our configuration. It returns those that are valid there, the reasons of
// the others, and the server ids by labelKey.
func (c *Connector) addToConfig(all []ImportedServer) (o *configChange, added []ImportedServer, skipped []SkippedServer, ids map[string]string, err error) {
	if c.config == "" {
		return nil, nil, nil, nil, errors.New("there is no Drawbridge configuration to move servers to")
	}
	if o, err = c.openConfig(); err != nil {
		return nil, nil, nil, nil, err
	}
	o.vault = c.vault
	added, skipped, ids, err = o.addServers(all)
	if err == nil && len(added) == 0 && len(skipped) > 0 {
		err = core.Errorf(core.CodeValidation, "cannot copy or move %q: %s", skipped[0].Name, skipped[0].Reason)
	}
	return o, added, skipped, ids, err
}

// PlanMove plans to import servers of a client and to connect the client in the same step. Each
// original is replaced by an entry of ours with the same name, so that tool names, switches
// and permission rules keep working. With combined, one entry replaces all of them, and a warning
// says that such rules no longer match. This happens in every file that the client reads. Undo reverts
// all files.
func (c *Connector) PlanMove(choice Choice, names []string, combined bool) (*Plan, error) {
	if _, err := ByID(choice.Client); err != nil {
		return nil, err
	}
	all, skipped, err := c.selectServers(choice, names)
	if err != nil {
		return nil, err
	}
	if placed := slices.DeleteFunc(slices.Clone(all), func(i ImportedServer) bool { return i.unlocated }); len(placed) > 0 { // else the file as a whole is refused
		for _, i := range all {
			if i.unlocated {
				skipped = append(skipped, SkippedServer{i.Name, i.Scope, "its entry cannot be located in the file. To copy it: drawbridge clients import " + choice.Client})
			}
		}
		all = placed
	}
	o, all, invalid, ids, err := c.addToConfig(all)
	if err != nil {
		return nil, err
	}
	var p *Plan
	for _, file := range movedFiles(all, combined) {
		choice.File = file
		one, err := c.planMoveInFile(choice, all, ids, combined)
		if err != nil {
			return nil, err
		}
		if p == nil {
			p = one
			continue
		}
		p.further = append(p.further, one)
		p.Diff += one.Diff
		for _, w := range one.Warnings {
			if !slices.Contains(p.Warnings, w) {
				p.Warnings = append(p.Warnings, w)
			}
		}
	}
	if combined {
		p.Warnings = append(p.Warnings, "Tool lists and permission rules of "+p.Client.Name+" that name these servers no longer match.")
	}
	for _, i := range all {
		if m, _ := decodeObject(i.literal); combined && i.Exists && m["disabled"] == true {
			p.Warnings = append(p.Warnings, i.Name+" is off in "+p.Client.Name+" but may be on in Drawbridge: to keep its tools from "+p.Client.Name+", limit the client with a profile.")
		}
		if note := moveNote(c, i); note != "" {
			p.Notes = append(p.Notes, note)
		}
		if i.Exists {
			p.Same = append(p.Same, core.QuoteJSON(i.Name)+" of "+p.Client.Name+" is "+core.QuoteJSON(i.Label))
		}
		for _, note := range i.Notes {
			p.Warnings = append(p.Warnings, i.Name+": "+note+".")
		}
	}
	if saves := directStarts(all); saves != "" {
		p.Notes = append(p.Notes, saves)
	}
	p.Skipped = append(skipped, invalid...)
	for _, s := range p.Skipped {
		p.Warnings = append(p.Warnings, s.Name+" is not moved: "+s.Reason+".")
	}
	p.config = o
	p.addToolMode(c)
	p.Diff += Diff(o.Path, o.before, o.after)
	return p, nil
}

// moveNote says that a server becomes one with another or has another name in Drawbridge, or is "".
func moveNote(c *Connector, i ImportedServer) string {
	switch {
	case i.Exists:
		return quote(i.Name) + " is the same server as " + quote(i.Label) + " of " + cmp.Or(c.plannedFrom[i.Label], "Drawbridge") + ": they become one."
	case i.Label != i.Name:
		return quote(i.Name) + " will be named " + quote(i.Label) + " in Drawbridge."
	}
	return ""
}

// movedFiles returns the files of the servers, as in Choice. The first one gets the entry if combined is
// set and not all servers are in files that are read in place of it.
func movedFiles(all []ImportedServer, combined bool) (files []string) {
	for _, i := range all {
		if combined && !i.alone && !slices.Contains(files, "") {
			files = slices.Insert(files, 0, "")
		}
		if !slices.Contains(files, i.File) {
			files = append(files, i.File)
		}
	}
	return files
}

// planMoveInFile is the part of PlanMove for the servers of all that are in one file of the client.
func (c *Connector) planMoveInFile(choice Choice, all []ImportedServer, ids map[string]string, combined bool) (*Plan, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(i ImportedServer) bool { return i.File != choice.File })
	previous, err := c.previousMoves(choice)
	if err != nil {
		return nil, err
	}
	choice.Servers = nil
	if !combined {
		for _, i := range all {
			id := ids[labelKey(i.Label)]
			if id == "" {
				return nil, core.Errorf(core.CodeValidation, "cannot move the server %q: its entry is not valid in Drawbridge's configuration", i.Label)
			}
			choice.Servers = append(choice.Servers, ServerEntry{Name: i.Name, Server: id, Scope: i.Scope})
		}
		choice.Servers = append(choice.Servers, previous.entriesExcept(choice.Servers)...)
	}
	p, err := c.openPlan(choice)
	if err != nil {
		return nil, err
	}
	if err := p.readFile(); err != nil {
		return nil, err
	}
	if !combined || choice.File == "" || all[0].alone {
		if p.edits, err = c.buildEdits(p.Client, choice, p.target); err != nil {
			return nil, err
		}
		p.Entry = p.edits[0].value
	}
	for n, i := range all {
		p.originals = append(p.originals, edit{path: i.keyPath, name: i.Name})
		if combined {
			p.edits = append(p.edits, edit{path: i.keyPath, name: i.Name})
			continue
		}
		e := &p.edits[n]
		e.path = i.keyPath
		if e.value, err = mergeSwitches(choice.Client, e.value, i.original); err != nil {
			return nil, err
		}
	}
	if !combined {
		p.Entry = p.edits[0].value
		if err := previous.retainIn(p); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(c.removeStaleEntries(p), c.system.removeGateways(p)); err != nil {
		return nil, err
	}
	return p, p.splice()
}

// previousMoves returns the record of earlier moves of the same file.
func (c *Connector) previousMoves(choice Choice) (previousMoves, error) {
	r, recorded, err := c.loadRecord(choice.key())
	if err != nil || !recorded || r.RemovedByUser {
		return previousMoves{}, err
	}
	return previousMoves{r}, nil
}

type previousMoves struct{ record }

// entriesExcept returns the single-server entries of earlier moves that are not in now.
func (e previousMoves) entriesExcept(now []ServerEntry) (all []ServerEntry) {
	for _, s := range e.Choice.Servers {
		if !slices.ContainsFunc(now, func(n ServerEntry) bool { return n.Name == s.Name && n.Scope == s.Scope }) {
			all = append(all, s)
		}
	}
	return all
}

// retainIn retains the entries that earlier moves wrote, with the switches of their originals.
func (e previousMoves) retainIn(p *Plan) (err error) {
	for _, d := range e.Edits {
		at := slices.IndexFunc(p.edits, d.hasPathOf)
		if at < 0 || d.Value == nil || slices.ContainsFunc(p.originals, d.hasPathOf) {
			continue
		}
		if p.edits[at].value, err = mergeSwitches(p.Client.ID, p.edits[at].value, d.Value); err != nil {
			return err
		}
		p.originals = append(p.originals, edit{path: d.Path, name: d.Name})
	}
	return nil
}

// mergeSwitches returns our entry with the switches of the original added.
func mergeSwitches(client string, ours, original json.RawMessage) (json.RawMessage, error) {
	mine, err := orderedMembers(ours)
	if err != nil {
		return nil, err
	}
	theirs, err := orderedMembers(original)
	if err != nil {
		return nil, err
	}
	for _, m := range theirs {
		if knownKeys().isRunKey(client, m.key) || string(m.value) == "null" {
			continue
		}
		if at := slices.IndexFunc(mine, func(o member) bool { return o.key == m.key }); at >= 0 {
			mine[at].value = m.value
		} else {
			mine = append(mine, m)
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range mine {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(core.QuoteJSON(m.key) + ": " + string(m.value))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String()), nil
}
