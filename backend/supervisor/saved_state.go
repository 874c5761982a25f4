package supervisor

import (
	"context"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dial"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// savedState is what the store has about the servers of a configuration. It is read before
// Supervisor.mu is locked, because each query of a busy store may take storeTimeout.
type savedState struct {
	approved map[string]config.Sandbox // by server whose command is approved: the sandbox in which it may run
	catalogs map[string]*core.Catalog  // from an earlier run, for servers that are not listed yet
	outdated map[string]*core.Catalog  // likewise, of servers that were started with other settings
}

// readSavedState queries the store. It must be called with s.applying held and without s.mu.
func (s *Supervisor) readSavedState(cfg *config.Config) savedState {
	k := savedState{approved: map[string]config.Sandbox{}, catalogs: map[string]*core.Catalog{}, outdated: map[string]*core.Catalog{}}
	seen := make(map[string]bool, len(cfg.Servers))
	for i := range cfg.Servers {
		c := &cfg.Servers[i]
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		if sandbox, ok := s.readApproval(c); ok {
			k.approved[c.ID] = sandbox
		}
		if catalog, outdated := s.readCatalog(c); outdated {
			k.outdated[c.ID] = catalog
		} else if catalog != nil {
			k.catalogs[c.ID] = catalog
		}
	}
	return k
}

// readApproval returns whether the command of a server is approved, and the sandbox in which it may run.
func (s *Supervisor) readApproval(c *config.Server) (sandbox config.Sandbox, ok bool) {
	s.mu.Lock()
	last := s.approved[c.ID]
	s.mu.Unlock()
	if ok = last.key == commandKey(c); ok || s.o.CommandApprovals == nil || !runsProgram(c) {
		return last.sandbox, ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	value, ok, err := s.o.CommandApprovals.Approved(ctx, c.ID, commandKey(c))
	if err != nil {
		s.o.Log.Warn("Cannot read approvals", "server", c.ID, "error", err)
	}
	if json.Unmarshal(value, &sandbox) != nil { // saved by an earlier version
		sandbox = config.Sandbox{}
	}
	return sandbox, ok
}

func (s *Supervisor) saveApproval(c *config.Server) {
	if s.o.CommandApprovals == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := s.o.CommandApprovals.Approve(ctx, c.ID, commandKey(c), sandboxJSON(c)); err != nil {
		s.o.Log.Warn("Cannot save approval", "server", c.ID, "error", err)
	}
}

// readCatalog returns the saved catalog of a server, or nil. outdated means that the server was started with
// other settings, so that its lists may differ.
func (s *Supervisor) readCatalog(c *config.Server) (catalog *core.Catalog, outdated bool) {
	if c.Disabled || s.o.Catalogs == nil || s.listed(c.ID) {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	catalog, err := s.o.Catalogs.Catalog(ctx, c.ID, dial.LaunchKey(c))
	if err != nil {
		s.o.Log.Warn("Cannot read cached catalog", "server", c.ID, "error", err)
		return nil, false
	}
	if catalog != nil {
		return catalog, false
	}
	if catalog, err = s.o.Catalogs.LastCatalog(ctx, c.ID); err != nil {
		s.o.Log.Warn("Cannot read cached catalog", "server", c.ID, "error", err)
		return nil, false
	}
	return catalog, catalog != nil
}

// listed reports whether the registry has a catalog of the server.
func (s *Supervisor) listed(id string) bool {
	v, ok := s.o.Registry.Server(id)
	return ok && v.Offers()[0].Catalog != nil
}
