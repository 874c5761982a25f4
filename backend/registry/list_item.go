package registry

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Item is one entry of a list as clients see it.
type Item struct {
	Public string // the name that clients use; for resources and templates the URI
	Target
}

// Target is where a public name leads.
type Target struct {
	Server string          // server id
	Name   string          // the name as the server knows it, or the URI
	Raw    json.RawMessage // the entry as clients see it; nil when the server has not listed yet
	Hints  Hints           // of a tool
}

// entry is an item of a server's catalog, ready to be put into lists.
type entry struct {
	name  string
	shown string          // what clients call it before the server's prefix
	raw   json.RawMessage // compact, as the server sent it
	names []core.Span     // the values of the members that hold the name
	hints Hints
	// withheld is why clients must not see it, or "". It keeps its name, so that the names
	// of others do not change with it.
	withheld string
}

// prepare compacts the items of one kind and finds their names. An item whose JSON
// is broken, has no name or repeats an earlier name is left out: it could not be called.
func prepare(items []core.Item) []entry {
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
		list = append(list, entry{name: item.Name, shown: item.Name, raw: b.Bytes(), names: names})
	}
	return list
}

// named returns e's raw JSON with name in the place of its own name, and every
// other byte as it was.
func (e entry) named(name string) json.RawMessage {
	if name == e.name {
		return e.raw
	}
	quoted, err := json.Marshal(name)
	if err != nil || len(e.names) == 0 {
		return e.raw
	}
	return spliced(e.raw, e.names, quoted)
}

// memberValues finds the values of the top-level members called key; more than one
// when a server repeats the key. Runs once per catalog, so it may take its time.
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
