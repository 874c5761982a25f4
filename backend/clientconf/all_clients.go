package clientconf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Together is a batch of plans for all clients of this machine. Each plan starts from the
// state that the preceding one leaves, so that the preview equals the result.
type Together struct {
	Plans   []*Plan      // clients to move or connect
	Imports []*Taking    // clients whose servers are copied
	Skipped []SkippedOne // clients that are left out, with the reason

	c *Connector
}

// SkippedOne is a client that a batch leaves out.
type SkippedOne struct{ Client, Reason string }

// Servers returns the number of servers that the batch moves or imports.
func (t *Together) Servers() (n int) {
	for _, p := range t.Plans {
		n += p.Moves()
	}
	for _, i := range t.Imports {
		n += len(i.Servers)
	}
	return n
}

// Clients returns the number of clients that the batch changes or imports from.
func (t *Together) Clients() int { return len(t.Plans) + len(t.Imports) }

// Moves returns the number of the client's servers that the plan moves.
func (p *Plan) Moves() int {
	if p.own == nil {
		return 0
	}
	return len(p.takes)
}

// MoveAll plans a Move for every installed client that has servers and is not connected.
func (c *Connector) MoveAll() *Together {
	return c.together(func(ahead *Connector, t *Together, id string) (*ownChange, error) {
		p, err := ahead.Move(Choice{Client: id}, nil, false)
		if err != nil || p.shares(t.Plans) {
			return nil, err
		}
		t.Plans = append(t.Plans, p)
		return p.own, nil
	})
}

// ImportAll plans an import for every installed client that has servers and is not connected.
func (c *Connector) ImportAll() *Together {
	return c.together(func(ahead *Connector, t *Together, id string) (*ownChange, error) {
		i, err := ahead.Take(Choice{Client: id}, nil)
		if err != nil || len(i.own.Servers) == 0 {
			return nil, err
		}
		i.c = c
		t.Imports = append(t.Imports, i)
		return i.own, nil
	})
}

// ConnectAll plans to connect every installed client that is not connected.
func (c *Connector) ConnectAll() *Together {
	return c.together(func(ahead *Connector, t *Together, id string) (*ownChange, error) {
		p, err := ahead.Plan(Choice{Client: id})
		if err == nil && p.Action != Equal && !p.shares(t.Plans) {
			t.Plans = append(t.Plans, p)
		}
		return nil, err
	})
}

// shares reports whether another plan writes the same file. Some clients share one file.
func (p *Plan) shares(others []*Plan) bool {
	return slices.ContainsFunc(others, func(o *Plan) bool { return o.target == p.target })
}

// together calls plan for each installed client that is not connected.
func (c *Connector) together(plan func(ahead *Connector, t *Together, id string) (*ownChange, error)) *Together {
	t := &Together{c: c}
	ahead := *c
	pending := &pendingVault{Vault: c.vault, values: map[string]string{}}
	if c.vault != nil {
		ahead.vault = pending
	}
	for _, s := range c.List() {
		if !s.Detected || s.Project != "" || s.Path == "" || s.Connected {
			continue
		}
		own, err := plan(&ahead, t, s.Client.ID)
		if err != nil {
			if core.CodeOf(err) != core.CodeNotFound { // it has no servers
				message, _ := core.Describe(err)
				t.Skipped = append(t.Skipped, SkippedOne{s.Client.Name, message})
			}
			continue
		}
		if own != nil {
			own.vault = c.vault
			ahead.ownText = own.after
			for name, value := range own.values {
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

// OneDone is the result for one client of a batch.
type OneDone struct {
	Client  Client
	Servers int   // number of servers that were moved or imported
	Err     error // why the client was left unchanged; nil on success
}

// Reason returns Err as text for the user, or "" on success.
func (d OneDone) Reason() string {
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
func (t *Together) Apply(ctx context.Context, before func(client string) error, tell func(OneDone)) error {
	var failed error
	note := func(client Client, servers int, err error) {
		done := OneDone{client, servers, err}
		if err != nil {
			done.Servers = 0
			failed = errors.Join(failed, fmt.Errorf("%s: %s", client.Name, done.Reason()))
		}
		tell(done)
	}
	for _, p := range t.Plans {
		err := before(p.Client.ID)
		if err == nil {
			err = t.c.applyBehind(ctx, p, failed != nil)
		}
		note(p.Client, p.Moves(), err)
	}
	for _, i := range t.Imports {
		client, err := ByID(i.client)
		if err == nil {
			err = t.c.takeBehind(ctx, i, failed != nil)
		}
		note(client, len(i.Servers), err)
	}
	return failed
}

// applyBehind applies a plan. If again is set, a preceding plan failed: our configuration
// differs from the plan's starting point, so the plan is made again first.
func (c *Connector) applyBehind(ctx context.Context, p *Plan, again bool) error {
	if !again || p.own == nil {
		return c.Apply(ctx, p)
	}
	now, err := c.Move(Choice{Client: p.Client.ID}, nil, false)
	if err != nil {
		return err
	}
	if !bytes.Equal(now.before, p.before) || now.Moves() != p.Moves() {
		return core.Errorf(core.CodeConflict, "the file changed since the change was shown")
	}
	return c.Apply(ctx, now)
}

func (c *Connector) takeBehind(ctx context.Context, i *Taking, again bool) error {
	if again {
		now, err := c.Take(Choice{Client: i.client}, nil)
		if err != nil {
			return err
		}
		i = now
	}
	_, err := i.Apply(ctx)
	return err
}

type undoStep struct {
	at  time.Time
	one UndoneOne
}

// UndoneOne is the result of undoing one connection or import.
type UndoneOne struct {
	Key    string `json:"key,omitempty"`
	Import string `json:"import,omitempty"`
	Undone Undone `json:"undone,omitempty"`
	Error  string `json:"error,omitempty"`
}

// UndoAll undoes every connection and, if imports is set, every import, newest first: undoing
// in reverse order lets each file return to its original content. A failure does not stop the
// others.
func (c *Connector) UndoAll(ctx context.Context, imports, force bool, tell func(UndoneOne)) error {
	records, err := c.records()
	if err != nil {
		return err
	}
	var steps []undoStep
	for key, r := range records {
		steps = append(steps, undoStep{at: r.At, one: UndoneOne{Key: key}})
	}
	if imports {
		all, err := c.Imports()
		if err != nil {
			return err
		}
		for _, i := range all {
			steps = append(steps, undoStep{at: i.At, one: UndoneOne{Import: i.ID}})
		}
	}
	return c.undoSteps(ctx, steps, force, tell)
}

// UndoSome undoes the connections with these keys in the same way as UndoAll. Keys without a
// connection are ignored: they were undone before.
func (c *Connector) UndoSome(ctx context.Context, keys []string, tell func(UndoneOne)) error {
	records, err := c.records()
	if err != nil {
		return err
	}
	var steps []undoStep
	for key, r := range records {
		if slices.Contains(keys, key) {
			steps = append(steps, undoStep{at: r.At, one: UndoneOne{Key: key}})
		}
	}
	return c.undoSteps(ctx, steps, false, tell)
}

func (c *Connector) undoSteps(ctx context.Context, steps []undoStep, force bool, tell func(UndoneOne)) error {
	slices.SortFunc(steps, func(a, b undoStep) int { return b.at.Compare(a.at) })
	var failed error
	for _, s := range steps {
		var err error
		name := s.one.Key
		if s.one.Import != "" {
			name = "import " + s.one.Import
			s.one.Undone, err = c.UndoImport(ctx, s.one.Import)
		} else {
			s.one.Undone, err = c.Undo(ctx, s.one.Key, force)
		}
		if err != nil {
			s.one.Error = err.Error()
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
		tell(s.one)
	}
	return failed
}
