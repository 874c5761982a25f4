package clientconf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Batch is a batch of plans for all clients of this machine. Each plan starts from the
// state that the preceding one leaves, so that the preview equals the result.
type Batch struct {
	Plans   []*Plan         // clients to move or connect
	Imports []*ImportPlan   // clients whose servers are copied
	Skipped []SkippedClient // clients that are left out, with the reason

	c *Connector
}

// SkippedClient is a client that a batch leaves out.
type SkippedClient struct {
	Client string `json:"client"`
	Reason string `json:"reason"`
}

// ServerCount returns the number of servers that the batch moves or imports.
func (t *Batch) ServerCount() (n int) {
	for _, p := range t.Plans {
		n += p.MovedCount()
	}
	for _, i := range t.Imports {
		n += len(i.Servers)
	}
	return n
}

// ClientCount returns the number of clients that the batch changes or imports from.
func (t *Batch) ClientCount() int { return len(t.Plans) + len(t.Imports) }

// MovedCount returns the number of the client's servers that the plan moves.
func (p *Plan) MovedCount() int {
	if p.config == nil {
		return 0
	}
	n := len(p.originals)
	for _, other := range p.further {
		n += len(other.originals)
	}
	return n
}

// PlanMoveAll plans to move the servers of every installed client that
// has servers and is not connected.
func (c *Connector) PlanMoveAll() *Batch {
	return c.planBatch(func(planner *Connector, t *Batch, id string) (*configChange, error) {
		p, err := planner.PlanMove(Choice{Client: id}, nil, false)
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
	return c.planBatch(func(planner *Connector, t *Batch, id string) (*configChange, error) {
		i, err := planner.PlanImport(Choice{Client: id}, nil)
		if err != nil || len(i.config.Servers) == 0 {
			return nil, err
		}
		i.c = c
		t.Imports = append(t.Imports, i)
		return i.config, nil
	})
}

// PlanConnectAll plans to connect every installed client that is not connected.
func (c *Connector) PlanConnectAll() *Batch {
	return c.planBatch(func(planner *Connector, t *Batch, id string) (*configChange, error) {
		p, err := planner.Plan(Choice{Client: id})
		if err == nil && p.Action != Equal && !p.sharesFile(t.Plans) {
			t.Plans = append(t.Plans, p)
		}
		return nil, err
	})
}

// sharesFile reports whether another plan writes the same file. Some clients share one file.
func (p *Plan) sharesFile(others []*Plan) bool {
	return slices.ContainsFunc(others, func(o *Plan) bool {
		return o.target == p.target || p.sharesFile(o.further)
	}) || slices.ContainsFunc(p.further, func(f *Plan) bool { return f.sharesFile(others) })
}

// planBatch calls plan for each installed client that is not connected.
func (c *Connector) planBatch(plan func(planner *Connector, t *Batch, id string) (*configChange, error)) *Batch {
	t := &Batch{c: c}
	planner := *c
	pending := &pendingVault{Vault: c.vault, values: map[string]string{}}
	if c.vault != nil {
		planner.vault = pending
	}
	for _, s := range c.List() {
		if !s.Detected || s.Project != "" || s.Path == "" || s.Connected {
			continue
		}
		own, err := plan(&planner, t, s.Client.ID)
		if err != nil {
			if core.CodeOf(err) != core.CodeNotFound { // it has no servers
				message, _ := core.Describe(err)
				t.Skipped = append(t.Skipped, SkippedClient{s.Client.Name, message})
			}
			continue
		}
		if own != nil {
			own.vault = c.vault
			planner.plannedConfig = own.after
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
	Servers int   // number of servers that were moved or imported
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
			err = t.c.applyInBatch(ctx, p, failed != nil)
		}
		finish(p.Client, p.MovedCount(), err)
	}
	for _, i := range t.Imports {
		finish(i.Client, len(i.Servers), t.c.importInBatch(ctx, i, failed != nil))
	}
	return failed
}

// applyInBatch applies a plan. If again is set, a preceding plan failed: our configuration
// differs from the plan's starting point, so the plan is made again first.
func (c *Connector) applyInBatch(ctx context.Context, p *Plan, replan bool) error {
	if !replan || p.config == nil {
		return c.Apply(ctx, p)
	}
	now, err := c.PlanMove(Choice{Client: p.Client.ID}, nil, false)
	if err != nil {
		return err
	}
	if !bytes.Equal(now.before, p.before) || now.MovedCount() != p.MovedCount() {
		return core.Errorf(core.CodeConflict, "the file has changed since the preview")
	}
	return c.Apply(ctx, now)
}

func (c *Connector) importInBatch(ctx context.Context, i *ImportPlan, replan bool) error {
	if replan {
		now, err := c.PlanImport(Choice{Client: i.Client.ID}, nil)
		if err != nil {
			return err
		}
		i = now
	}
	_, err := i.Apply(ctx)
	return err
}
