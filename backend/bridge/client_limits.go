package bridge

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// ClientLimits are the limits that a client applies to a server without telling anybody: it cuts or
// drops what exceeds them. They apply where the servers of a client are merged. Lengths are in
// UTF-16 code units, as most clients count. The zero value means that no limit is known.
type ClientLimits struct {
	Name              int    // of the name of a tool or prompt
	Instructions      int    // of the instructions
	Description       int    // of the description of a tool
	PinnedDescription int    // the same, of a tool with PinKey
	PinKey            string // the _meta key for tools that a client with a tool search of its own loads at once
	SearchesItself    bool   // whether the client has a tool search of its own
	Tools             int    // the number of tools that it supports
}

// readMore is listed for clients for which something is shortened, and returns the whole text.
const readMore = "drawbridge__read_more"

var readMoreTool = toolDefinition(readMore, "Read a shortened text",
	"Returns the whole instructions of a server, or the whole description of a tool, of which you have only the beginning.",
	`{"type":"object","properties":{"server":{"type":"string","description":"Name of the server, as in the instructions"},"tool":{"type":"string","description":"Name of the tool, as in the list"}}}`, true)

// units returns the length of s in UTF-16 code units.
func units(s string) (n int) {
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// DescriptionUnits returns the length of the description of a raw tool in UTF-16 code units.
func DescriptionUnits(raw json.RawMessage) int {
	description, _ := toolParts(raw)
	return units(description)
}

// exceeds reports whether s is longer than limit; 0 is no limit.
func exceeds(s string, limit int) bool { return limit > 0 && len(s) > limit && units(s) > limit }

const ellipsis = " …"

// cutText returns the beginning of s in at most limit units. It ends with a sentence if one ends in
// the second half, else with a word.
func cutText(s string, limit int) string {
	if units(s) <= limit {
		return s
	}
	limit -= len([]rune(ellipsis))
	end, sentence, word, n := 0, 0, 0, 0
	for i, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
		if n > limit {
			break
		}
		switch end = i + len(string(r)); {
		case r == '\n' || strings.ContainsRune(".!?。！？", r) && (end == len(s) || strings.ContainsRune(" \n\t", rune(s[end])) || r > 0x7F):
			sentence = end
		case r == ' ':
			word = i
		}
	}
	switch {
	case sentence >= end/2 && sentence > 0:
		end = sentence
	case word >= end/2 && word > 0:
		end = word
	}
	return strings.TrimSpace(s[:end]) + ellipsis
}

// endpointInstructions returns the instructions of the servers: unchanged for one server, with a
// heading for each server where they are merged. If they exceed the limit of the client, the servers
// share it: none is left out because another one is talkative.
func endpointInstructions(ep endpoint, offers []registry.Offer) string {
	text, _ := sharedInstructions(ep, offers)
	return text
}

// InstructionUnits returns the length of the merged instructions of a view in UTF-16 code units.
func InstructionUnits(v *registry.View) int {
	return units(endpointInstructions(endpoint{}, v.Offers()))
}

func sharedInstructions(ep endpoint, offers []registry.Offer) (text string, shortened bool) {
	var heads, texts []string
	for _, o := range offers {
		switch {
		case o.Catalog == nil || strings.TrimSpace(o.Catalog.Instructions) == "":
		case ep.server != "":
			return o.Catalog.Instructions, false
		default:
			heads, texts = append(heads, "# "+o.Server+"\n\n"), append(texts, strings.TrimSpace(o.Catalog.Instructions))
		}
	}
	const gap = "\n\n"
	join := func() string {
		parts := make([]string, len(heads))
		for i := range heads {
			parts[i] = heads[i] + texts[i]
		}
		return strings.Join(parts, gap)
	}
	whole := join()
	if !exceeds(whole, ep.limits.Instructions) {
		return whole, false
	}
	note := gap + "(Shortened. " + readMore + ` with {"server":"NAME"} returns the whole instructions of a server.)`
	left := ep.limits.Instructions - units(note)
	for _, head := range heads {
		left -= units(head) + len(gap)
	}
	const useful = 24 // units of a text below which it says nothing
	if left < useful*len(heads) {
		names := make([]string, len(heads))
		for i, head := range heads {
			names[i] = strings.TrimSpace(strings.TrimPrefix(head, "# "))
		}
		return cutText("Servers with instructions: "+strings.Join(names, ", "), max(ep.limits.Instructions-units(note), useful)) + note, true
	}
	for i, share := range fairShares(texts, left) {
		texts[i] = cutText(texts[i], share)
	}
	return join() + note, true
}

// fairShares divides total among texts: a short text gets its length, and the others equal parts of
// the rest.
func fairShares(texts []string, total int) []int {
	shares, order := make([]int, len(texts)), make([]int, len(texts))
	for i, text := range texts {
		shares[i], order[i] = units(text), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return shares[a] - shares[b] })
	for done, i := range order {
		shares[i] = min(shares[i], total/(len(order)-done))
		total -= shares[i]
	}
	return shares
}

// withinLimits returns the definition of a tool with its description within the limit of the client,
// and with the mark of a pinned tool. All other bytes stay unchanged.
func (ep endpoint) withinLimits(raw []byte, public string, pinned bool) (_ []byte, shortened bool) {
	limit, pin := ep.limits.Description, ep.limits.PinKey
	if pinned = pinned && pin != ""; limit == 0 && !pinned {
		return raw, false
	}
	found, err := wire.Pick(raw, "description", "_meta", "name")
	if err != nil {
		return raw, false
	}
	meta := wire.Bytes(raw, found[1])
	var own []byte // what the server says about the pin; it wins
	if pin != "" && len(meta) > 0 && meta[0] == '{' {
		if at, err := wire.Pick(meta, pin); err == nil {
			own = wire.Bytes(meta, at[0])
		}
	}
	pinned = pinned && len(own) == 0
	if (pinned || string(own) == "true") && ep.limits.PinnedDescription > 0 {
		limit = ep.limits.PinnedDescription
	}
	var edits []wire.Edit
	if text, ok := wire.Unquote(wire.Bytes(raw, found[0])); ok && exceeds(text, limit) {
		hint := " (Shortened: " + readMore + ` {"tool":` + core.QuoteJSON(public) + `})`
		edits, shortened = append(edits, wire.Edit{Span: found[0], With: wire.AppendString(nil, cutText(text, max(limit-units(hint), 0))+hint)}), true
	}
	switch {
	case !pinned || found[2].Empty():
	case found[1].Empty():
		edits = append(edits, wire.Edit{Span: core.Span{Start: found[2].End, End: found[2].End}, With: []byte(`,"_meta":{` + strconv.Quote(pin) + `:true}`)})
	case meta[0] == '{':
		edits = append(edits, insertMember(found[1].Start, meta, []byte(strconv.Quote(pin)+`:true`)))
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return wire.Splice(nil, raw, edits...), shortened
}

// readWhole answers a call of readMore.
func (vs *views) readWhole(rq *request) core.Reply {
	var in struct{ Server, Tool string }
	_ = json.Unmarshal(wire.Bytes(rq.params, rq.spans.Arguments), &in) // without a name, the error says what to send
	view := vs.of(rq.endpoint, rq.client.Token)
	if target, ok := view.Lookup(core.Tools, in.Tool); ok && target.Raw != nil {
		description, _ := toolParts(target.Raw)
		return textResult(description)
	}
	for _, o := range view.Offers() {
		if o.Catalog != nil && in.Server != "" && (o.Server == in.Server || o.Label == in.Server) {
			return textResult(o.Catalog.Instructions)
		}
	}
	return errorTextResult(readMore + ` requires the name of a server or of a tool in the list, such as {"server":"files"}`)
}

// UsedTools counts the calls of the tools that a client uses, by server and the server's own name.
// It is immutable.
type UsedTools map[[2]string]int64

// pinnedFirst returns tools in the order in which a client gets them: those that it uses first, and how
// many these are.
func (ep endpoint) pinnedFirst(items []registry.Item) (_ []registry.Item, pinned int) {
	if ep.used == nil || len(*ep.used) == 0 {
		return items, 0
	}
	var first, rest []registry.Item
	for _, item := range items {
		if (*ep.used)[[2]string{item.Server, item.Name}] > 0 {
			first = append(first, item)
		} else {
			rest = append(rest, item)
		}
	}
	return append(first, rest...), len(first)
}
