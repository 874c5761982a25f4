package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Hash is the first half of the SHA-256 of a canonical definition.
type Hash [16]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

func hashOf(definition []byte) Hash {
	sum := sha256.Sum256(definition)
	return Hash(sum[:16])
}

// DefinitionHash returns the hash by which the definition of a tool is known.
func DefinitionHash(raw []byte) [16]byte { return hashOf(canonical(raw)) }

// unhashedMembers are the members of a tool or prompt that are not hashed: the name is the key of
// the record, and the others are not shown to the model.
var unhashedMembers = []string{"name", "_meta", "icons"}

// resourceMembers are the hashed members of a resource or template. The others, such as its size,
// change with its content.
var resourceMembers = []string{"name", "title", "description"}

// maxNesting is the maximum depth of JSON that canonical sorts. Deeper JSON is hashed as it is.
const maxNesting = 200

var errDeep = errors.New("nested too deeply")

func canonicalDefinition(kind string, raw []byte) []byte {
	if kind == Resource || kind == Template {
		return canonicalWithout(raw, func(member string) bool { return !slices.Contains(resourceMembers, member) })
	}
	return canonical(raw)
}

// canonical returns a tool's JSON with sorted keys and without white space. Duplicate keys are
// preserved, because clients differ in which one they use.
func canonical(raw []byte) []byte {
	return canonicalWithout(raw, func(member string) bool { return slices.Contains(unhashedMembers, member) })
}

func canonicalWithout(raw []byte, skip func(member string) bool) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	out, err := appendCanonical(d, make([]byte, 0, len(raw)), 0, skip)
	if err != nil {
		return bytes.Clone(raw)
	}
	return out
}

func appendCanonical(d *json.Decoder, out []byte, depth int, skip func(string) bool) ([]byte, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		text, err := json.Marshal(token)
		return append(out, text...), err
	}
	if depth == maxNesting {
		return nil, errDeep
	}
	if delim == '[' {
		out = append(out, '[')
		for n := 0; d.More(); n++ {
			if n > 0 {
				out = append(out, ',')
			}
			if out, err = appendCanonical(d, out, depth+1, skip); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return append(out, ']'), err
	}
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("a key is not a string")
		}
		value, err := appendCanonical(d, nil, depth+1, skip)
		if err != nil {
			return nil, err
		}
		if depth == 0 && skip(name) {
			continue
		}
		members = append(members, member{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	out = append(out, '{')
	for n, m := range members {
		if n > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), m.value...)
	}
	return append(out, '}'), nil
}

// Limits of Text.
const (
	maxLines = 2000
	maxLine  = 1000 // characters
)

// Text formats a definition as lines for the user: each value with its path, and with invisible
// characters escaped by Visible.
func Text(definition []byte) []string {
	if len(definition) == 0 {
		return nil
	}
	var value any
	var lines []string
	if core.DecodeJSON(definition, &value) != nil {
		lines = appendText("", string(definition), lines)
	} else {
		lines = appendValue("", value, lines)
	}
	if len(lines) > maxLines {
		lines = append(lines[:maxLines], "… and more")
	}
	return lines
}

// memberOrder lists the members that Text shows first.
var memberOrder = []string{"title", "description", "annotations", "inputSchema", "outputSchema"}

func appendValue(path string, value any, lines []string) []string {
	if len(lines) > maxLines {
		return lines
	}
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, func(a, b string) int {
			if path == "" {
				x, y := slices.Index(memberOrder, a), slices.Index(memberOrder, b)
				if x < 0 {
					x = len(memberOrder)
				}
				if y < 0 {
					y = len(memberOrder)
				}
				if x != y {
					return x - y
				}
			}
			return strings.Compare(a, b)
		})
		if len(keys) == 0 {
			return append(lines, path+": {}")
		}
		for _, key := range keys {
			at := core.Visible(key)
			if path != "" {
				at = path + "." + at
			}
			lines = appendValue(at, v[key], lines)
		}
		return lines
	case []any:
		if text, err := json.Marshal(v); err == nil && len(text) < 200 {
			return append(lines, path+": "+core.Visible(string(text)))
		}
		for i, one := range v {
			lines = appendValue(fmt.Sprintf("%s[%d]", path, i), one, lines)
		}
		return lines
	case string:
		return appendText(path, v, lines)
	default:
		return append(lines, fmt.Sprintf("%s: %v", path, v))
	}
}

// appendText appends a string value and its path, on several lines if it contains line breaks or is
// long. No character is left out: the user approves what these lines show.
func appendText(path, text string, lines []string) []string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		part = core.Visible(part)
		for piece := core.CutChars(part, maxLine); piece != part; piece = core.CutChars(part, maxLine) {
			parts, part = append(parts, piece), part[len(piece):]
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 && path != "" {
		return append(lines, path+": "+parts[0])
	}
	if path != "" {
		lines = append(lines, path+":")
	}
	for _, part := range parts {
		lines = append(lines, "    "+part)
	}
	return lines
}

// Values of Event.Action.
const (
	EventNew      = "new"      // trusted on first use
	EventChanged  = "changed"  // different from the trusted definition: withheld
	EventAccepted = "accepted" // the new definition became trusted
	EventBlocked  = "blocked"  // withheld by the user
	EventReturned = "returned" // the definition is a trusted one again
	EventWarned   = "warned"
)

// Event is an entry in the history of a definition.
type Event struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Server  string    `json:"server"`
	Kind    string    `json:"kind" enum:"tool,instructions,server,prompt,resource,template"`
	Name    string    `json:"name"`
	Action  string    `json:"action" enum:"new,changed,accepted,blocked,returned,warned"`
	Detail  string    `json:"detail"`
	OldHash string    `json:"oldHash"`
	NewHash string    `json:"newHash"`
}

// Events returns the history of a server, or of all servers for "", newest first. It saves pending
// events first. before and limit select a page; the second result is the cursor of the next page.
func (b *Baseline) Events(ctx context.Context, server string, before int64, limit int) ([]Event, int64, error) {
	if err := b.Flush(ctx); err != nil {
		b.opts.Log.Warn("Cannot save the trusted tools", "error", err)
	}
	stored, next, err := b.opts.Store.TrustEvents(ctx, server, before, limit)
	list := make([]Event, 0, len(stored))
	for _, e := range stored {
		list = append(list, toEvent(e))
	}
	return list, next, err
}

func toEvent(e store.TrustEvent) Event {
	return Event{ID: e.ID, At: e.At, Server: e.Server, Kind: e.Kind, Name: e.Name, Action: e.Action, Detail: core.Visible(e.Detail), OldHash: hexOf(e.OldHash), NewHash: hexOf(e.NewHash)}
}

func hexOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("%x", b)
}

// recordEvent records an event of one definition, at most perHour per hour, because some servers
// change a definition on every listing. The caller must hold b.mu.
func (b *Baseline) recordEvent(s *serverRecords, k itemKey, it *record, action, detail string, before, after *Hash) {
	now := b.opts.Now()
	if now.Sub(it.hourStart) >= time.Hour {
		it.hourStart, it.eventsInHour = now, 0
	}
	if it.eventsInHour++; it.eventsInHour > maxEventsPerHour {
		return
	}
	e := store.TrustEvent{At: now, Server: s.id, Kind: k.kind, Name: k.name, Action: action, Detail: detail}
	if before != nil {
		e.OldHash = slices.Clone(before[:])
	}
	if after != nil {
		e.NewHash = slices.Clone(after[:])
	}
	b.appendEvent(s, e)
}

func (b *Baseline) appendEvent(s *serverRecords, e store.TrustEvent) {
	if len(s.events) >= maxEvents {
		s.droppedEvents++
		return
	}
	s.events = append(s.events, e)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
