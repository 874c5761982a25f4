package registry

import (
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// scopeKey identifies a view that a profile restricts: one server, or all of them.
type scopeKey struct {
	profile, server string
	limit           int
}

// SetProfiles replaces the profiles and reports whether they changed. Views returned earlier do
// not change.
func (r *Registry) SetProfiles(profiles []config.Profile) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.EqualFunc(r.profiles, profiles, config.Profile.Equal) {
		return false
	}
	r.profiles = slices.Clone(profiles)
	r.rebuild()
	return true
}

// HasProfile reports whether a profile with that name exists.
func (r *Registry) HasProfile(name string) bool {
	return slices.ContainsFunc(r.views.Load().profiles, func(p config.Profile) bool { return p.Name == name })
}

// Profile returns the view of all servers that a profile offers, under the same names as in
// Within(limit). It reports false when there is no such profile.
func (r *Registry) Profile(name string, limit int) (*View, bool) {
	if limit == 0 {
		limit = MaxPublicName
	}
	return r.views.Load().scopedView(scopeKey{profile: name, limit: limit})
}

// ProfileServer returns the view of one server within a profile, with the server's own names. It
// reports false when the profile does not exist or does not include the server.
func (r *Registry) ProfileServer(name, server string) (*View, bool) {
	return r.views.Load().scopedView(scopeKey{profile: name, server: server})
}

func (v *snapshot) scopedView(key scopeKey) (*View, bool) {
	i := slices.IndexFunc(v.profiles, func(p config.Profile) bool { return p.Name == key.profile })
	if i < 0 {
		return nil, false
	}
	p := &v.profiles[i]
	var one *registeredServer
	if key.server != "" {
		j := slices.IndexFunc(v.servers, func(h *registeredServer) bool { return h.ID == key.server })
		if _, in := p.Offers(key.server); j < 0 || !in {
			return nil, false
		}
		one = v.servers[j]
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.byScope[key]; known != nil {
		return known, true
	}
	if v.byScope == nil {
		v.byScope = map[scopeKey]*View{}
	}
	made := aggregateOf(v.naming, v.servers, key.limit, p)
	if one != nil {
		made = one.restrictedView(p)
	}
	v.byScope[key] = made
	return made, true
}

// profileOffers reports whether profile p offers an item of a server. A nil p offers everything.
func profileOffers(p *config.Profile, server string, kind core.Kind, name string) bool {
	if p == nil {
		return true
	}
	s, in := p.Offers(server)
	if !in {
		return false
	}
	switch kind {
	case core.Tools:
		return s.Tools.Hidden(name) == ""
	case core.Prompts:
		return !s.NoPrompts
	}
	return !s.NoResources
}

// restrictedView computes the view of one server within a profile. Items keep their own names.
func (h *registeredServer) restrictedView(p *config.Profile) *View {
	v := &View{server: h.ID, templates: h.templates, scope: p,
		catalogs: []Offer{{Server: h.ID, Label: h.Label, Catalog: h.catalog}}}
	for i, kind := range allKinds {
		v.names[i] = map[string]Target{}
		for _, item := range h.view.items[i] {
			if profileOffers(p, h.ID, kind, item.Name) {
				v.items[i] = append(v.items[i], item)
				v.names[i][item.Public] = item.Target
			}
		}
	}
	for name, t := range h.view.renamed {
		if profileOffers(p, h.ID, core.Tools, name) {
			if v.renamed == nil {
				v.renamed = map[string]Target{}
			}
			v.renamed[name] = t
		}
	}
	for name, w := range h.view.withheld {
		if profileOffers(p, h.ID, core.Tools, w.Name) {
			v.withhold(name, w.Target, w.Why)
		}
	}
	if s, _ := p.Offers(h.ID); s.NoResources {
		v.templates, v.resourcesExcluded = nil, true
	}
	v.resources = v.names[IndexOf(core.Resources)]
	v.unlisted = h.view.unlisted
	v.finalize()
	return v
}

// Draft returns the view of a profile that need not be among the configured ones.
func (r *Registry) Draft(p config.Profile) *View {
	v := r.views.Load()
	return aggregateOf(v.naming, v.servers, MaxPublicName, &p)
}
