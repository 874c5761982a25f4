package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// buildView computes the view of one server, whose items keep their own names.
func (h *registeredServer) buildView() {
	v := &View{server: h.ID, catalogs: []Offer{{Server: h.ID, Label: h.Label, Catalog: h.catalog}}}
	for i, kind := range allKinds {
		v.names[i] = make(map[string]Target, len(h.entries[i]))
		for _, e := range h.entries[i] {
			if e.withheld != "" {
				v.withhold(kind, e.visibleName, Target{Server: h.ID, Name: e.name}, e.withheld)
				continue
			}
			t := Target{Server: h.ID, Name: e.name, Raw: e.withName(e.visibleName), Hints: e.hints, odd: e.odd}
			v.items[i] = append(v.items[i], Item{Public: e.visibleName, Target: t})
			v.names[i][e.visibleName] = t
			if e.visibleName != e.name {
				if v.renamed == nil {
					v.renamed = make(map[string]Target)
				}
				v.renamed[e.name] = t
			}
		}
	}
	if h.catalog == nil {
		v.unlisted = []notYetListed{{server: h.ID, filter: h.Filter}}
	}
	v.finalize()
	h.view = v
}

// aggregate computes the view of all servers, with public names of at most limit characters,
// restricted to what profile p offers; a nil p offers everything. Public names are computed over
// all servers, so a tool has the same name in every profile.
func aggregate(naming Naming, servers []*registeredServer, uris *resourceURIs, limit int, p *config.Profile) *View {
	v := &View{uris: uris, scope: p}
	namer := newNamer(naming, servers, limit)
	for i, kind := range allKinds {
		v.names[i] = make(map[string]Target)
		switch kind {
		case core.Tools, core.Prompts:
			v.addNamed(i, namer, servers, p)
		case core.Resources, core.Templates:
			v.addURIs(i, servers)
		}
	}
	for _, h := range servers {
		if p != nil {
			if _, in := p.Offers(h.ID); !in {
				continue
			}
		}
		v.catalogs = append(v.catalogs, Offer{Server: h.ID, Label: h.Label, Catalog: h.catalog})
		if before, after := naming.affixes(h.namePrefix()); h.catalog == nil && before+after != "" {
			v.unlisted = append(v.unlisted, notYetListed{server: h.ID, before: before, after: after, filter: h.Filter})
		}
	}
	v.conflicts = describeConflicts(naming, servers)
	for _, h := range servers {
		if text := uris.conflicts[h.ID]; text != "" {
			v.conflicts[h.ID] = append(v.conflicts[h.ID], text)
		}
		if len(h.warnings) > 0 {
			v.conflicts[h.ID] = append(v.conflicts[h.ID], h.warnings...)
		}
	}
	v.finalize()
	return v
}

// addNamed adds the tools or prompts of all servers under their public names.
func (v *View) addNamed(i int, n *namer, servers []*registeredServer, p *config.Profile) {
	n.countNames(i, servers)
	outside := map[string]bool{} // public names of items outside the profile
	for _, h := range servers {
		for _, e := range h.entries[i] {
			public := n.publicName(h, e.visibleName, 0)
			for round := 1; ; round++ {
				_, taken := v.names[i][public]
				if _, kept := v.withheld[kindName{allKinds[i], public}]; !taken && !outside[public] && !kept {
					break
				}
				public = n.publicName(h, e.visibleName, round) // two hashes collide
			}
			if !profileOffers(p, h.ID, allKinds[i], e.name) {
				outside[public] = true
				continue
			}
			if e.withheld != "" {
				v.withhold(allKinds[i], public, Target{Server: h.ID, Name: e.name}, e.withheld)
				continue
			}
			t := Target{Server: h.ID, Name: e.name, Raw: v.uris.markReferences(h.ID, e.withName(public)), Hints: e.hints, odd: e.odd}
			v.items[i] = append(v.items[i], Item{Public: public, Target: t})
			v.names[i][public] = t
		}
	}
}

// addURIs adds the resources or templates of all servers under their public URIs.
func (v *View) addURIs(i int, servers []*registeredServer) {
	key := map[core.Kind]string{core.Resources: "uri", core.Templates: "uriTemplate"}[allKinds[i]]
	for _, h := range servers {
		if !profileOffers(v.scope, h.ID, allKinds[i], "") {
			continue
		}
		for _, e := range h.entries[i] {
			if e.withheld != "" {
				continue
			}
			public := v.uris.public(h.ID, e.name)
			if allKinds[i] == core.Templates {
				public = v.uris.publicTemplate(h.ID, e.name)
			}
			t := Target{Server: h.ID, Name: e.name, Raw: e.raw, odd: e.odd}
			if public != e.name {
				quoted, _ := json.Marshal(public)
				spans, _ := memberValues(e.raw, key)
				t.Raw = replaceSpans(e.raw, spans, quoted)
			}
			v.items[i] = append(v.items[i], Item{Public: public, Target: t})
			v.names[i][public] = t
		}
	}
}

// namer computes public names under one naming scheme.
type namer struct {
	naming        Naming
	limit         int
	sharedAffixes map[string]bool
	serversByName map[string]int // under Bare: number of servers that have an item of this name
	prefixes      []string       // under Bare: the prefixes of all servers
}

func newNamer(naming Naming, servers []*registeredServer, limit int) *namer {
	n := &namer{naming: naming, limit: limit, sharedAffixes: sharedAffixes(naming, servers)}
	if naming == Bare {
		n.sharedAffixes = sharedAffixes(Prefixed, servers)
		for _, h := range servers {
			before, _ := Prefixed.affixes(h.namePrefix())
			n.prefixes = append(n.prefixes, before)
		}
	}
	return n
}

// countNames prepares the namer for items of one kind.
func (n *namer) countNames(i int, servers []*registeredServer) {
	if n.naming != Bare {
		return
	}
	n.serversByName = make(map[string]int)
	for _, h := range servers {
		for _, e := range h.entries[i] {
			n.serversByName[e.visibleName]++
		}
	}
}

func (n *namer) publicName(h *registeredServer, tool string, round int) string {
	if n.naming == Bare && round == 0 && n.serversByName[tool] == 1 {
		// A bare name that starts with some server's prefix gets a prefix itself, to stay
		// unambiguous.
		if name := publicName(n.limit, "", "", h.ID, tool, false, 0); !n.hasServerPrefix(name) {
			return name
		}
	}
	naming := n.naming
	if naming == Bare {
		naming = Prefixed
	}
	before, after := naming.affixes(h.namePrefix())
	force := round > 0 || n.sharedAffixes[strings.ToLower(before+after)]
	return publicName(n.limit, before, after, h.ID, tool, force, round)
}

func (n *namer) hasServerPrefix(name string) bool {
	for _, before := range n.prefixes {
		if strings.HasPrefix(name, before) {
			return true
		}
	}
	return false
}

// replaceCatalog replaces the catalog of h. It returns the kinds in touched and those whose lists
// have changed.
func (h *registeredServer) replaceCatalog(c *core.Catalog, withhold Withhold, touched []core.Kind) []core.Kind {
	own := h.view
	h.rawCatalog, h.catalog = c, c
	h.prepareEntries(withhold)
	h.buildView()
	for _, kind := range changedKinds(own, h.view) {
		touched = appendKind(touched, kind)
	}
	return touched
}

// prepareEntries computes the entries of h's catalog. For a new catalog, withhold is called; a nil
// withhold keeps the previous decision.
func (h *registeredServer) prepareEntries(withhold Withhold) {
	lists := [Kinds][]core.Item{h.catalog.Tools, h.catalog.Prompts, h.catalog.Resources, h.catalog.Templates}
	for i, items := range lists {
		h.entries[i] = prepareItems(items)
	}
	if withhold != nil {
		offered := &core.Catalog{Instructions: h.rawCatalog.Instructions}
		for i, to := range []*[]core.Item{&offered.Tools, &offered.Prompts, &offered.Resources, &offered.Templates} {
			for _, e := range h.entries[i] {
				*to = append(*to, core.Item{Name: e.name, Raw: e.raw})
			}
		}
		var mute bool
		if h.withheld, mute = withhold(h.ID, offered); mute {
			quiet := *h.rawCatalog
			quiet.Instructions = ""
			h.catalog = &quiet
		}
	}
	for i, kind := range allKinds {
		for n := range h.entries[i] {
			h.entries[i][n].withheld = h.withheld[kind][h.entries[i][n].name]
		}
	}
	tools := IndexOf(core.Tools)
	h.entries[tools], h.warnings = applyFilter(h.Filter, h.entries[tools])
	h.warnings = append(h.warnings, checkEntries(h.ID, h.entries)...)
	h.collectURIs(h.entries)
}

func (h *registeredServer) collectURIs(entries [Kinds][]entry) {
	h.templates, h.uris = nil, nil
	for _, e := range entries[IndexOf(core.Templates)] {
		h.templates = append(h.templates, parseTemplate(h.ID, e.name))
	}
	for _, e := range entries[IndexOf(core.Resources)] {
		h.uris = append(h.uris, e.name)
	}
	for _, e := range entries[IndexOf(core.Tools)] {
		for _, s := range toolReferences(e.raw) {
			h.uris = append(h.uris, unquote(e.raw[s.Start:s.End]))
		}
	}
	slices.Sort(h.uris)
	h.uris = slices.Compact(h.uris)
}

// prepareItems compacts the items of one kind and locates their names. It skips items with invalid
// JSON, without a name, or with a duplicate name, because they could not be called.
func prepareItems(items []core.Item) []entry {
	list := make([]entry, 0, len(items))
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		if item.Name == "" || seen[item.Name] {
			continue
		}
		var b bytes.Buffer
		if json.Compact(&b, item.Raw) != nil {
			continue
		}
		names, err := memberValues(b.Bytes(), "name")
		if err != nil {
			continue
		}
		seen[item.Name] = true
		list = append(list, entry{name: item.Name, visibleName: item.Name, raw: b.Bytes(), nameSpans: names})
	}
	return list
}

// finalize computes the lists and the hash after all items have been added.
func (v *View) finalize() {
	sum := sha256.New()
	for i, kind := range allKinds {
		v.lists[i] = listOf(kind, v.items[i])
		sum.Write(v.lists[i])
		sum.Write([]byte{0})
	}
	v.hash = hex.EncodeToString(sum.Sum(nil)[:16])
	v.legacy, v.modern = v.forEra(core.Legacy), v.forEra(core.Modern)
}

// listOf returns the result of the list request of a kind.
func listOf(kind core.Kind, items []Item) []byte {
	size := len(kind) + 8
	for _, item := range items {
		size += len(item.Raw) + 1
	}
	b := make([]byte, 0, size)
	b = append(b, `{"`...)
	b = append(b, kind...)
	b = append(b, `":[`...)
	for n, item := range items {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, item.Raw...)
	}
	return append(b, `]}`...)
}

// describeConflicts describes the name conflicts between servers in sentences, by the id of the
// affected server: names that could not follow the scheme.
func describeConflicts(naming Naming, servers []*registeredServer) map[string][]string {
	list := map[string][]string{}
	if naming == Bare {
		describeSharedNames(servers, list)
		naming = Prefixed // the fallback of Bare
	}
	same := make(map[string][]*registeredServer, len(servers)) // by lower-case affixes
	affixes := make([]string, len(servers))
	for i, h := range servers {
		before, after := naming.affixes(h.namePrefix())
		affixes[i] = strings.ToLower(before + after)
		same[affixes[i]] = append(same[affixes[i]], h)
	}
	for i, h := range servers {
		for _, o := range same[affixes[i]] {
			if h != o {
				list[h.ID] = append(list[h.ID], fmt.Sprintf("the names of its tools end in a hash, because server %q has the same namespace", o.ID))
			}
		}
	}
	return list
}

// describeSharedNames describes the names that several servers share. Under Bare such a name is
// prefixed for all of them, and it changes for clients when one of the servers is added or removed.
func describeSharedNames(servers []*registeredServer, list map[string][]string) {
	for _, kind := range []core.Kind{core.Tools, core.Prompts} {
		i := IndexOf(kind)
		holders := map[string][]*registeredServer{}
		var names []string
		for _, h := range servers {
			for _, e := range h.entries[i] {
				if len(holders[e.visibleName]) == 0 {
					names = append(names, e.visibleName)
				}
				holders[e.visibleName] = append(holders[e.visibleName], h)
			}
		}
		shared := map[*registeredServer][]string{}
		for _, name := range names {
			if len(holders[name]) > 1 {
				for _, h := range holders[name] {
					shared[h] = append(shared[h], name)
				}
			}
		}
		for _, h := range servers {
			switch n := len(shared[h]); {
			case n == 1:
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%.100q is prefixed with the server's name, because another server has a tool or prompt with that name", shared[h][0]))
			case n > 1:
				list[h.ID] = append(list[h.ID], fmt.Sprintf("%d %s, such as %.100q, are prefixed with the server's name, because other servers have %s with the same names", n, kind, shared[h][0], kind))
			}
		}
	}
}
