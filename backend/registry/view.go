package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// View is what one endpoint offers: all servers with public names, or one server
// with untouched ones. It is immutable, so a reader may keep it as long as it
// likes; nothing a View returns may be changed.
type View struct {
	server    string // of a view of one server
	items     [Kinds][]Item
	lists     [Kinds][]byte
	names     [Kinds]map[string]Target // of tools and prompts
	own       map[string]Target        // in the view of one server: tools that clients call otherwise, by the server's name
	withheld  map[string]Withheld      // tools that clients must not see, by what clients would call them
	resources map[string]Target
	templates []template
	waiting   []unlisted
	catalogs  []Offer
	conflicts map[string][]string
	hash      string
	scope     *config.Profile // that narrows it; nil for none
	closed    bool            // of one server whose resources the profile does not hold

	indexing sync.Once
	index    *index // of tools, made when they are first searched
}

// Offer is a server's own words in a View.
type Offer struct {
	Server, Label string
	Catalog       *core.Catalog // nil while the server has never been listed
}

// unlisted is a server whose tools are not known yet; its names can be guessed.
type unlisted struct {
	server, before, after string
	filter                *config.Filter
}

// Kinds is the number of core.Kinds; IndexOf gives each its place, and -1 to what is none.
const Kinds = 4

var allKinds = [Kinds]core.Kind{core.Tools, core.Prompts, core.Resources, core.Templates}

// IndexOf is the position of kind in arrays of length Kinds.
func IndexOf(kind core.Kind) int {
	switch kind {
	case core.Tools:
		return 0
	case core.Prompts:
		return 1
	case core.Resources:
		return 2
	case core.Templates:
		return 3
	}
	return -1
}

// Lookup finds the tool or prompt that clients know as public. A server that has
// never been listed is given the benefit of the doubt: a name that can only be its
// own leads to it, with a nil Raw, and the server itself will say what it knows.
func (v *View) Lookup(kind core.Kind, public string) (Target, bool) {
	i := IndexOf(kind)
	if i < 0 {
		return Target{}, false
	}
	if t, ok := v.names[i][public]; ok {
		return t, true
	}
	for _, u := range v.waiting {
		tool, ok := strings.CutPrefix(public, u.before)
		if ok {
			tool, ok = strings.CutSuffix(tool, u.after)
		}
		if !ok || tool == "" || !plain(tool) && v.server == "" {
			continue
		}
		if kind == core.Tools {
			if tool, ok = u.filter.Original(tool); !ok || u.filter.Hidden(tool) != "" {
				continue
			}
		}
		if !holds(v.scope, u.server, kind, tool) {
			continue
		}
		return Target{Server: u.server, Name: tool}, true
	}
	return Target{}, false
}

// Own finds a tool or prompt of the view of one server by the server's own name.
func (v *View) Own(kind core.Kind, name string) (Target, bool) {
	if t, ok := v.own[name]; ok && kind == core.Tools {
		return t, true
	}
	t, ok := v.Lookup(kind, name)
	return t, ok && t.Name == name
}

// Resource finds the server that answers for uri: the first in the config's order
// that lists it, else the first with a template that fits. In the view of one
// server every URI leads there, since servers may serve what they do not list.
func (v *View) Resource(uri string) (Target, bool) {
	if t, ok := v.resources[uri]; ok {
		return t, true
	}
	for pass := range matchPasses {
		for i := range v.templates {
			if v.templates[i].match(uri, pass) {
				return Target{Server: v.templates[i].server, Name: uri}, true
			}
		}
	}
	if v.server != "" && uri != "" && !v.closed {
		return Target{Server: v.server, Name: uri}, true
	}
	return Target{}, false
}

// Withheld is a tool that its server offers and clients must not see.
type Withheld struct {
	Target
	Why string // one half of a sentence: "it has changed ..."
}

// Withheld finds a tool that is withheld, by what clients would call it or, in the view
// of one server, by the server's own name.
func (v *View) Withheld(name string) (Withheld, bool) {
	if w, ok := v.withheld[name]; ok {
		return w, true
	}
	if v.server != "" {
		for _, w := range v.withheld {
			if w.Name == name {
				return w, true
			}
		}
	}
	return Withheld{}, false
}

func (v *View) withhold(name string, t Target, why string) {
	if v.withheld == nil {
		v.withheld = map[string]Withheld{}
	}
	v.withheld[name] = Withheld{t, why}
}

// Template finds the server that lists the URI template as it is written, for
// completion of its variables.
func (v *View) Template(uriTemplate string) (Target, bool) {
	for i := range v.templates {
		if v.templates[i].raw == uriTemplate {
			return Target{Server: v.templates[i].server, Name: uriTemplate}, true
		}
	}
	return Target{}, false
}

// Items returns the entries of one kind: servers in the order of the config, each
// with its own order.
func (v *View) Items(kind core.Kind) []Item {
	if i := IndexOf(kind); i >= 0 {
		return v.items[i]
	}
	return nil
}

// ReadOnly reports whether a tool that is offered says of itself that it changes nothing,
// by its server and its server's name for it.
func (v *View) ReadOnly(server, tool string) bool {
	return slices.ContainsFunc(v.Items(core.Tools), func(i Item) bool {
		return i.Server == server && i.Name == tool && i.Hints.ReadOnly == Yes
	})
}

// ListResult returns the whole result of a list request, such as {"tools":[...]},
// compact and without the fields that only one era has.
func (v *View) ListResult(kind core.Kind) []byte {
	if i := IndexOf(kind); i >= 0 {
		return v.lists[i]
	}
	return nil
}

// Offers returns the servers of the View in the order of the config.
func (v *View) Offers() []Offer { return v.catalogs }

// Conflicts says, in sentences, what a server's neighbours in the View stand in the
// way of.
func (v *View) Conflicts(server string) []string { return v.conflicts[server] }

// Hash differs whenever what the View lists differs.
func (v *View) Hash() string { return v.hash }

// seal computes the lists and the hash once all items are in place.
func (v *View) seal() {
	sum := sha256.New()
	for i, kind := range allKinds {
		size := len(kind) + 8
		for _, item := range v.items[i] {
			size += len(item.Raw) + 1
		}
		b := make([]byte, 0, size)
		b = append(b, `{"`...)
		b = append(b, kind...)
		b = append(b, `":[`...)
		for n, item := range v.items[i] {
			if n > 0 {
				b = append(b, ',')
			}
			b = append(b, item.Raw...)
		}
		v.lists[i] = append(b, `]}`...)
		sum.Write(v.lists[i])
		sum.Write([]byte{0})
	}
	v.hash = hex.EncodeToString(sum.Sum(nil)[:16])
}
