package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/revision"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// View is what one endpoint offers: all servers with public names, or one server with its own
// names. A View is immutable and may be kept indefinitely; values that its methods return must
// not be modified.
type View struct {
	server            string // set in the view of one server
	items             [Kinds][]Item
	lists             [Kinds][]byte
	names             [Kinds]map[string]Target // items by public name
	renamed           map[string]Target        // in the view of one server: renamed tools, by the server's own name
	withheld          map[kindName]Withheld    // items hidden from clients, by the name that clients would use
	uris              *resourceURIs            // nil in the view of one server
	unlisted          []notYetListed
	catalogs          []Offer
	conflicts         map[string][]string
	hash              string
	scope             *config.Profile // restricts the view; nil if unrestricted
	resourcesExcluded bool            // view of one server whose resources the profile excludes
	legacy, modern    *View           // see ForEra; nil if nothing differs

	indexOnce sync.Once
	index     *index // search index of the tools, built on first use
	derived   sync.Map
}

// Derived returns what compute returns for the view, which it calls once for each key, or a few times if
// callers are concurrent.
func (v *View) Derived(key any, compute func() any) any {
	value, known := v.derived.Load(key)
	if !known {
		value, _ = v.derived.LoadOrStore(key, compute())
	}
	return value
}

// Offer is the catalog of one server in a View.
type Offer struct {
	Server, Label string
	Catalog       *core.Catalog // nil until the server has been listed
}

// notYetListed is a server whose tools are not known yet. Its public names are matched by their
// affixes.
type notYetListed struct {
	server, before, after string
	filter                *config.Filter
}

// Kinds is the number of values of core.Kind.
const Kinds = 4

var allKinds = [Kinds]core.Kind{core.Tools, core.Prompts, core.Resources, core.Templates}

// IndexOf returns the index of kind in arrays of length Kinds, or -1 if kind is unknown.
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

// Lookup returns the target of the tool or prompt that clients call public. If no listed item has
// that name, a name that can only belong to a server that has not been listed resolves to that
// server, with a nil Raw; the server then decides whether it exists.
func (v *View) Lookup(kind core.Kind, public string) (Target, bool) {
	i := IndexOf(kind)
	if i < 0 {
		return Target{}, false
	}
	if t, ok := v.names[i][public]; ok {
		return t, true
	}
	for _, u := range v.unlisted {
		tool, ok := strings.CutPrefix(public, u.before)
		if ok {
			tool, ok = strings.CutSuffix(tool, u.after)
		}
		if !ok || tool == "" || !isPlainName(tool) && v.server == "" {
			continue
		}
		if kind == core.Tools {
			if tool, ok = u.filter.Original(tool); !ok || u.filter.HiddenBy(tool) != "" {
				continue
			}
		}
		if !profileOffers(v.scope, u.server, kind, tool) {
			continue
		}
		return Target{Server: u.server, Name: tool}, true
	}
	return Target{}, false
}

// LookupOwnName returns the target of a tool or prompt by the server's own name, in the view of one
// server.
func (v *View) LookupOwnName(kind core.Kind, name string) (Target, bool) {
	if t, ok := v.renamed[name]; ok && kind == core.Tools {
		return t, true
	}
	t, ok := v.Lookup(kind, name)
	return t, ok && t.Name == name
}

// Resource returns the server that handles a public URI, and the server's own URI. In the view of
// one server every URI leads to that server, because servers may serve resources that they do not
// list.
func (v *View) Resource(uri string) (Target, bool) {
	if v.uris == nil {
		return Target{Server: v.server, Name: uri}, uri != "" && !v.resourcesExcluded
	}
	v.uris.markSeen()
	return v.inScope(v.uris.resolve(uri))
}

// PublicURI returns the URI by which clients know a resource of a server.
func (v *View) PublicURI(server, own string) string {
	if v.uris == nil {
		return own
	}
	return v.uris.publicInResult(server, own)
}

// AppTool returns the tool that an MCP App calls by the server's own name, because an app does not
// know public names. It reports false unless exactly one server of the View has such a tool and an
// app.
func (v *View) AppTool(name string) (found Target, ok bool) {
	apps := map[string]bool{}
	for _, i := range v.Items(core.Tools) {
		apps[i.Server] = apps[i.Server] || len(toolReferences(i.Raw)) > 0
	}
	for _, i := range v.Items(core.Tools) {
		if i.Name != name || !apps[i.Server] {
			continue
		}
		if ok {
			return Target{}, false
		}
		found, ok = i.Target, true
	}
	return found, ok
}

// inScope returns the target of a resource if the profile of the view offers it.
func (v *View) inScope(server, own string, ok bool) (Target, bool) {
	if !ok || !profileOffers(v.scope, server, core.Resources, "") {
		return Target{}, false
	}
	return Target{Server: server, Name: own}, true
}

type kindName struct {
	kind core.Kind
	name string
}

// Withheld is an item that its server offers but clients must not see.
type Withheld struct {
	Target
	Why string // a clause such as "it has changed ..."
}

// Withheld returns the withheld item of a kind that clients would call name. In the view of one
// server, name may also be the server's own name for it.
func (v *View) Withheld(kind core.Kind, name string) (Withheld, bool) {
	if w, ok := v.withheld[kindName{kind, name}]; ok {
		return w, true
	}
	if v.server != "" {
		for key, w := range v.withheld {
			if key.kind == kind && w.Name == name {
				return w, true
			}
		}
	}
	return Withheld{}, false
}

func (v *View) withhold(kind core.Kind, name string, t Target, why string) {
	if v.withheld == nil {
		v.withheld = map[kindName]Withheld{}
	}
	v.withheld[kindName{kind, name}] = Withheld{t, why}
}

// Template returns the server of a template by its public form, and the server's own template. It
// is used for argument completion.
func (v *View) Template(public string) (Target, bool) {
	t, ok := v.names[IndexOf(core.Templates)][public]
	return t, ok
}

// Similar returns the name in the view that is most similar to one that is not, or "" if none is close.
func (v *View) Similar(kind core.Kind, name string) string {
	names := []string{}
	for _, item := range v.Items(kind) {
		names = append(names, item.Public)
	}
	return config.Nearest(name, names)
}

// Items returns the entries of one kind: servers in configuration order, items in the server's
// order.
func (v *View) Items(kind core.Kind) []Item {
	if i := IndexOf(kind); i >= 0 {
		return v.items[i]
	}
	return nil
}

// ReadOnly reports whether the view offers a tool of server, by the server's own name, that is
// annotated as read-only.
func (v *View) ReadOnly(server, tool string) bool {
	return slices.ContainsFunc(v.Items(core.Tools), func(i Item) bool {
		return i.Server == server && i.Name == tool && i.Hints.ReadOnly == Yes
	})
}

// ListResult returns the complete result of a list request, such as {"tools":[...]}, as compact
// JSON without the fields that are specific to one protocol era.
func (v *View) ListResult(kind core.Kind) []byte {
	if i := IndexOf(kind); i >= 0 {
		if v.uris != nil {
			v.uris.markSeen()
		}
		return v.lists[i]
	}
	return nil
}

// Offers returns the servers of the View in configuration order.
func (v *View) Offers() []Offer { return v.catalogs }

// Conflicts describes, in sentences, the name conflicts that affect a server in the View.
func (v *View) Conflicts(server string) []string { return v.conflicts[server] }

// Hash returns a hash of everything that the View lists.
func (v *View) Hash() string { return v.hash }

// ForEra returns the view with the lists that clients of an era can read, for list requests. Tools
// of MCP 2026-07-28 are converted for legacy clients. An item that makes these clients refuse the
// whole list is left out, unless the view is that of its server alone. Names lead to the same
// targets as in v.
func (v *View) ForEra(era core.Era) *View {
	other := v.modern
	if era == core.Legacy {
		other = v.legacy
	}
	if other == nil {
		return v
	}
	return other
}

// forEra computes ForEra; nil if the lists are the same.
func (v *View) forEra(era core.Era) *View {
	differs := false
	other := &View{server: v.server, items: v.items, lists: v.lists, names: v.names, renamed: v.renamed, withheld: v.withheld,
		uris: v.uris, unlisted: v.unlisted, catalogs: v.catalogs, conflicts: v.conflicts, scope: v.scope, resourcesExcluded: v.resourcesExcluded, hash: v.hash}
	for i, kind := range allKinds {
		affected := func(item Item) bool {
			return item.odd != nil && (item.odd.Converts && era == core.Legacy || item.odd.Unreadable != "" && v.server == "")
		}
		if !slices.ContainsFunc(v.items[i], affected) {
			continue
		}
		differs = true
		items := make([]Item, 0, len(v.items[i]))
		for _, item := range v.items[i] {
			if affected(item) {
				if item.odd.Unreadable != "" {
					continue
				}
				item.Raw = revision.ForLegacy(kind, item.Raw)
			}
			items = append(items, item)
		}
		other.items[i], other.lists[i] = items, listOf(kind, items)
	}
	if !differs {
		return nil
	}
	return other
}

// checkEntries repairs the entries of a server that some clients cannot read, and returns what the
// user should know about them.
func checkEntries(server string, entries [Kinds][]entry) (warnings []string) {
	for i, kind := range allKinds {
		var omitted, problems problemList
		for n := range entries[i] {
			e := &entries[i][n]
			var raw []byte
			raw, e.odd = revision.Check(kind, e.raw)
			if string(raw) != string(e.raw) {
				e.raw = raw
				e.nameSpans, _ = memberValues(raw, "name")
			}
			if kind == core.Tools {
				for _, text := range revision.ModelAPIProblems(raw) {
					problems.add(text, e.name)
				}
			}
			if e.odd == nil {
				continue
			}
			for _, text := range e.odd.Repairs {
				problems.add(text, e.name)
			}
			if e.odd.Unreadable != "" {
				omitted.add(fmt.Sprintf("%s; no client gets it at /mcp and in profiles, because clients would refuse the whole list (it is passed on as it is at /s/%s/mcp)", e.odd.Unreadable, server), e.name)
			}
		}
		warnings = append(append(warnings, omitted.describe(kind)...), problems.describe(kind)...)
	}
	return warnings
}

// problemList groups the items of one list by their problem.
type problemList struct {
	texts []string
	names map[string][]string
}

func (l *problemList) add(text, name string) {
	if l.names == nil {
		l.names = map[string][]string{}
	}
	if l.names[text] == nil {
		l.texts = append(l.texts, text)
	}
	l.names[text] = append(l.names[text], name)
}

const (
	maxProblems     = 10 // problems that are described
	maxProblemNames = 3  // items that are named for each
)

// nouns are the words for an item of each kind.
var nouns = map[core.Kind]string{core.Tools: "tool", core.Prompts: "prompt", core.Resources: "resource", core.Templates: "resource template"}

func (l *problemList) describe(kind core.Kind) (warnings []string) {
	for i, text := range l.texts {
		if i == maxProblems {
			return append(warnings, fmt.Sprintf("%d more problems of %ss", len(l.texts)-i, nouns[kind]))
		}
		var names []string
		for _, name := range l.names[text][:min(maxProblemNames, len(l.names[text]))] {
			names = append(names, fmt.Sprintf("%.100q", name))
		}
		which := nouns[kind] + " " + names[0]
		if n := len(l.names[text]); n > 1 {
			which = fmt.Sprintf("%d %ss (%s", n, nouns[kind], strings.Join(names, ", "))
			if n > len(names) {
				which += ", …"
			}
			which += ")"
		}
		warnings = append(warnings, which+": "+text)
	}
	return warnings
}

// Item is an entry of a list as clients see it.
type Item struct {
	Public string // the name that clients use; the URI for resources and templates
	Target
}

// Target is the item that a public name resolves to.
type Target struct {
	Server string           // server id
	Name   string           // the server's own name for the item, or the URI
	Raw    json.RawMessage  // the entry as clients see it; nil until the server has been listed
	Hints  Hints            // tools only
	odd    *revision.Oddity // nil if clients of every revision can read Raw
}

// Definition returns the raw tool as clients of an era can read it.
func (t Target) Definition(era core.Era) json.RawMessage {
	if era != core.Legacy || t.odd == nil || !t.odd.Converts {
		return t.Raw
	}
	return revision.ForLegacy(core.Tools, t.Raw)
}

// WrapsOutput reports whether legacy clients get the structured content of the tool wrapped,
// whatever it is.
func (t Target) WrapsOutput() bool {
	return t.odd != nil && t.odd.Converts && revision.WrapsOutput(t.Raw)
}

// entry is an item of a server's catalog, prepared for lists.
type entry struct {
	name        string
	visibleName string          // the name that clients see, without the server's prefix
	raw         json.RawMessage // compacted JSON from the server
	nameSpans   []core.Span     // values of the top-level "name" members in raw
	hints       Hints
	odd         *revision.Oddity
	// withheld is the reason why clients must not see the item, or "". A withheld item still
	// reserves its name, so that the names of other items do not depend on it.
	withheld string
}

// withName returns e's raw JSON with its name replaced by name; all other bytes are unchanged.
func (e entry) withName(name string) json.RawMessage {
	if name == e.name {
		return e.raw
	}
	quoted, err := json.Marshal(name)
	if err != nil || len(e.nameSpans) == 0 {
		return e.raw
	}
	return replaceSpans(e.raw, e.nameSpans, quoted)
}

// memberValues returns the spans of the values of all top-level members named key. A server may
// repeat a key, so there can be more than one. It runs once per catalog and is not optimized.
func memberValues(raw []byte, key string) ([]core.Span, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var spans []core.Span
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if k == key {
			end := int(d.InputOffset())
			spans = append(spans, core.Span{Start: end - len(v), End: end})
		}
	}
	return spans, nil
}
