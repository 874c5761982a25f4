package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
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

// toolListing is the tool list of an endpoint: the tools of a view, with the names of their servers and
// our own tools if there are several. It is rebuilt when one of these changes.
type toolListing struct {
	view, builtin *registry.View // builtin is nil if its tools are not listed
	mode          string
	limited       bool // without outputSchema, for clients that do not get every structuredContent
	truncated     bool // for clients whose results are truncated
	limits        ClientLimits
	used          *UsedTools
	tools         []byte
}

// same reports whether l was built from the same as other.
func (l toolListing) same(other toolListing) bool {
	return l.view == other.view && l.builtin == other.builtin && l.mode == other.mode && l.limited == other.limited && l.truncated == other.truncated && l.limits == other.limits && l.used == other.used
}

// describes returns where tools name their server.
func (vs *views) describes() string {
	if vs.DescribeServer == nil {
		return ""
	}
	return vs.DescribeServer()
}

// labelsOf returns the names of the servers of a view.
func labelsOf(v *registry.View) map[string]string {
	labels := map[string]string{}
	for _, offer := range v.Offers() {
		labels[offer.Server] = cmp.Or(offer.Label, offer.Server)
	}
	return labels
}

// toolList returns the tools of an endpoint as a whole list result.
func (vs *views) toolList(ep endpoint, v *registry.View) []byte {
	mode, builtin := ep.toolMode, vs.builtinView(ep)
	if mode == "" && ep.server == "" {
		mode = vs.describes()
	}
	plain := v.ListResult(core.Tools)
	truncated := ep.maxResult > 0
	limited := truncated || ep.singleCopy
	if ep.toolMode == "" && mode != describeTitle && mode != describeDescription && builtin == nil && !limited && ep.limits == (ClientLimits{}) && ep.used == nil {
		return plain
	}
	listing := toolListing{view: v, builtin: builtin, mode: mode, limited: limited, truncated: truncated, limits: ep.limits, used: ep.used}
	if tools := vs.listings.find(listing); tools != nil {
		return tools
	}
	if ep.toolMode != "" {
		listing.tools = searchListing(ep, v, builtin)
		vs.listings.store(listing)
		return listing.tools
	}
	_, shortened := sharedInstructions(ep, v.Offers())
	labels := labelsOf(v)
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
	items, pinned := ep.pinnedFirst(v.Items(core.Tools))
	for i, item := range items {
		raw, short := ep.withinLimits(annotateTool(item, mode, labels[item.Server]), item.Public, i < pinned)
		shortened = shortened || short
		add(raw)
	}
	if builtin != nil {
		for _, item := range builtin.Items(core.Tools) {
			if _, taken := v.Lookup(core.Tools, item.Public); !taken {
				add(item.Raw)
			}
		}
	}
	if truncated {
		add(readResultTool)
	}
	if shortened {
		add(readMoreTool)
	}
	listing.tools = append(tools, `]}`...)
	vs.listings.store(listing)
	return listing.tools
}

// toolListings caches the lists that were built last. Few are in use at the same time: one for
// each name limit and each profile of the connected clients. The zero value is ready to use.
type toolListings struct {
	mu     sync.Mutex
	recent [16]toolListing
	next   int
}

func (l *toolListings) find(wanted toolListing) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.recent {
		if listing := &l.recent[i]; listing.same(wanted) {
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

func (vs *views) listResult(ep endpoint, view *registry.View, kind core.Kind) []byte {
	if kind == core.Tools {
		return vs.toolList(ep, view)
	}
	return view.ListResult(kind)
}

// The tools that are listed instead of the others in the modes ToolsSearch and ToolsDeferred.
const (
	findTools     = "find_tools"
	callTool      = "call_tool"
	describeTools = "describe_tools"
)

const (
	// builtinServer is the server id under which calls of find_tools and describe_tools are
	// recorded; call_tool is recorded as the tool that it calls.
	builtinServer        = "drawbridge"
	defaultSearchResults = 5
	maxSearchResults     = 20
	// leastScore is the part of the best score that a tool needs to be in an answer without a limit.
	leastScore = 1.0 / 3
	// maxDescriptionBytes bounds one result in bytes. Tools that do not fit are listed without
	// their schema.
	maxDescriptionBytes = 64 << 10
	maxSummaryBytes     = 160
)

// searchListing returns the tools/list result for the modes ToolsSearch and ToolsDeferred.
func searchListing(ep endpoint, v *registry.View, builtin *registry.View) []byte {
	items, _ := ep.pinnedFirst(v.Items(core.Tools))
	if builtin != nil {
		items = slices.Concat(items, builtin.Items(core.Tools))
	}
	var servers []string
	for _, o := range v.Offers() {
		servers = append(servers, o.Server)
	}
	summary := strconv.Itoa(len(items)) + " tools of " + joinBounded(servers)
	end := []byte("]}")
	if ep.maxResult > 0 {
		end = append(append([]byte{','}, readResultTool...), end...)
	}
	if _, shortened := sharedInstructions(ep, v.Offers()); shortened {
		end = append(append([]byte{','}, readMoreTool...), end...)
	}
	if ep.toolMode == ToolsSearch {
		return []byte(`{"tools":[` + string(toolDefinition(findTools, "Find tools",
			"Finds the tools for a task among "+summary+". Describe in a few words what you want to do; the result has one line for each tool: its name, its arguments (? marks those that may be left out; those without a type are strings) and what it does. Then use "+callTool+" to call the tool that fits.",
			`{"type":"object","properties":{"query":{"type":"string","description":"What you want to do, in plain words, or the exact name of a tool"},"server":{"type":"string","description":"Only tools of this server"},"limit":{"type":"integer","minimum":1,"maximum":20,"description":"Maximum number of tools; default: 5"},"names":{"type":"array","items":{"type":"string"},"maxItems":20,"description":"Instead of a query: names of tools whose complete definitions you need"}}}`, true)) +
			`,` + string(toolDefinition(callTool, "Call a tool",
			"Calls a tool that "+findTools+" has found, with arguments that fit its input schema.",
			`{"type":"object","properties":{"name":{"type":"string","description":"Name of the tool, as returned by `+findTools+`"},"arguments":{"type":"object","description":"The arguments of the tool","additionalProperties":true}},"required":["name"]}`, false)) + string(end))
	}
	out := []byte(`{"tools":[`)
	for _, item := range items {
		out = append(append(out, summarizeTool(item)...), ',')
	}
	return append(append(out, toolDefinition(describeTools, "Describe tools",
		"Returns the full descriptions and input schemas of tools; the list contains only one line for each. Call this before you call a tool for the first time.",
		`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":20,"description":"Names of tools in the list"}},"required":["names"]}`, true)...), end...)
}

// joinBounded joins at most 40 names.
func joinBounded(names []string) string {
	const most = 40
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more servers"
	}
	return strings.Join(names, ", ")
}

func toolDefinition(name, title, description, schema string, readOnly bool) []byte {
	out := append([]byte(`{"name":`), wire.AppendString(nil, name)...)
	out = append(out, `,"title":`...)
	out = wire.AppendString(out, title)
	out = append(out, `,"description":`...)
	out = wire.AppendString(out, description)
	out = append(append(out, `,"inputSchema":`...), schema...)
	if readOnly {
		out = append(out, `,"annotations":{"readOnlyHint":true,"openWorldHint":false}`...)
	}
	return append(out, '}')
}

// summarizeTool returns a tool definition with the first sentence of the description and without
// the schema. The annotations are included, because clients decide by them whether to ask the user.
func summarizeTool(item registry.Item) []byte {
	description, annotations := toolParts(item.Raw)
	out := append([]byte(`{"name":`), wire.AppendString(nil, item.Public)...)
	if line := firstSentence(description); line != "" {
		out = append(out, `,"description":`...)
		out = wire.AppendString(out, line)
	}
	out = append(out, `,"inputSchema":{"type":"object"}`...)
	if len(annotations) > 0 {
		out = append(append(out, `,"annotations":`...), annotations...)
	}
	return append(out, '}')
}

func toolParts(raw []byte) (description string, annotations []byte) {
	found, _ := wire.Pick(raw, "description", "annotations")
	description, _ = wire.Unquote(wire.Bytes(raw, found[0]))
	return description, wire.Bytes(raw, found[1])
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return core.ShortenBytes(text, maxSummaryBytes)
}

// unwrapCallTool rewrites a call of call_tool to a call of the tool that it names, and leaves all
// other bytes unchanged. The result does not differ from a direct call: policy, recording and
// approval apply to the real tool. Other requests are returned as they are.
func unwrapCallTool(rq *request) (*request, *rpcError) {
	if !rq.endpoint.offers(ToolsSearch) || rq.method != "tools/call" || calledName(rq) != callTool {
		return rq, nil
	}
	inner := wire.Bytes(rq.params, rq.spans.Arguments)
	if len(inner) == 0 || inner[0] != '{' {
		return nil, newError(codeInvalidParams, callTool+" requires the name of a tool and its arguments")
	}
	found, err := wire.Pick(inner, "name", "arguments")
	public, ok := wire.Unquote(wire.Bytes(inner, found[0]))
	with := wire.Bytes(inner, found[1])
	if text, isText := wire.Unquote(with); isText && strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)) {
		with = []byte(strings.TrimSpace(text)) // models sometimes encode the arguments as a string
	}
	if len(with) == 0 || string(with) == "null" {
		with = []byte("{}")
	}
	if err != nil || !ok || public == "" || with[0] != '{' {
		return nil, newError(codeInvalidParams, callTool+" requires the name of a tool and its arguments as an object")
	}
	edits := []wire.Edit{{Span: rq.spans.Name, With: wire.AppendString(nil, public)}, {Span: rq.spans.Arguments, With: with}}
	if edits[0].Span.Start > edits[1].Span.Start {
		edits[0], edits[1] = edits[1], edits[0]
	}
	unwrapped := *rq
	unwrapped.fromCallTool = true
	unwrapped.params = wire.Splice(nil, rq.params, edits...)
	spans, err := wire.ScanParams(unwrapped.params)
	if unwrapped.spans = &spans; err != nil {
		return nil, newError(codeInvalidParams, "cannot parse the arguments")
	}
	return &unwrapped, nil
}

func calledName(rq *request) string {
	name, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.Name))
	return name
}

// localTool returns the implementation of find_tools, describe_tools or readResult, or nil if rq
// calls none of them. The gateway runs it like any other call.
func (vs *views) localTool(rq *request) func(context.Context) core.Reply {
	if rq.method != "tools/call" {
		return nil
	}
	switch name := calledName(rq); {
	case rq.endpoint.maxResult > 0 && name == readResult:
		return func(ctx context.Context) core.Reply { return vs.readStoredResult(ctx, rq) }
	case rq.endpoint.limits != ClientLimits{} && name == readMore:
		return func(context.Context) core.Reply { return vs.readWhole(rq) }
	case rq.fromCallTool:
	case rq.endpoint.offers(ToolsSearch) && name == findTools:
		return func(context.Context) core.Reply { return vs.searchTools(rq) }
	case rq.endpoint.offers(ToolsDeferred) && name == describeTools:
		return func(context.Context) core.Reply { return vs.describeRequested(rq) }
	}
	return nil
}

func (vs *views) searchTools(rq *request) core.Reply {
	var in struct {
		Query  string `json:"query"`
		Server string `json:"server"`
		Limit  int    `json:"limit"`
		namedTools
	}
	if raw := wire.Bytes(rq.params, rq.spans.Arguments); len(raw) == 0 || json.Unmarshal(raw, &in) != nil || strings.TrimSpace(in.Query) == "" && in.Server == "" && !in.valid() {
		return errorTextResult(findTools + ` requires a query, such as {"query":"send a message"}`)
	}
	if in.valid() {
		return vs.definitions(rq, in.Names)
	}
	limit := min(cmp.Or(max(in.Limit, 0), defaultSearchResults), maxSearchResults)
	views := []*registry.View{vs.of(rq.endpoint, rq.client.Token)}
	if builtin := vs.builtinView(rq.endpoint); builtin != nil {
		views = append(views, builtin)
	}
	var found []registry.Found
	for _, v := range views {
		found = append(found, v.Find(in.Query, in.Server, 2*limit)...)
	}
	if rq.endpoint.used != nil {
		for i, f := range found { // of tools that fit about equally, the one that the client uses
			calls := (*rq.endpoint.used)[[2]string{f.Item.Server, f.Item.Name}]
			found[i].Score *= 1 + min(0.05*math.Log2(1+float64(calls)), 0.3)
		}
	}
	slices.SortStableFunc(found, func(a, b registry.Found) int { return cmp.Compare(b.Score, a.Score) })
	var lines []string
	for _, f := range found[:min(limit, len(found))] {
		if in.Limit == 0 && f.Score < found[0].Score*leastScore {
			break
		}
		lines = append(lines, signature(f.Item))
	}
	if len(lines) == 0 {
		var servers []string
		for _, o := range views[0].Offers() {
			servers = append(servers, o.Server)
		}
		return textResult("No tool found. Use other words, or choose a server: " + joinBounded(servers))
	}
	return textResult(strings.Join(lines, "\n"))
}

// namedTools are arguments that name the tools to describe.
type namedTools struct {
	Names []string `json:"names"`
}

func (n namedTools) valid() bool { return len(n.Names) > 0 && len(n.Names) <= maxSearchResults }

func (vs *views) describeRequested(rq *request) core.Reply {
	var in namedTools
	if raw := wire.Bytes(rq.params, rq.spans.Arguments); len(raw) == 0 || json.Unmarshal(raw, &in) != nil || !in.valid() {
		return errorTextResult(describeTools + ` requires names of tools (at most 20), such as {"names":["files__read"]}`)
	}
	return vs.definitions(rq, in.Names)
}

// definitions returns the complete definitions of the named tools.
func (vs *views) definitions(rq *request, names []string) core.Reply {
	view := vs.of(rq.endpoint, rq.client.Token)
	var items []registry.Item
	for _, name := range names {
		t, ok := view.Lookup(core.Tools, name)
		if builtin := vs.builtinView(rq.endpoint); !ok && builtin != nil {
			t, ok = builtin.Lookup(core.Tools, name)
		}
		if !ok || t.Raw == nil {
			return errorTextResult("there is no tool named " + shorten(name))
		}
		items = append(items, registry.Item{Public: name, Target: t})
	}
	return definitionsResult(rq, items)
}

// builtinView returns the view of the built-in server if its tools are listed with the others, or
// nil.
func (vs *views) builtinView(ep endpoint) *registry.View {
	if ep.server == "" && ep.scope == "" && vs.Builtin != nil && vs.BuiltinTools != nil && vs.BuiltinTools() {
		return vs.Builtin.All()
	}
	return nil
}

// definitionsResult returns the definitions of tools as a text result, one per line.
func definitionsResult(rq *request, items []registry.Item) core.Reply {
	var text strings.Builder
	for i, item := range items {
		raw := []byte(item.Definition(rq.era))
		if !hasExtension(rq.capabilities, appsExtension) {
			raw, _ = toolWithoutApp(raw)
		}
		if i > 0 && text.Len()+len(raw) > maxDescriptionBytes {
			description, _ := toolParts(raw)
			raw = toolDefinition(item.Public, "", firstSentence(description)+" (Its input schema is too large to return with others: request this tool separately.)", `{}`, false)
		}
		text.Write(raw)
		text.WriteByte('\n')
	}
	return textResult(text.String())
}

func textResult(text string) core.Reply {
	return core.Reply{Result: append(wire.AppendString([]byte(`{"content":[{"type":"text","text":`), text), `}]}`...)}
}

func errorTextResult(text string) core.Reply {
	return core.Reply{Result: append(wire.AppendString([]byte(`{"content":[{"type":"text","text":`), text), `}],"isError":true}`...)}
}
