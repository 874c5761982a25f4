package registry

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// build computes the view of one server, whose items keep their own names.
func (h *held) build() {
	v := &View{server: h.ID, resources: map[string]Target{}, templates: h.parsed,
		catalogs: []Offer{{Server: h.ID, Label: h.Label, Catalog: h.catalog}}}
	for i := range allKinds {
		v.names[i] = make(map[string]Target, len(h.entries[i]))
		for _, e := range h.entries[i] {
			if e.withheld != "" {
				v.withhold(e.shown, Target{Server: h.ID, Name: e.name}, e.withheld)
				continue
			}
			t := Target{Server: h.ID, Name: e.name, Raw: e.named(e.shown), Hints: e.hints}
			v.items[i] = append(v.items[i], Item{Public: e.shown, Target: t})
			v.names[i][e.shown] = t
			if e.shown != e.name {
				if v.own == nil {
					v.own = make(map[string]Target)
				}
				v.own[e.name] = t
			}
		}
	}
	v.resources = v.names[IndexOf(core.Resources)]
	if h.catalog == nil {
		v.waiting = []unlisted{{server: h.ID, filter: h.Filter}}
	}
	v.seal()
	h.view = v
}

// aggregate computes the view of all servers, with public names of at most limit characters.
func aggregate(naming Naming, servers []*held, limit int) *View {
	return aggregateOf(naming, servers, limit, nil)
}

// aggregateOf is like aggregate, restricted to what profile p offers; a nil p offers everything.
// Public names are computed over all servers, so a tool has the same name in every profile.
func aggregateOf(naming Naming, servers []*held, limit int, p *config.Profile) *View {
	v := &View{resources: map[string]Target{}, scope: p}
	hidden := hidden{}
	namer := newNamer(naming, servers, limit)
	for i, kind := range allKinds {
		v.names[i] = make(map[string]Target)
		switch kind {
		case core.Tools, core.Prompts:
			v.addNamed(i, namer, servers, p)
		case core.Resources, core.Templates:
			v.addURIs(i, servers, hidden, p)
		}
	}
	v.resources = v.names[IndexOf(core.Resources)]
	for _, h := range servers {
		if p != nil {
			s, in := p.Offers(h.ID)
			if !in {
				continue
			}
			if !s.NoResources {
				v.templates = append(v.templates, h.parsed...)
			}
		} else {
			v.templates = append(v.templates, h.parsed...)
		}
		v.catalogs = append(v.catalogs, Offer{Server: h.ID, Label: h.Label, Catalog: h.catalog})
		if before, after := naming.affixes(h.prefix()); h.catalog == nil && before+after != "" {
			v.waiting = append(v.waiting, unlisted{server: h.ID, before: before, after: after, filter: h.Filter})
		}
	}
	v.conflicts = conflicts(naming, servers, hidden)
	for _, h := range servers {
		if len(h.warnings) > 0 {
			v.conflicts[h.ID] = append(v.conflicts[h.ID], h.warnings...)
		}
	}
	v.seal()
	return v
}

// addNamed adds the tools or prompts of all servers under their public names.
func (v *View) addNamed(i int, n *namer, servers []*held, p *config.Profile) {
	n.count(i, servers)
	outside := map[string]bool{} // public names of items outside the profile
	for _, h := range servers {
		for _, e := range h.entries[i] {
			public := n.name(h, e.shown, 0)
			for round := 1; ; round++ {
				_, taken := v.names[i][public]
				if _, kept := v.withheld[public]; !taken && !outside[public] && (!kept || i != IndexOf(core.Tools)) {
					break
				}
				public = n.name(h, e.shown, round) // two hashes collide
			}
			if !holds(p, h.ID, allKinds[i], e.name) {
				outside[public] = true
				continue
			}
			if e.withheld != "" {
				v.withhold(public, Target{Server: h.ID, Name: e.name}, e.withheld)
				continue
			}
			t := Target{Server: h.ID, Name: e.name, Raw: e.named(public), Hints: e.hints}
			v.items[i] = append(v.items[i], Item{Public: public, Target: t})
			v.names[i][public] = t
		}
	}
}

// addURIs adds the resources or templates of all servers under their URIs. An item whose URI an
// earlier server already lists is skipped, because it is unreachable under that URI.
func (v *View) addURIs(i int, servers []*held, hidden hidden, p *config.Profile) {
	for _, h := range servers {
		if !holds(p, h.ID, allKinds[i], "") {
			continue
		}
		for _, e := range h.entries[i] {
			if first, taken := v.names[i][e.name]; taken {
				hidden[[2]string{h.ID, first.Server}] = append(hidden[[2]string{h.ID, first.Server}], e.name)
				continue
			}
			t := Target{Server: h.ID, Name: e.name, Raw: e.raw}
			v.items[i] = append(v.items[i], Item{Public: e.name, Target: t})
			v.names[i][e.name] = t
		}
	}
}

// namer computes public names under one naming scheme.
type namer struct {
	naming  Naming
	limit   int
	crowded map[string]bool
	holders map[string]int // under Bare: number of servers that have an item of this name
	known   []string       // under Bare: the prefixes of all servers
}

func newNamer(naming Naming, servers []*held, limit int) *namer {
	n := &namer{naming: naming, limit: limit, crowded: crowded(naming, servers)}
	if naming == Bare {
		n.crowded = crowded(Prefixed, servers)
		for _, h := range servers {
			before, _ := Prefixed.affixes(h.prefix())
			n.known = append(n.known, before)
		}
	}
	return n
}

// count prepares the namer for items of one kind.
func (n *namer) count(i int, servers []*held) {
	if n.naming != Bare {
		return
	}
	n.holders = make(map[string]int)
	for _, h := range servers {
		for _, e := range h.entries[i] {
			n.holders[e.shown]++
		}
	}
}

func (n *namer) name(h *held, tool string, round int) string {
	if n.naming == Bare && round == 0 && n.holders[tool] == 1 {
		// A bare name that starts with some server's prefix gets a prefix itself, to stay
		// unambiguous.
		if name := publicName(n.limit, "", "", h.ID, tool, false, 0); !n.prefixed(name) {
			return name
		}
	}
	naming := n.naming
	if naming == Bare {
		naming = Prefixed
	}
	before, after := naming.affixes(h.prefix())
	force := round > 0 || n.crowded[strings.ToLower(before+after)]
	return publicName(n.limit, before, after, h.ID, tool, force, round)
}

func (n *namer) prefixed(name string) bool {
	for _, before := range n.known {
		if strings.HasPrefix(name, before) {
			return true
		}
	}
	return false
}
