package supervisor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// A server whose session is not shared has instances: a runner, and therefore a process, for each
// client, session or folder. So has a server with accounts: each account except the default one has
// instances of its own, with its credentials, even if the session is shared. An instance is created by a call and serves only the calls of its
// key. It ends when it is idle, when the server is stopped or restarted, or when its
// configuration changes. The server's own runner still reads the catalog and serves calls without
// a key.

// maxInstances is the maximum number of instances of a server. If it is reached, a new instance
// replaces the one that has been idle longest.
const maxInstances = 16

var errInstanceEnded = errors.New("the instance has ended")

// instanceOwner identifies the instance that serves a call.
type instanceOwner struct {
	key       string // "" means the server's own runner
	name      string // for display
	workspace string
	account   string // "" for the default account
}

// ownerOf returns the owner of the instance that serves call. An account has instances of its own.
func ownerOf(c *config.Server, call *core.Call) instanceOwner {
	w := sessionOwnerOf(c, call)
	if call.Account == "" || call.Account == config.DefaultAccount {
		return w
	}
	w.account = call.Account
	w.key = "account\x00" + call.Account + "\x00" + w.key
	if w.name != "" {
		w.name = ": " + w.name
	}
	w.name = "account " + call.Account + w.name
	return w
}

// sessionOwnerOf returns the owner of the instance that serves call by the session of the server,
// whatever the account. A client is identified by its token
// and the name that it reports. A session is a shim process, a legacy session or, in the modern
// era, which has no sessions, a client.
func sessionOwnerOf(c *config.Server, call *core.Call) instanceOwner {
	client := call.Client.Name
	if client == "" {
		client = call.Client.Token
	}
	w := instanceOwner{name: client}
	if call.Client.Token != "" || call.Client.Name != "" {
		w.key = "client\x00" + call.Client.Token + "\x00" + call.Client.Name
	}
	switch c.Session {
	case config.SessionPerClient:
	case config.SessionPerSession:
		switch {
		case call.Shim != "":
			w.key, w.name = "shim\x00"+call.Client.Token+"\x00"+call.Shim, client+" shim "+shortID(call.Shim)
		case call.Era == core.Legacy && call.Session != "":
			w.key, w.name = "session\x00"+call.Session, client+" session "+shortID(call.Session)
		}
	case config.SessionPerRoot:
		w = instanceOwner{}
	default:
		return instanceOwner{}
	}
	if call.Workspace != "" && (c.Session == config.SessionPerRoot || c.UsesWorkspace()) {
		w.workspace = filepath.Clean(call.Workspace)
		w.key += "\x00" + w.workspace
		if w.name != "" {
			w.name += " in "
		}
		w.name += w.workspace
	}
	return w
}

// OwnerOf returns the owner of the instance that would serve a call, as Serves expects it.
func (s *Supervisor) OwnerOf(call *core.Call) string {
	r := s.fleet.Load().byID[call.Server]
	if r == nil {
		return ""
	}
	return ownerOf(r.config(), call).key
}

// ProcessOf identifies the process or connection that would serve a call now, which is not stopped
// as idle meanwhile. It returns "" if none is running, but a call may start one.
func (s *Supervisor) ProcessOf(call *core.Call) (string, error) {
	own := s.fleet.Load().byID[call.Server]
	if own == nil {
		return "", nil // the built-in server; policy refuses a server that was removed
	}
	c, r := own.config(), own
	s.mu.Lock()
	if key := ownerOf(c, call).key; key != "" {
		r = s.all[runnerKey(own.id, key)]
	}
	s.mu.Unlock()
	running := r != nil && c.Session != config.SessionPerCall && r.live.Load().primary.usable()
	switch {
	case own.needsApproval.Load():
		return "", own.unapprovedError()
	case s.paused.Load():
		return "", s.errPaused()
	case c.Disabled:
		return "", own.disabledError()
	case running:
		r.lastUsed.Store(time.Now().UnixNano())
		return r.live.Load().primary.Peer().ID, nil
	case c.Start == config.StartManual && !own.live.Load().wanted:
		return "", own.manualStartError()
	}
	return "", nil
}

// Serves reports whether the instance with the owner would serve a call.
func (s *Supervisor) Serves(owner string, call *core.Call) bool {
	r := s.fleet.Load().byID[call.Server]
	return r != nil && ownerOf(r.config(), call).key == owner
}

func shortID(id string) string { return id[:min(len(id), 6)] }

func isShared(c *config.Server) bool { return c.Session == "" || c.Session == config.SessionShared }

// runnerKey returns the key of a runner in Supervisor.all.
func runnerKey(id, key string) string {
	if key == "" {
		return id
	}
	return id + "\x00" + key
}

// instanceFor returns the runner that serves call. It creates the runner if necessary.
func (s *Supervisor) instanceFor(own *runner, call *core.Call) (*runner, error) {
	if ownerOf(own.config(), call).key == "" {
		return own, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := own.config() // cannot change now: a new instance must not begin with outdated credentials
	w := ownerOf(c, call)
	credentials, ok := c.WithAccount(call.Account)
	switch {
	case !ok:
		return nil, unknownAccountError(c, call.Account)
	case w.key == "":
		return own, nil
	case c.Start == config.StartManual && !own.live.Load().wanted:
		return nil, own.manualStartError()
	}
	r := s.all[runnerKey(own.id, w.key)]
	switch {
	case s.ended:
		return nil, core.Errorf(core.CodeUnavailable, "Drawbridge is stopping")
	case own.retired.Load():
		return nil, core.Errorf(core.CodeNotFound, "there is no server named %q", own.id)
	case c.Disabled, own.needsApproval.Load(), s.paused.Load():
		return own, nil // its error says why it cannot serve
	case r != nil && !r.retired.Load():
		return r, nil
	}
	if err := s.evictIdleInstance(own); err != nil {
		return nil, err
	}
	if r == nil {
		r = newInstance(own, credentials, w)
		s.all[runnerKey(own.id, w.key)] = r
		s.startRunner(r)
		own.addInstance(r)
	} else { // needed again while its process is still being stopped
		r.retired.Store(false)
		r.cfg.Store(credentials)
		r.lastUsed.Store(time.Now().UnixNano())
		r.post(func() { r.applyConfig(false, true) })
	}
	return r, nil
}

// unknownAccountError returns the error of a call that wants an account that the server does not
// have. The call never uses another one instead.
func unknownAccountError(c *config.Server, account string) error {
	return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("server %q has no account %q", c.ID, account),
		Hint: "Add it to the server's 'accounts' in the configuration, or choose another account in the 'accounts' of the profile or client."}
}

func newInstance(own *runner, c *config.Server, w instanceOwner) *runner {
	r := &runner{shared: shared{s: own.s, id: own.id, parent: own, owner: w}}
	r.init(c)
	return r
}

// evictIdleInstance ends the instance that has been idle longest if there are maxInstances. It
// must be called with s.mu held.
func (s *Supervisor) evictIdleInstance(own *runner) error {
	var idle *runner
	active := 0
	for _, r := range own.instances() {
		if r.retired.Load() {
			continue
		}
		active++
		if r.live.Load().inFlight() == 0 && (idle == nil || r.lastUsed.Load() < idle.lastUsed.Load()) {
			idle = r
		}
	}
	if active < maxInstances {
		return nil
	}
	if idle == nil {
		return &core.Error{Code: core.CodeUnavailable, Retriable: true,
			Message: fmt.Sprintf("server %q already has %d instances, and all are busy", own.id, active),
			Hint:    "Wait for a call to end, or set the server's session to shared."}
	}
	idle.retire()
	return nil
}

// retire ends a runner, which is removed once its process has exited.
func (r *runner) retire() {
	r.retired.Store(true)
	r.post(func() { r.applyConfig(false, true) })
}

// retireInstances ends the instances of a server and its calls with a process each.
func (r *shared) retireInstances() {
	r.perCall.cancelAll()
	for _, one := range r.instances() {
		one.retire()
	}
}

// instances returns the current instances, including those that are being stopped.
func (r *shared) instances() []*runner {
	if list := r.instanceList.Load(); list != nil {
		return *list
	}
	return nil
}

// addInstance adds an instance. It must be called with s.mu held.
func (r *shared) addInstance(one *runner) {
	list := append(slices.Clone(r.instances()), one)
	r.instanceList.Store(&list)
}

func (r *shared) removeInstance(one *runner) {
	list := slices.DeleteFunc(slices.Clone(r.instances()), func(o *runner) bool { return o == one })
	r.instanceList.Store(&list)
	r.publishStatus()
}

// EndSession ends the instances of a legacy session that has been deleted. Without it they end
// after their idle timeout.
func (s *Supervisor) EndSession(id string) { s.endInstances("session\x00" + id) }

// EndShim ends the instances of a shim process that has exited. Equal ids with different tokens
// are different shims.
func (s *Supervisor) EndShim(token, id string) { s.endInstances("shim\x00" + token + "\x00" + id) }

// WantsWorkspace reports whether calls of a server need the workspace folder of their client.
func (s *Supervisor) WantsWorkspace(id string) bool {
	r := s.fleet.Load().byID[id]
	if r == nil {
		return false
	}
	c := r.config()
	return c.Session == config.SessionPerRoot || !isShared(c) && c.UsesWorkspace()
}

func (s *Supervisor) endInstances(key string) {
	for _, own := range s.fleet.Load().order {
		for _, one := range own.instances() {
			owned := key
			if one.owner.account != "" {
				owned = "account\x00" + one.owner.account + "\x00" + key
			}
			if one.owner.key == owned || one.owner.key == owned+"\x00"+one.owner.workspace {
				one.retire()
			}
		}
	}
}

func (r *shared) addInstances(st *core.ServerStatus) {
	up, bad := 0, ""
	for _, one := range r.instances() {
		l := one.live.Load()
		in := core.Instance{Name: one.owner.name, Workspace: one.owner.workspace, Account: one.owner.account, State: l.status.State, Reason: l.status.Reason,
			Since: l.status.Since, PID: l.status.PID, InFlight: l.inFlight()}
		st.Instances = append(st.Instances, in)
		st.InFlight += in.InFlight
		switch l.status.State {
		case core.StateRunning:
			up++
			if u := lastHeard(l); u.After(st.Updated) {
				st.Updated = u
			}
		case core.StateStarting, core.StateStopped, core.StatePaused, core.StateDisabled:
		default:
			bad = l.status.Reason // without the name of the instance: the reason is public
		}
	}
	switch {
	case st.State != core.StateRunning && st.State != core.StateStopped: // the state of its own runner has precedence
	case bad != "":
		st.State, st.Reason = core.StateDegraded, "one of its instances: "+bad
	case up > 0:
		st.State, st.Reason = core.StateRunning, "" // st.Instances has the details
	}
}
