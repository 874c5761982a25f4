package registry

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Options configures a Registry. The zero value is valid.
type Options struct {
	Naming Naming // of the aggregate view; Prefixed if empty or unknown
	// Withhold decides which tools of a server are hidden from clients, each with the reason, and
	// whether the server's instructions are hidden too (mute). It runs whenever a server is
	// listed, with all tools that have a valid entry, before any client sees them. It must not
	// call the Registry. A nil Withhold hides nothing.
	Withhold func(server string, tools []core.Item, instructions string) (withheld map[string]string, mute bool)
}

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
	views atomic.Pointer[snapshot]

	mu       sync.Mutex // also held while listeners run, so that they see changes in order
	naming   Naming
	servers  []*registeredServer // in configuration order
	profiles []config.Profile
	onChange []func(Change)
	withhold func(server string, tools []core.Item, instructions string) (map[string]string, bool)
}

type snapshot struct {
	aggregate *View
	byServer  map[string]*View

	// Sources of the views that are computed on first use.
	naming  Naming
	servers []*registeredServer // copies; never modified
	mu      sync.Mutex
	byLimit map[int]*View

	profiles []config.Profile
	byScope  map[scopeKey]*View // guarded by mu
}

// registeredServer is the registry's state for one server.
type registeredServer struct {
	Server
	catalog    *core.Catalog
	rawCatalog *core.Catalog // as the server sent it; catalog omits withheld instructions
	entries    [Kinds][]entry
	templates  []template
	view       *View

	warnings []string          // about Filter entries that match no tool
	withheld map[string]string // reasons, by tool name
}

// New returns a Registry without servers.
func New(o Options) *Registry {
	r := &Registry{naming: o.Naming, withhold: o.Withhold}
	r.rebuild()
	return r
}

// All returns the view of all servers with public names.
func (r *Registry) All() *View { return r.views.Load().aggregate }

// Within returns the view of all servers for a client that accepts names of at most limit
// characters; 0 means MaxPublicName. Names that fit both limits are the same in both views.
func (r *Registry) Within(limit int) *View {
	v := r.views.Load()
	if limit == 0 || limit == MaxPublicName {
		return v.aggregate
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byLimit[limit] == nil {
		if v.byLimit == nil {
			v.byLimit = map[int]*View{}
		}
		v.byLimit[limit] = aggregate(v.naming, v.servers, limit)
	}
	return v.byLimit[limit]
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
	names := make([]core.ServerName, len(offers))
	for i, o := range offers {
		names[i] = core.ServerName{ID: o.Server, Label: o.Label}
	}
	id, _ := core.FindServer(names, text)
	return id
}

// OnChange registers f, which is called after the new Views are visible, one change at a time. f
// must not block and must not call methods that modify the Registry.
func (r *Registry) OnChange(f func(Change)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onChange = append(r.onChange, f)
}

// Arrange sets the naming scheme and the servers, in configuration order. Servers that remain
// keep their catalogs; the others are removed.
func (r *Registry) Arrange(naming Naming, servers []Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.All()
	r.naming = naming
	old := r.servers
	r.servers = make([]*registeredServer, 0, len(servers))
	for _, s := range servers {
		h := findServer(old, s.ID)
		if h == nil {
			h = &registeredServer{}
		}
		reshaped := !h.Filter.Equal(s.Filter)
		if !reshaped {
			s.Filter = h.Filter
		}
		if h.view == nil || h.Server != s {
			h.Server = s
			if reshaped && h.catalog != nil {
				h.prepareEntries(nil)
			}
			h.buildView()
		}
		r.servers = append(r.servers, h)
	}
	r.rebuild()
	r.notify("", before, r.All(), nil)
}

// Set replaces the catalog of a server. A server that is not configured is appended at the end.
// touched lists the kinds that the server itself reported as changed: listeners are notified of
// them even if the lists are identical.
func (r *Registry) Set(server, label string, c *core.Catalog, touched ...core.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := findServer(r.servers, server)
	if h == nil {
		h = &registeredServer{Server: Server{ID: server, Label: label}}
		r.servers = append(r.servers, h)
		h.buildView()
	}
	if label != "" {
		h.Label = label
	}
	r.replaceCatalog(h, c, touched)
}

// Update is like Set, but only for a server that the Registry already has; otherwise it does
// nothing and reports false. This prevents a server that is removed during listing from being
// added again.
func (r *Registry) Update(server string, c *core.Catalog, touched ...core.Kind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := findServer(r.servers, server)
	if h == nil {
		return false
	}
	r.replaceCatalog(h, c, touched)
	return true
}

// replaceCatalog replaces the catalog of h. It must be called with r.mu held.
func (r *Registry) replaceCatalog(h *registeredServer, c *core.Catalog, touched []core.Kind) {
	before, own := r.All(), h.view
	h.rawCatalog, h.catalog = c, c
	h.prepareEntries(r.withhold)
	h.buildView()
	r.rebuild()
	for _, kind := range changedKinds(own, h.view) {
		touched = appendKind(touched, kind)
	}
	r.notify(h.ID, before, r.All(), touched)
}

// Rejudge runs Options.Withhold again for a server that has been listed.
func (r *Registry) Rejudge(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := findServer(r.servers, server); h != nil && h.rawCatalog != nil {
		r.replaceCatalog(h, h.rawCatalog, nil)
	}
}

// Remove removes a server and its catalog.
func (r *Registry) Remove(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if findServer(r.servers, server) == nil {
		return
	}
	before := r.All()
	kept := make([]*registeredServer, 0, len(r.servers))
	for _, h := range r.servers {
		if h.ID != server {
			kept = append(kept, h)
		}
	}
	r.servers = kept
	r.rebuild()
	r.notify(server, before, r.All(), nil)
}

// notify notifies the listeners of a change. It must be called with r.mu held.
func (r *Registry) notify(server string, before, after *View, touched []core.Kind) {
	for _, kind := range changedKinds(before, after) {
		touched = appendKind(touched, kind)
	}
	if len(touched) == 0 {
		return
	}
	for _, f := range r.onChange {
		f(Change{Server: server, Kinds: touched})
	}
}

// rebuild computes the aggregate view and publishes all Views. It must be called with r.mu held,
// or before r is shared.
func (r *Registry) rebuild() {
	v := &snapshot{aggregate: aggregate(r.naming, r.servers, MaxPublicName), byServer: make(map[string]*View, len(r.servers)), naming: r.naming, profiles: r.profiles}
	for _, h := range r.servers {
		v.byServer[h.ID] = h.view
		one := *h
		v.servers = append(v.servers, &one)
	}
	r.views.Store(v)
}

// prepareEntries computes the entries of h's catalog. For a new catalog, withhold is called; a nil
// withhold keeps the previous decision.
func (h *registeredServer) prepareEntries(withhold func(string, []core.Item, string) (map[string]string, bool)) {
	lists := [Kinds][]core.Item{h.catalog.Tools, h.catalog.Prompts, h.catalog.Resources, h.catalog.Templates}
	for i, items := range lists {
		h.entries[i] = prepareItems(items)
	}
	tools := IndexOf(core.Tools)
	if withhold != nil {
		items := make([]core.Item, len(h.entries[tools]))
		for i, e := range h.entries[tools] {
			items[i] = core.Item{Name: e.name, Raw: e.raw}
		}
		var mute bool
		if h.withheld, mute = withhold(h.ID, items, h.rawCatalog.Instructions); mute {
			quiet := *h.rawCatalog
			quiet.Instructions = ""
			h.catalog = &quiet
		}
	}
	for i := range h.entries[tools] {
		h.entries[tools][i].withheld = h.withheld[h.entries[tools][i].name]
	}
	h.entries[tools], h.warnings = applyFilter(h.Filter, h.entries[tools])
	h.templates = nil
	for _, e := range h.entries[IndexOf(core.Templates)] {
		h.templates = append(h.templates, parseTemplate(h.ID, e.name))
	}
}

func findServer(servers []*registeredServer, id string) *registeredServer {
	for _, h := range servers {
		if h.ID == id {
			return h
		}
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
	for _, k := range list {
		if k == kind {
			return list
		}
	}
	return append(list[:len(list):len(list)], kind)
}

// namePrefix returns the text that represents the server in public names.
func (h *registeredServer) namePrefix() string {
	if h.Namespace != "" {
		return h.Namespace
	}
	return h.ID
}

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
