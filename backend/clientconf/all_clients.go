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

// Together is one step for all clients of this machine: each plan begins where the one
// before it ends, so that what is shown is what is written.
type Together struct {
	Plans   []*Plan      // of clients that are moved or connected
	Imports []*Taking    // of clients whose servers are copied
	Skipped []SkippedOne // clients that are left out, with the reason

	c *Connector
}

// SkippedOne is a client that is left out of a step for all.
type SkippedOne struct{ Client, Reason string }

// Servers is how many servers of clients the step takes over.
func (t *Together) Servers() (n int) {
	for _, p := range t.Plans {
		n += p.Moves()
	}
	for _, i := range t.Imports {
		n += len(i.Servers)
	}
	return n
}

// Clients is how many clients the step changes or copies from.
func (t *Together) Clients() int { return len(t.Plans) + len(t.Imports) }

// Moves is how many servers of the client a plan takes over.
func (p *Plan) Moves() int {
	if p.own == nil {
		return 0
	}
	return len(p.takes)
}

// MoveAll plans Move for every installed client that has servers.
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

// ImportAll plans Take for every installed client that has servers.
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

// ConnectAll plans the connection of every installed client that is not connected.
func (c *Connector) ConnectAll() *Together {
	return c.together(func(ahead *Connector, t *Together, id string) (*ownChange, error) {
		p, err := ahead.Plan(Choice{Client: id})
		if err == nil && p.Action != Equal && !p.shares(t.Plans) {
			t.Plans = append(t.Plans, p)
		}
		return nil, err
	})
}

// shares reports whether another plan writes the same file: some programs have one in common.
func (p *Plan) shares(others []*Plan) bool {
	return slices.ContainsFunc(others, func(o *Plan) bool { return o.target == p.target })
}

// together plans for each installed client, the connected ones left out.
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
			if core.CodeOf(err) != core.CodeNotFound { // which is: it has no servers
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

// pendingVault is a vault as it will be when the plans before have been carried out.
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

// OneDone is what became of one client in a step for all.
type OneDone struct {
	Client  Client
	Servers int   // that were taken over
	Err     error // why the client was left as it was; nil when it is done
}

// Reason is why the client was left as it was, for people; empty when it is done.
func (d OneDone) Reason() string {
	var known *core.Error
	switch {
	case d.Err == nil:
		return ""
	case errors.As(d.Err, &known):
		message, _ := core.Describe(d.Err)
		return message
	}
	return d.Err.Error() // of a file of this machine: nothing in it is to be hidden
}

// Apply carries all of it out, in the order of the plans; before is called with each client
// whose file is about to be written, and tell with what became of it. A client that fails
// does not stop the others: those behind it are planned anew from where it left our
// configuration, so that a name there may differ from the one that was shown. The error
// names each client that failed.
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

// applyBehind carries a plan out; again when one before it failed, so that our configuration
// is not where the plan begins.
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

// UndoneOne is what became of one connection or import that was taken back.
type UndoneOne struct {
	Key    string `json:"key,omitempty"`
	Import string `json:"import,omitempty"`
	Undone Undone `json:"undone,omitempty"`
	Error  string `json:"error,omitempty"`
}

// UndoAll takes every connection and every import back, the newest first: what came last
// into our configuration goes first, so that each file becomes what it was. One that fails
// does not stop the others.
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

// UndoSome takes the connections with these keys back as UndoAll does. A key without a
// connection is left out: it was taken back before.
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
