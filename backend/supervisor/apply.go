package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Apply makes cfg the active configuration. Servers whose configuration is equal to the previous
// one are not touched; a server whose command, environment or address changed is restarted; other
// settings take effect without a restart. Apply waits until the runners have processed the
// change, but not until a server has started or stopped. When Apply returns, every server that
// should run has the state starting.
func (s *Supervisor) Apply(cfg *config.Config) {
	for _, wait := range s.applySerially(cfg) {
		wait()
	}
}

// applySerially reads the saved state, calls apply and saves the new approvals, one configuration
// at a time.
func (s *Supervisor) applySerially(cfg *config.Config) (waits []func()) {
	s.applying.Lock()
	defer s.applying.Unlock()
	saved := s.readSavedState(cfg)
	waits, approved := s.apply(cfg, saved)
	for _, c := range approved {
		s.saveApproval(c)
	}
	return waits
}

// apply returns functions that wait until the runners concerned have processed the change, which
// must be called without s.mu, and the servers whose commands are to be saved as approved. It
// must be called with s.applying held.
func (s *Supervisor) apply(cfg *config.Config, saved savedState) (waits []func(), approved []*config.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listWait.Store(int64(cfg.Bridge.ListWait))
	old := s.fleet.Load()
	fl := &fleet{byID: make(map[string]*runner, len(cfg.Servers)), broken: brokenStatuses(cfg, old)}
	s.updateRegistry(cfg, saved)
	firstConfig := len(old.order) == 0 && !s.configured
	s.configured = true
	var newCommands []*config.Server // started without approval of their new command
	changed := map[string]string{}   // what is new about them, as commandChange returns it
	var approvedBefore int           // servers whose commands were approved before
	for i := range cfg.Servers {
		c := &cfg.Servers[i]
		if fl.byID[c.ID] != nil {
			continue // ids are unique in a valid configuration; a duplicate could not be addressed
		}
		needsApproval, isNew, save := s.checkApproval(cfg, c, saved)
		if before := s.all[c.ID]; isNew && before != nil {
			changed[c.ID] = commandChange(before.config(), c)
		}
		r, wait := s.runnerFor(c, needsApproval)
		switch {
		case isNew && !needsApproval:
			newCommands = append(newCommands, c)
		case !isNew && runsProgram(c):
			approvedBefore++
		}
		if save {
			approved = append(approved, c)
		}
		waits = append(waits, wait)
		fl.byID[c.ID] = r
		fl.order = append(fl.order, r)
	}
	s.fleet.Store(fl)
	for _, c := range newCommands {
		// On the very first start, everything is new and needs no notice.
		if !firstConfig || approvedBefore > 0 {
			s.addCommandNotice(c, s.lastCommands[c.ID], changed[c.ID])
		}
		s.lastCommands[c.ID] = commandText(c)
	}
	s.dropStaleNotices(cfg)
	s.appliedOnce.Do(func() { close(s.applied) })
	s.publishConflicts() // a new order of servers changes which one wins a name, but no list
	s.retire(old, fl)
	for _, b := range fl.broken {
		if !old.reportsBroken(b) {
			s.o.Bus.Publish(core.ServerEvent, b)
		}
	}
	return waits, approved
}

// runnerFor returns the runner for c: the existing runner of this id, with its new configuration,
// or a new one. A server that is added again while its old process is still being stopped gets
// its old runner, so that there are never two processes. runnerFor must be called with s.mu held.
func (s *Supervisor) runnerFor(c *config.Server, needsApproval bool) (r *runner, wait func()) {
	r = s.all[c.ID]
	if r == nil {
		r = newRunner(s, c, needsApproval)
		s.all[c.ID] = r
		s.startRunner(r)
		return r, func() {}
	}
	old, revived := r.config(), r.retired.Swap(false)
	neededApproval := r.needsApproval.Swap(needsApproval)
	if old.Equal(*c) && !revived && neededApproval == needsApproval {
		r.cfg.Store(c)
		for _, one := range r.instances() {
			if credentials, ok := c.WithAccount(one.owner.account); ok {
				one.cfg.Store(credentials)
			}
		}
		return r, func() {}
	}
	r.cfg.Store(c)
	restart := old.LaunchKey() != c.LaunchKey()
	if restart {
		r.perCall.cancelAll()
	}
	s.reconfigureInstances(r, c, needsApproval || c.Disabled || old.Session != c.Session)
	if commandKey(old) != commandKey(c) {
		s.o.Journal(c.ID, slog.LevelWarn, "its command changed: "+commandChange(old, c))
	}
	if more := c.Sandbox.AllowsBeyond(&old.Sandbox); len(more) > 0 {
		s.o.Journal(c.ID, slog.LevelWarn, "its sandbox was loosened: the server may now "+strings.Join(more, ", "))
	}
	reevaluate := revived || neededApproval != needsApproval || old.Disabled != c.Disabled || old.Start != c.Start // the change may affect whether the server runs
	processed := make(chan struct{})
	r.post(func() {
		defer close(processed)
		r.applyConfig(restart, reevaluate)
	})
	if !s.running || s.ended {
		return r, func() {}
	}
	return r, func() {
		select {
		case <-processed:
		case <-r.done:
		}
	}
}

// reconfigureInstances passes a new configuration to the instances, or ends them. It ends those
// alone whose account was removed, or whose command, environment or address changed. It must be
// called with s.mu held.
func (s *Supervisor) reconfigureInstances(r *runner, c *config.Server, end bool) {
	if end {
		r.retireInstances()
		return
	}
	for _, one := range r.instances() {
		credentials, ok := c.WithAccount(one.owner.account)
		if !ok || one.config().LaunchKey() != credentials.LaunchKey() {
			one.retire()
			continue
		}
		one.cfg.Store(credentials)
		one.post(func() { one.applyConfig(false, false) })
	}
}

// updateRegistry passes the order and the names of the servers to the registry, together with the
// saved catalogs of servers that have not been listed in this run. It must be called with s.mu
// held.
func (s *Supervisor) updateRegistry(cfg *config.Config, saved savedState) {
	var places []registry.Server
	for _, c := range cfg.Servers {
		if !c.Disabled {
			places = append(places, registry.Server{ID: c.ID, Label: c.Label, Namespace: c.Namespace, Filter: c.Filter})
		}
	}
	s.o.Registry.Configure(registry.Naming(cfg.Bridge.Naming), places)
	for i := range cfg.Servers {
		id := cfg.Servers[i].ID
		if catalog := saved.catalogs[id]; catalog != nil && !s.listed(id) {
			s.o.Registry.Update(id, catalog)
		}
		if catalog := saved.outdated[id]; catalog != nil {
			s.o.Registry.ReserveURIs(id, catalog)
		}
	}
}

// retire ends the runners that are in before but not in after. It must be called with s.mu held.
func (s *Supervisor) retire(before, after *fleet) {
	for id, r := range before.byID {
		if after.byID[id] == nil {
			r.retireInstances()
			r.retire()
			if !after.contains(id) {
				s.o.Bus.Publish(core.RemovedEvent, id)
			}
		}
	}
	for _, b := range before.broken {
		if !after.contains(b.ID) {
			s.o.Bus.Publish(core.RemovedEvent, b.ID)
		}
	}
}

func (f *fleet) contains(id string) bool {
	if f.byID[id] != nil {
		return true
	}
	for _, b := range f.broken {
		if b.ID == id {
			return true
		}
	}
	return false
}

// removeEnded removes a runner that has been retired and has ended. It returns false if the
// server has been added again meanwhile.
func (s *Supervisor) removeEnded(r *runner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.retired.Load() {
		return false
	}
	delete(s.all, runnerKey(r.id, r.owner.key))
	if r.parent != nil {
		r.parent.removeInstance(r)
	}
	return true
}

// checkApproval reports whether c has to wait for approval (needsApproval), whether its command has
// not been approved before (isNew), and whether the caller must save it as approved. Without
// approveNewCommands nothing has to wait, and what is saved needs no approval if the setting is
// turned on later. checkApproval must be called with s.mu held.
func (s *Supervisor) checkApproval(cfg *config.Config, c *config.Server, saved savedState) (needsApproval, isNew, save bool) {
	if !runsProgram(c) {
		return false, false, false
	}
	approved, known := saved.approved[c.ID]
	looser := len(c.Sandbox.AllowsBeyond(&approved)) > 0
	if cfg.Global.ApproveNewCommands && (!known || looser) {
		if known {
			s.approved[c.ID] = approval{commandKey(c), approved} // for the comparison that the user sees
			s.lastCommands[c.ID] = commandText(c)
		}
		return true, !known, false
	}
	s.approved[c.ID] = approval{commandKey(c), c.Sandbox}
	if known {
		s.lastCommands[c.ID] = commandText(c)
	}
	return false, !known, !known || looser || len(approved.AllowsBeyond(&c.Sandbox)) > 0
}

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
	if r := s.fleet.Load().byID[c.ID]; r != nil { // it was disabled
		if next := r.unsaved.Load(); next != nil && next.key == c.LaunchKey() {
			return next.catalog, false
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	catalog, err := s.o.Catalogs.Catalog(ctx, c.ID, c.LaunchKey())
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

// commandKey returns a hash that is equal for servers that run the same command.
func commandKey(c *config.Server) string {
	b, _ := json.Marshal(struct {
		Type       core.Transport
		Command    string
		Args       []string
		Env        map[string]string
		InheritEnv []string
		Cwd        string
		Docker     config.Docker
		Accounts   map[string]map[string]string `json:",omitempty"` // omitted when unset, so that earlier approvals stay valid
	}{c.Type, c.Command, c.Args, c.Env, c.InheritEnv, c.Cwd, c.Docker, accountEnvs(c)})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// brokenStatuses returns a status for each server that the configuration reports as invalid. A
// server that old already has for the same reason keeps its timestamps.
func brokenStatuses(cfg *config.Config, old *fleet) []core.ServerStatus {
	var list []core.ServerStatus
	seen := map[string]bool{}
	for _, c := range cfg.Servers {
		seen[strings.ToLower(c.ID)] = true
	}
	for _, p := range cfg.Problems {
		id := core.Slug(p.Server)
		if id == "" {
			id = p.Server
		}
		if p.Warning || id == "" || seen[strings.ToLower(id)] {
			continue
		}
		seen[strings.ToLower(id)] = true
		now := time.Now().UTC()
		st := core.ServerStatus{ID: id, Label: p.Server, State: core.StateFailed, Reason: p.String(), Remedy: core.EditConfig(""), Since: now, Updated: now}
		for _, o := range old.broken {
			if o.ID == id && o.Reason == st.Reason {
				st.Since, st.Updated = o.Since, o.Updated
			}
		}
		list = append(list, st)
	}
	return list
}

// selectsPrograms matches the names of variables by which another program or library runs. Their
// values are no secrets.
var selectsPrograms = osutil.LazyRegexp(`^(PATH|LD_.*|DYLD_.*|NODE_(OPTIONS|PATH)|BUN_OPTIONS|PYTHON(PATH|STARTUP|HOME)|PERL5(LIB|OPT)|RUBY(LIB|OPT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|BASH_ENV|ENV|GIT_SSH.*|SHELL)$`)
