package registry

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/revision"
)

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
