package registry

import (
	"encoding/json"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Hints are the annotations that describe a tool's effects. They come from the server and are
// untrusted.
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

// applyFilter applies filter f to a server's tools: it drops hidden tools and sets new names and
// descriptions. If two tools would get the same name, both keep their own. The warnings are shown
// to the user.
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
		if f.Hidden(e.name) == "" {
			taken[f.Shown(e.name)]++
		}
	}
	warnings = f.Unmatched(names)
	for _, e := range tools {
		if f.Hidden(e.name) != "" {
			continue
		}
		if text := f.Description(e.name); text != "" {
			e = e.withDescription(text)
		}
		if name := f.Shown(e.name); name != e.name {
			if taken[name] > 1 {
				warnings = append(warnings, fmt.Sprintf("tool '%s' keeps its name: another tool is called '%s'", e.name, name))
			} else {
				e.visibleName = name
			}
		}
		shown = append(shown, e)
	}
	return shown, warnings
}

// withDescription returns e with another description; all other bytes are unchanged.
func (e entry) withDescription(text string) entry {
	quoted, err := json.Marshal(text)
	if err != nil {
		return e
	}
	spans, err := memberValues(e.raw, "description")
	if err != nil {
		return e
	}
	if len(spans) == 0 { // insert it after the name
		at := e.nameSpans[len(e.nameSpans)-1].End
		spans, quoted = []core.Span{{Start: at, End: at}}, append([]byte(`,"description":`), quoted...)
	}
	e.raw = replaceSpans(e.raw, spans, quoted)
	e.nameSpans, _ = memberValues(e.raw, "name")
	return e
}

// replaceSpans returns raw with each span replaced by with.
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
