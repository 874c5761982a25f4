package registry

import (
	"cmp"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// SetProfiles replaces the profiles and reports whether they changed. Views returned earlier do
// not change.
func (r *Registry) SetProfiles(profiles []config.Profile) (changed bool) {
	return r.update("", func() ([]core.Kind, bool) {
		if slices.EqualFunc(r.profiles, profiles, config.Profile.Equal) {
			return nil, false
		}
		r.profiles = slices.Clone(profiles)
		return nil, true
	})
}

// HasProfile reports whether a profile with that name exists.
func (r *Registry) HasProfile(name string) bool {
	return r.views.Load().profile(name) != nil
}

// Profile returns the view of all servers that a profile offers, under the same names as in
// WithNameLimit(limit). It reports false when there is no such profile.
func (r *Registry) Profile(name string, limit int) (*View, bool) {
	v := r.views.Load()
	p := v.profile(name)
	if p == nil {
		return nil, false
	}
	if limit == 0 {
		limit = MaxPublicName
	}
	return v.view(viewKey{profile: name, limit: limit}, func() *View { return aggregate(v.naming, v.servers, v.uris, limit, p) }), true
}

// ProfileServer returns the view of one server within a profile, with the server's own names. It
// reports false when the profile does not exist or does not include the server.
func (r *Registry) ProfileServer(name, server string) (*View, bool) {
	v := r.views.Load()
	p, h := v.profile(name), findServer(v.servers, server)
	if p == nil || h == nil {
		return nil, false
	}
	if _, in := p.Offers(server); !in {
		return nil, false
	}
	return v.view(viewKey{profile: name, server: server}, func() *View { return h.restrictedView(p) }), true
}

// profile returns a profile, or nil if there is none of that name.
func (v *snapshot) profile(name string) *config.Profile {
	for i := range v.profiles {
		if v.profiles[i].Name == name {
			return &v.profiles[i]
		}
	}
	return nil
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
		return s.Tools.HiddenBy(name) == ""
	case core.Prompts:
		return !s.NoPrompts
	}
	return !s.NoResources
}

// restrictedView computes the view of one server within a profile. Items keep their own names.
func (h *registeredServer) restrictedView(p *config.Profile) *View {
	v := &View{server: h.ID, scope: p, catalogs: []Offer{{Server: h.ID, Label: h.Label, Catalog: h.catalog}}}
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
	for key, w := range h.view.withheld {
		if profileOffers(p, h.ID, key.kind, w.Name) {
			v.withhold(key.kind, key.name, w.Target, w.Why)
		}
	}
	s, _ := p.Offers(h.ID)
	v.resourcesExcluded = s.NoResources
	v.unlisted = h.view.unlisted
	v.finalize()
	return v
}

// Draft is Profile, or with a server ProfileServer, for a profile that need not be among the configured ones.
func (r *Registry) Draft(p config.Profile, server string, limit int) (*View, bool) {
	v := r.views.Load()
	if server == "" {
		return aggregate(v.naming, v.servers, v.uris, cmp.Or(limit, MaxPublicName), &p), true
	}
	h := findServer(v.servers, server)
	if _, in := p.Offers(server); h == nil || !in {
		return nil, false
	}
	return h.restrictedView(&p), true
}

// WithTools returns the view of all servers if one of them listed these tools, none of them withheld.
func (r *Registry) WithTools(server string, tools []core.Item) *View {
	v := r.views.Load()
	servers := slices.Clone(v.servers)
	for i, h := range servers {
		if h.ID == server {
			other := *h
			other.catalog, other.withheld = &core.Catalog{Tools: tools}, nil
			other.prepareEntries(nil)
			servers[i] = &other
		}
	}
	return aggregate(v.naming, servers, v.uris, MaxPublicName, nil)
}
