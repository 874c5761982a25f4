package registry

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Options configures a Registry. The zero value is valid.
type Options struct {
	// Withhold decides what is hidden from clients. A nil Withhold hides nothing.
	Withhold Withhold
}

// Withhold decides which items of a server are hidden from clients, by kind and name, each with the
// reason, and whether the server's instructions are hidden too (mute). It runs whenever a server is
// listed, with all items that have a valid entry, before any client sees them. It must not call the
// Registry.
type Withhold func(server string, offered *core.Catalog) (withheld map[core.Kind]map[string]string, mute bool)

// Server is the configuration of a server in the Views.
type Server struct {
	ID        string
	Label     string
	Namespace string // replaces the id in public names unless empty
	// Filter selects and renames the tools that clients see; nil offers all of them unchanged.
	Filter *config.Filter
}

// Change reports that the lists of some kinds have changed.
type Change struct {
	Server string // the server whose catalog changed; "" for a configuration change
	Kinds  []core.Kind
}

// Registry holds the catalogs of all servers. Views may be read from any goroutine at any time,
// including from a function registered with OnChange.
type Registry struct {
	withhold Withhold
	views    atomic.Pointer[snapshot]

	mu        sync.Mutex
	naming    Naming
	servers   []*registeredServer // in configuration order
	profiles  []config.Profile
	onChange  []func(Change)
	changes   []Change // for which the listeners have not been called yet
	notifying bool     // a goroutine calls the listeners
}

// snapshot holds the views of one state of the registry. Those of profiles and of clients with
// another limit for names are computed on first use.
type snapshot struct {
	aggregate *View
	byServer  map[string]*View

	naming   Naming
	servers  []*registeredServer // copies; never modified
	uris     *resourceURIs
	profiles []config.Profile

	mu       sync.Mutex
	computed map[viewKey]*View
}

// viewKey identifies a view that is computed on first use. profile is "" for all that is offered;
// server is "" for all servers.
type viewKey struct {
	profile, server string
	limit           int
}

// view returns the view with that key, which compute computes on first use.
func (v *snapshot) view(key viewKey, compute func() *View) *View {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.computed[key] == nil {
		if v.computed == nil {
			v.computed = map[viewKey]*View{}
		}
		v.computed[key] = compute()
	}
	return v.computed[key]
}

type registeredServer struct {
	Server
	catalog    *core.Catalog
	rawCatalog *core.Catalog // as the server sent it; catalog omits withheld instructions
	entries    [Kinds][]entry
	templates  []template
	uris       []string // of the resources that the server lists or that its tools refer to
	view       *View

	warnings []string                        // about Filter entries that match no tool
	withheld map[core.Kind]map[string]string // reasons, by name
}

// New returns a Registry without servers.
func New(o Options) *Registry {
	r := &Registry{withhold: o.Withhold}
	r.rebuild()
	return r
}

// All returns the view of all servers with public names.
func (r *Registry) All() *View { return r.views.Load().aggregate }

// WithNameLimit returns the view of all servers for a client that accepts names of at most limit
// characters; 0 means MaxPublicName. Names that fit both limits are the same in both views.
func (r *Registry) WithNameLimit(limit int) *View {
	v := r.views.Load()
	if limit == 0 || limit == MaxPublicName {
		return v.aggregate
	}
	return v.view(viewKey{limit: limit}, func() *View { return aggregate(v.naming, v.servers, v.uris, limit, nil) })
}

// Server returns the view of one server with its own names. The view exists, empty, as soon as
// the server is configured.
func (r *Registry) Server(id string) (*View, bool) {
	v, ok := r.views.Load().byServer[id]
	return v, ok
}

// Find returns the id of the only server whose id or name matches text, or "" if none or several
// match. See core.FindServer.
func (r *Registry) Find(text string) string {
	if text == "" {
		return ""
	}
	offers := r.All().Offers()
	names := make([]core.ServerIdentity, len(offers))
	for i, o := range offers {
		names[i] = core.ServerIdentity{ID: o.Server, Label: o.Label}
	}
	id, _ := core.FindServer(names, text)
	return id
}

// OnChange registers f, which is called after the new Views are visible, one change at a time and
// without any lock of the Registry. If several goroutines change the Registry, one of them calls f
// for all, so a change may be reported after the method that made it has returned.
func (r *Registry) OnChange(f func(Change)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onChange = append(r.onChange, f)
}

// Configure sets the naming scheme and the servers, in configuration order. Servers that remain
// keep their catalogs; the others are removed.
func (r *Registry) Configure(naming Naming, servers []Server) {
	r.update("", func() ([]core.Kind, bool) {
		r.naming = naming
		old := r.servers
		r.servers = make([]*registeredServer, 0, len(servers))
		for _, s := range servers {
			h := findServer(old, s.ID)
			if h == nil {
				h = &registeredServer{}
			}
			refiltered := !h.Filter.Equal(s.Filter)
			if !refiltered {
				s.Filter = h.Filter
			}
			if h.view == nil || h.Server != s {
				h.Server = s
				if refiltered && h.catalog != nil {
					h.prepareEntries(nil)
				}
				h.buildView()
			}
			r.servers = append(r.servers, h)
		}
		return nil, true
	})
}

// Set replaces the catalog of a server. A server that is not configured is appended at the end.
// touched lists the kinds that the server itself reported as changed: listeners are notified of
// them even if the lists are identical.
func (r *Registry) Set(server, label string, c *core.Catalog, touched ...core.Kind) {
	r.update(server, func() ([]core.Kind, bool) {
		h := findServer(r.servers, server)
		if h == nil {
			h = &registeredServer{Server: Server{ID: server, Label: label}}
			r.servers = append(r.servers, h)
			h.buildView()
		}
		h.Label = cmp.Or(label, h.Label)
		return h.replaceCatalog(c, r.withhold, touched), true
	})
}

// Update is like Set, but only for a server that the Registry already has; otherwise it does
// nothing and reports false. This prevents a server that is removed during listing from being
// added again.
func (r *Registry) Update(server string, c *core.Catalog, touched ...core.Kind) bool {
	return r.update(server, func() ([]core.Kind, bool) {
		h := findServer(r.servers, server)
		if h == nil {
			return nil, false
		}
		return h.replaceCatalog(c, r.withhold, touched), true
	})
}

// ReserveURIs keeps the URIs of a catalog of an earlier run for a server that has not been listed
// yet, so that they do not lead to whichever server is listed first. Nothing of the catalog is
// listed.
func (r *Registry) ReserveURIs(server string, c *core.Catalog) {
	r.update(server, func() ([]core.Kind, bool) {
		h := findServer(r.servers, server)
		if h == nil || h.catalog != nil {
			return nil, false
		}
		var entries [Kinds][]entry
		for i, items := range [Kinds][]core.Item{c.Tools, c.Prompts, c.Resources, c.Templates} {
			entries[i] = prepareItems(items)
		}
		h.collectURIs(entries)
		return nil, true
	})
}

// ReapplyWithhold runs Options.Withhold again for a server that has been listed.
func (r *Registry) ReapplyWithhold(server string) {
	r.update(server, func() ([]core.Kind, bool) {
		h := findServer(r.servers, server)
		if h == nil || h.rawCatalog == nil {
			return nil, false
		}
		return h.replaceCatalog(h.rawCatalog, r.withhold, nil), true
	})
}

// update calls change with r.mu held. If change reports that it changed something, update publishes
// the new Views and notifies the listeners of the kinds whose lists differ and of those in touched.
func (r *Registry) update(server string, change func() (touched []core.Kind, changed bool)) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.All()
	touched, changed := change()
	if !changed {
		return false
	}
	r.rebuild()
	for _, kind := range changedKinds(before, r.All()) {
		touched = appendKind(touched, kind)
	}
	if len(touched) > 0 {
		r.changes = append(r.changes, Change{Server: server, Kinds: touched})
	}
	r.notify()
	return true
}

// notify calls the listeners for each queued change, in order, unless another goroutine does so
// already. It must be called with r.mu held, and releases it during the calls.
func (r *Registry) notify() {
	if r.notifying {
		return
	}
	r.notifying = true
	for len(r.changes) > 0 {
		c, listeners := r.changes[0], r.onChange
		r.changes = r.changes[1:]
		r.mu.Unlock()
		for _, f := range listeners {
			f(c)
		}
		r.mu.Lock()
	}
	r.notifying = false
}

// rebuild computes the aggregate view and publishes all Views. It must be called with r.mu held,
// or before r is shared.
func (r *Registry) rebuild() {
	var before *resourceURIs
	if v := r.views.Load(); v != nil {
		before = v.uris
	}
	uris := newResourceURIs(r.servers, before)
	v := &snapshot{aggregate: aggregate(r.naming, r.servers, uris, MaxPublicName, nil), uris: uris, byServer: make(map[string]*View, len(r.servers)), naming: r.naming, profiles: r.profiles}
	for _, h := range r.servers {
		v.byServer[h.ID] = h.view
		one := *h
		v.servers = append(v.servers, &one)
	}
	r.views.Store(v)
}

func findServer(servers []*registeredServer, id string) *registeredServer {
	if i := slices.IndexFunc(servers, func(h *registeredServer) bool { return h.ID == id }); i >= 0 {
		return servers[i]
	}
	return nil
}

// changedKinds returns the kinds whose lists differ between a and b.
func changedKinds(a, b *View) []core.Kind {
	var list []core.Kind
	for i, kind := range allKinds {
		if string(a.lists[i]) != string(b.lists[i]) {
			list = append(list, kind)
		}
	}
	return list
}

func appendKind(list []core.Kind, kind core.Kind) []core.Kind {
	if slices.Contains(list, kind) {
		return list
	}
	return append(list[:len(list):len(list)], kind)
}

// namePrefix returns the text that represents the server in public names.
func (h *registeredServer) namePrefix() string { return cmp.Or(h.Namespace, h.ID) }

// sharedAffixes returns the affixes that more than one server would use: a namespace equal to
// another server's id, or, under MCP, ids that differ only in '_' and '-'. The configuration
// rejects the former; here both only result in hashed names.
func sharedAffixes(naming Naming, servers []*registeredServer) map[string]bool {
	count := make(map[string]int, len(servers))
	for _, h := range servers {
		before, after := naming.affixes(h.namePrefix())
		count[strings.ToLower(before+after)]++
	}
	result := make(map[string]bool)
	for affix, n := range count {
		if n > 1 {
			result[affix] = true
		}
	}
	return result
}
