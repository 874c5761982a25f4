package bridge

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Where the server name is added to the tools of the aggregate endpoint.
const (
	describeTitle       = "title"
	describeDescription = "description"
)

// toolListing is the tool list of the aggregate endpoint: the tools of a view with the names of
// their servers, and our own tools if they are enabled. It is rebuilt when one of these changes.
type toolListing struct {
	view, builtin *registry.View // builtin is nil if its tools are not listed
	mode          string
	limited       bool // for clients that limit results
	tools         []byte
}

// aggregateTools returns the tools of the aggregate as a whole list result.
func (b *Bridge) aggregateTools(ep endpoint, v *registry.View) []byte {
	mode, builtin := ep.toolMode, b.builtinView(ep)
	if mode == "" && b.DescribeServer != nil {
		mode = b.DescribeServer()
	}
	plain := v.ListResult(core.Tools)
	limited := ep.maxResult > 0
	if ep.toolMode == "" && mode != describeTitle && mode != describeDescription && builtin == nil && !limited {
		return plain
	}
	if tools := b.listings.find(v, builtin, mode, limited); tools != nil {
		return tools
	}
	if ep.toolMode != "" {
		tools := b.searchListing(ep, v, builtin)
		b.listings.store(toolListing{view: v, builtin: builtin, mode: mode, limited: limited, tools: tools})
		return tools
	}
	labels := map[string]string{}
	for _, offer := range v.Offers() {
		labels[offer.Server] = cmp.Or(offer.Label, offer.Server)
	}
	tools := append(make([]byte, 0, len(plain)+len(plain)/8), `{"tools":[`...)
	add := func(raw []byte) {
		if tools[len(tools)-1] != '[' {
			tools = append(tools, ',')
		}
		if limited {
			raw = withoutOutputSchema(raw)
		}
		tools = append(tools, raw...)
	}
	for _, item := range v.Items(core.Tools) {
		add(annotateTool(item, mode, labels[item.Server]))
	}
	if builtin != nil {
		for _, item := range builtin.Items(core.Tools) {
			if _, taken := v.Lookup(core.Tools, item.Public); !taken {
				add(item.Raw)
			}
		}
	}
	if limited {
		add(readResultTool)
	}
	tools = append(tools, `]}`...)
	b.listings.store(toolListing{view: v, builtin: builtin, mode: mode, limited: limited, tools: tools})
	return tools
}

// toolListings caches the lists that were built last. Few are in use at the same time: one for
// each name limit and each profile of the connected clients. The zero value is ready to use.
type toolListings struct {
	mu     sync.Mutex
	recent [16]toolListing
	next   int
}

func (l *toolListings) find(v, builtin *registry.View, mode string, limited bool) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.recent {
		if listing := &l.recent[i]; listing.view == v && listing.builtin == builtin && listing.mode == mode && listing.limited == limited {
			return listing.tools
		}
	}
	return nil
}

func (l *toolListings) store(listing toolListing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent[l.next] = listing
	l.next = (l.next + 1) % len(l.recent)
}

// annotateTool returns the definition of a tool with the name of its server in front of the title
// or description. All other bytes stay unchanged.
func annotateTool(item registry.Item, mode, server string) []byte {
	raw := item.Raw
	found, err := wire.Pick(raw, "title", "description", "annotations", "name")
	title, description, annotations, name := found[0], found[1], found[2], found[3]
	if err != nil || name.Empty() || server == "" || mode != describeTitle && mode != describeDescription {
		return raw
	}
	var edits []wire.Edit
	set := func(key string, at core.Span, text string) {
		with := wire.AppendString(nil, text)
		if at.Empty() { // insert it after the name
			at = core.Span{Start: name.End, End: name.End}
			with = append([]byte(`,"`+key+`":`), with...)
		}
		edits = append(edits, wire.Edit{Span: at, With: with})
	}
	if mode == describeDescription {
		text, _ := wire.Unquote(wire.Bytes(raw, description))
		set("description", description, strings.TrimSpace("["+server+"] "+text))
		return wire.Splice(nil, raw, edits...)
	}
	// Before revision 2025-06-18 the title was in the annotations, and some clients still show that
	// one.
	var hint core.Span
	if found, _ := wire.Pick(wire.Bytes(raw, annotations), "title"); !found[0].Empty() {
		hint = core.Span{Start: annotations.Start + found[0].Start, End: annotations.Start + found[0].End}
	}
	shown, _ := wire.Unquote(wire.Bytes(raw, title))
	old, _ := wire.Unquote(wire.Bytes(raw, hint))
	set("title", title, server+": "+cmp.Or(shown, old, item.Name))
	if old != "" {
		set("title", hint, server+": "+old)
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return wire.Splice(nil, raw, edits...)
}

// listResult returns the result of a list request.
func (b *Bridge) listResult(ep endpoint, view *registry.View, kind core.Kind) []byte {
	if kind == core.Tools && ep.server == "" {
		return b.aggregateTools(ep, view)
	}
	return view.ListResult(kind)
}
