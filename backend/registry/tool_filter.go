package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// applyFilter applies filter f to a server's tools: it drops hidden tools and sets new names,
// titles, descriptions and annotations. If two tools would get the same name, both keep their own.
// The warnings are shown to the user.
func applyFilter(f *config.Filter, tools []entry) (shown []entry, warnings []string) {
	for i := range tools {
		tools[i].hints = parseHints(tools[i].raw)
	}
	if f == nil {
		return tools, nil
	}
	names := make([]string, len(tools))
	taken := make(map[string]int, len(tools))
	for i, e := range tools {
		names[i] = e.name
		if f.HiddenBy(e.name) == "" {
			taken[f.PublicName(e.name)]++
		}
	}
	warnings = f.Unmatched(names)
	for _, e := range tools {
		if f.HiddenBy(e.name) != "" {
			continue
		}
		e = e.withSettings(f.Tools[e.name])
		if name := f.PublicName(e.name); name != e.name {
			if taken[name] > 1 {
				warnings = append(warnings, fmt.Sprintf("tool '%s' was not renamed, because another tool is already named '%s'", e.name, name))
			} else {
				e.visibleName = name
			}
		}
		shown = append(shown, e)
	}
	return shown, warnings
}

// withSettings returns e with the title, description and annotations of the configuration; all
// other bytes are unchanged.
func (e entry) withSettings(t config.Tool) entry {
	annotations := make(map[string]any, len(t.Annotations)+1)
	for name, yes := range t.Annotations {
		annotations[name] = yes
	}
	e.hints = e.hints.override(t.Annotations)
	if t.Title != "" {
		// Some clients show the title in the annotations, where it was before revision 2025-06-18.
		if old := memberOf(e.raw, "annotations", "title"); old != nil {
			annotations["title"] = t.Title
		}
		e = e.withMember("title", t.Title)
	}
	if t.Description != "" {
		e = e.withMember("description", t.Description)
	}
	if len(annotations) > 0 {
		var all json.RawMessage = memberOf(e.raw, "annotations")
		if len(all) == 0 || all[0] != '{' {
			all = json.RawMessage("{}")
		}
		for _, name := range slices.Sorted(maps.Keys(annotations)) {
			all = withMember(all, name, annotations[name], 1)
		}
		e = e.withMember("annotations", all)
	}
	return e
}

// memberOf returns the value at a path of members, or nil.
func memberOf(raw []byte, path ...string) []byte {
	for _, key := range path {
		spans, err := memberValues(raw, key)
		if err != nil || len(spans) == 0 {
			return nil
		}
		last := spans[len(spans)-1]
		raw = raw[last.Start:last.End]
	}
	return raw
}

// withMember returns e with another value of a member, which is inserted after the name if e does
// not have it.
func (e entry) withMember(key string, value any) entry {
	if len(e.nameSpans) == 0 {
		return e
	}
	e.raw = withMember(e.raw, key, value, e.nameSpans[len(e.nameSpans)-1].End)
	e.nameSpans, _ = memberValues(e.raw, "name")
	return e
}

// withMember returns an object with another value of a member. A new member is inserted at the
// offset at, which follows another member or the opening brace.
func withMember(object []byte, key string, value any, at int) []byte {
	encoded, err := core.EncodeJSON(value)
	spans, invalid := memberValues(object, key)
	if err != nil || invalid != nil {
		return object
	}
	if len(spans) > 0 {
		return replaceSpans(object, spans, encoded)
	}
	member := []byte(strconv.Quote(key) + ":" + string(encoded))
	switch {
	case at > 1:
		member = append([]byte(","), member...)
	case len(object) > 2:
		member = append(member, ',')
	}
	return replaceSpans(object, []core.Span{{Start: at, End: at}}, member)
}

func replaceSpans(raw []byte, spans []core.Span, with []byte) []byte {
	out := make([]byte, 0, len(raw)+len(spans)*len(with))
	at := 0
	for _, s := range spans {
		out = append(out, raw[at:s.Start]...)
		out = append(out, with...)
		at = s.End
	}
	return append(out, raw[at:]...)
}

// Hints are the annotations that describe a tool's effects. They come from the server, and are then
// untrusted, or from the configuration.
type Hints struct {
	ReadOnly, Destructive, Idempotent Hint
}

// Hint is the value of a boolean annotation, or Unsaid if it is absent.
type Hint int8

// The values of a Hint. The zero value is Unsaid.
const (
	Unsaid Hint = iota
	No
	Yes
)

// UnmarshalJSON accepts true and false; any other value means that the hint is absent.
func (h *Hint) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*h = Yes
	case "false":
		*h = No
	}
	return nil // untrusted input: a value that is not a boolean is ignored
}

func parseHints(raw []byte) Hints {
	var tool struct {
		Annotations struct {
			ReadOnly    Hint `json:"readOnlyHint"`
			Destructive Hint `json:"destructiveHint"`
			Idempotent  Hint `json:"idempotentHint"`
		} `json:"annotations"`
	}
	_ = json.Unmarshal(raw, &tool)
	a := tool.Annotations
	return Hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent}
}

func (h Hints) override(annotations map[string]bool) Hints {
	for name, to := range map[string]*Hint{"readOnlyHint": &h.ReadOnly, "destructiveHint": &h.Destructive, "idempotentHint": &h.Idempotent} {
		if yes, set := annotations[name]; set {
			*to = map[bool]Hint{false: No, true: Yes}[yes]
		}
	}
	return h
}

// HintsOf returns the annotations of a tool with those of the configuration.
func HintsOf(f *config.Filter, tool core.Item) Hints {
	h := parseHints(tool.Raw)
	if f != nil {
		h = h.override(f.Tools[tool.Name].Annotations)
	}
	return h
}
