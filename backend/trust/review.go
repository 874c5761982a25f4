package trust

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// ToolChange is a definition that differs from the trusted one.
type ToolChange struct {
	Server   string          `json:"server"`
	Kind     string          `json:"kind" enum:"tool,instructions,prompt,resource,template"`
	Name     string          `json:"name"` // as the server lists it, or a URI; empty for instructions
	At       time.Time       `json:"at"`   // when the change was seen
	State    string          `json:"state" enum:"waiting,blocked,added,changed,removed"`
	OldHash  string          `json:"oldHash"`
	NewHash  string          `json:"newHash"` // empty if blocked and unchanged
	Diff     []core.DiffLine `json:"diff" nullable:"false"`
	Parts    []string        `json:"parts" nullable:"false" enum:"description,schema,title,annotation,other part" doc:"What of a changed definition differs"`
	Warnings []Warning       `json:"warnings" nullable:"false"` // warnings about the new definition
}

// States of a withheld ToolChange.
const (
	Waiting = "waiting"
	Blocked = "blocked"
)

// ToolStatus is the trust state of a tool.
type ToolStatus struct {
	New      bool      `json:"new"` // first listed less than 7 days ago by an already known server
	FirstAt  time.Time `json:"firstAt"`
	Always   bool      `json:"always"` // changes are always accepted
	Withheld string    `json:"withheld,omitempty" enum:",waiting,blocked"`
	Hash     string    `json:"hash"`
	Warnings []Warning `json:"warnings" nullable:"false"`
}

// Changes returns the withheld definitions of one server, or of all configured servers for "",
// sorted by server and time, with their diffs. Definitions that a server no longer lists are left
// out.
func (b *Baseline) Changes(ctx context.Context, server string) ([]ToolChange, error) {
	list := b.changes(server)
	for i := range list {
		c := &list[i]
		before, after, err := b.definitions(ctx, c.Server, itemKey{c.Kind, c.Name})
		if err != nil {
			return nil, err
		}
		if after != nil {
			c.Diff, c.Parts = core.Diff(Text(before), Text(after)), differingParts(before, after)
		}
	}
	return list, nil
}

// Waiting returns the changes that wait for a review, without diffs. It does no I/O.
func (b *Baseline) Waiting() []ToolChange {
	b.mu.Lock()
	modes := map[string]string{}
	for id, s := range b.servers {
		modes[id] = s.mode
	}
	b.mu.Unlock()
	return slices.DeleteFunc(b.changes(""), func(c ToolChange) bool { return c.State != Waiting || modes[c.Server] == Block })
}

func (b *Baseline) changes(server string) []ToolChange {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []ToolChange{}
	for _, id := range sortedKeys(b.servers) {
		s := b.servers[id]
		if server != "" && id != server || !s.configured {
			continue
		}
		for k, it := range s.items {
			if k.kind == Server || !it.present || it.pending == nil && !it.blocked {
				continue
			}
			c := ToolChange{Server: id, Kind: k.kind, Name: k.name, At: it.firstAt, State: Waiting, OldHash: it.hash.String(), Diff: []core.DiffLine{}, Parts: []string{}, Warnings: []Warning{}}
			if it.blocked {
				c.State = Blocked
			}
			if w := it.pending; w != nil {
				c.At, c.NewHash = w.at, w.hash.String()
				c.Warnings = append(c.Warnings, w.warnings...)
				for _, one := range it.shadows {
					if one.Code != SameName {
						c.Warnings = append(c.Warnings, one)
					}
				}
			}
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y ToolChange) int {
		if x.Server != y.Server {
			return strings.Compare(x.Server, y.Server)
		}
		if c := x.At.Compare(y.At); c != 0 {
			return c
		}
		return strings.Compare(x.Kind+x.Name, y.Kind+y.Name)
	})
	return list
}

// definitions returns the trusted definition and the waiting one, which is nil if there is none.
func (b *Baseline) definitions(ctx context.Context, server string, k itemKey) (before, after []byte, err error) {
	b.mu.Lock()
	if s := b.servers[server]; s != nil {
		if it := s.items[k]; it != nil {
			before = it.definition
			if it.pending != nil {
				after = it.pending.definition
			}
		}
	}
	b.mu.Unlock()
	if before == nil {
		before, err = b.opts.Store.TrustedDefinition(ctx, server, k.kind, k.name)
	}
	return before, after, err
}

// ToolStatuses returns the status of every recorded tool of a server, by name.
func (b *Baseline) ToolStatuses(server string) map[string]ToolStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]ToolStatus{}
	s := b.servers[server]
	if s == nil {
		return all
	}
	for k, it := range s.items {
		if k.kind == Tool {
			all[k.name] = b.toolStatus(it)
		}
	}
	return all
}

// Instructions returns the status of a server's instructions. ok is false if none are recorded.
func (b *Baseline) Instructions(server string) (ToolStatus, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.servers[server]; s != nil {
		if it := s.items[itemKey{Instructions, ""}]; it != nil {
			return b.toolStatus(it), true
		}
	}
	return ToolStatus{}, false
}

func (b *Baseline) toolStatus(it *record) ToolStatus {
	st := ToolStatus{
		New: it.addedLater && b.opts.Now().Sub(it.firstAt) < newPeriod, FirstAt: it.firstAt, Always: it.always, Hash: it.hash.String(), Warnings: []Warning{},
	}
	st.Warnings = append(append(st.Warnings, it.warnings...), it.shadows...)
	switch {
	case it.blocked:
		st.Withheld = Blocked
	case it.pending != nil:
		st.Withheld = Waiting
		st.Warnings = append(st.Warnings[:0], append(slices.Clone(it.pending.warnings), it.shadows...)...)
	}
	return st
}

// Decision is a decision of the user about a definition.
type Decision struct {
	Server, Kind, Name string
	// Hash identifies the definition that was shown to the user; "" means the one that is waiting
	// now.
	Hash   string
	Action string // one of the constants below
}

// Values of Decision.Action.
const (
	DecideAccept = "accept" // trust this definition
	DecideAlways = "always" // trust this definition and all later ones
	DecideBlock  = "block"  // withhold until accepted
	DecideReset  = "ask"    // use the mode of the configuration; reverts always and block
)

// Decide applies a decision and saves it before it returns.
func (b *Baseline) Decide(ctx context.Context, d Decision) error {
	if err := b.applyDecision(d); err != nil {
		return err
	}
	b.rejudge(d.Server)
	b.wakeWriter()
	if err := b.Flush(ctx); err != nil {
		return fmt.Errorf("cannot save the decision: %w", err)
	}
	return nil
}

func (b *Baseline) applyDecision(d Decision) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.servers[d.Server]
	k := itemKey{d.Kind, d.Name}
	if s == nil || s.items[k] == nil || d.Kind == Server {
		return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no record of %s of server %q", describeKey(k), d.Server), Hint: "List the changes with: drawbridge tools --changes"}
	}
	it := s.items[k]
	if d.Hash != "" && (it.pending == nil || it.pending.hash.String() != d.Hash) && it.hash.String() != d.Hash {
		return &core.Error{Code: core.CodeConflict, Message: describeKey(k) + " has changed again", Hint: "Review it again."}
	}
	old := it.hash
	switch d.Action {
	case DecideAccept, DecideAlways:
		it.blocked, it.always = false, it.always || d.Action == DecideAlways
		it.version++
		if w := it.pending; w != nil {
			it.scannedHash, it.warnings = w.hash, w.warnings
			it.trust(w.hash, w.definition)
		}
		detail := ""
		if d.Action == DecideAlways {
			detail = "including all later changes"
		}
		b.recordEvent(s, k, it, EventAccepted, detail, &old, &it.hash)
	case DecideBlock:
		it.blocked, it.always = true, false
		it.version++
		var now *Hash
		if it.pending != nil {
			now = &it.pending.hash
		}
		b.recordEvent(s, k, it, EventBlocked, "", &old, now)
	case DecideReset:
		it.blocked, it.always = false, false
		it.version++
	default:
		return core.Errorf(core.CodeValidation, "%q is not a decision: use accept, always, block or ask", d.Action)
	}
	b.changedServers[d.Server] = true
	return nil
}

func describeKey(k itemKey) string {
	if k.kind == Instructions {
		return "the instructions"
	}
	return fmt.Sprintf("%s %q", k.kind, k.name)
}

// Compare returns how tools differ from the trusted tools that the server lists now. It changes
// nothing.
func (b *Baseline) Compare(ctx context.Context, server string, tools []core.Item) ([]ToolChange, error) {
	b.mu.Lock()
	s := b.serverRecords(server)
	b.load(s)
	known := map[string]Hash{}
	for k, it := range s.items {
		if k.kind == Tool && it.present {
			known[k.name] = it.hash
		}
	}
	b.mu.Unlock()
	list := []ToolChange{}
	for _, tool := range tools {
		definition := canonical(tool.Raw)
		h := hashOf(definition)
		old, there := known[tool.Name]
		delete(known, tool.Name)
		if there && old == h {
			continue
		}
		c := ToolChange{Server: server, Kind: Tool, Name: tool.Name, At: b.opts.Now(), State: Changed, OldHash: old.String(), NewHash: h.String(), Warnings: append([]Warning{}, Scan(tool.Name, tool.Raw)...)}
		var before []byte
		if there {
			var err error
			if before, _, err = b.definitions(ctx, server, itemKey{Tool, tool.Name}); err != nil {
				return nil, err
			}
		} else {
			c.State, c.OldHash = Added, ""
		}
		c.Diff, c.Parts = core.Diff(Text(before), Text(definition)), differingParts(before, definition)
		list = append(list, c)
	}
	for _, name := range sortedKeys(known) {
		before, _, err := b.definitions(ctx, server, itemKey{Tool, name})
		if err != nil {
			return nil, err
		}
		list = append(list, ToolChange{Server: server, Kind: Tool, Name: name, At: b.opts.Now(), State: Removed, OldHash: known[name].String(), Diff: core.Diff(Text(before), nil), Parts: []string{}, Warnings: []Warning{}})
	}
	return list, nil
}

// States of a ToolChange that Compare returns.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// AcceptInAdvance records that the user has accepted these definitions before the server lists
// them. Definitions of unknown tools are ignored. why is the detail of the events.
func (b *Baseline) AcceptInAdvance(ctx context.Context, server string, tools []core.Item, why string) error {
	b.mu.Lock()
	s := b.serverRecords(server)
	b.load(s)
	for _, tool := range tools {
		k, definition := itemKey{Tool, tool.Name}, canonical(tool.Raw)
		h := hashOf(definition)
		it := s.items[k]
		if it == nil || it.hash == h || slices.Contains(it.previousHashes, h) {
			continue
		}
		old := it.hash
		// The old definition stays trusted until the new one is listed.
		it.previousHashes = append(it.previousHashes, h)
		it.previousHashes = it.previousHashes[max(0, len(it.previousHashes)-maxPreviousHashes):]
		it.version++
		b.recordEvent(s, k, it, EventAccepted, why, &old, &h)
	}
	b.mu.Unlock()
	return b.Flush(ctx)
}
