package registry

import (
	"encoding/json"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Hints are what a server says of a tool's effect. It is a stranger's word.
type Hints struct {
	ReadOnly, Destructive, Idempotent Hint
}

// Hint is yes, no, or nothing said.
type Hint int8

// What a Hint can be. The zero Hint is Unsaid.
const (
	Unsaid Hint = iota
	No
	Yes
)

// UnmarshalJSON accepts true and false; every other value means that the hint is absent.
func (h *Hint) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*h = Yes
	case "false":
		*h = No
	}
	return nil // a stranger's words: what is not a boolean says nothing
}

func hintsOf(raw []byte) Hints {
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

// shape makes of a server's tools those that clients see: without the hidden ones,
// under their new names and with their new descriptions. Two tools that would have
// the same name both keep their own. The sentences are for the user.
func shape(f *config.Filter, tools []entry) (shown []entry, warnings []string) {
	for i := range tools {
		tools[i].hints = hintsOf(tools[i].raw)
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
			e = e.described(text)
		}
		if name := f.Shown(e.name); name != e.name {
			if taken[name] > 1 {
				warnings = append(warnings, fmt.Sprintf("tool '%s' keeps its name: another one is called '%s'", e.name, name))
			} else {
				e.shown = name
			}
		}
		shown = append(shown, e)
	}
	return shown, warnings
}

// described returns e with another description, and every other byte as it was.
func (e entry) described(text string) entry {
	quoted, err := json.Marshal(text)
	if err != nil {
		return e
	}
	spans, err := memberValues(e.raw, "description")
	if err != nil {
		return e
	}
	if len(spans) == 0 { // it follows the name
		at := e.names[len(e.names)-1].End
		spans, quoted = []core.Span{{Start: at, End: at}}, append([]byte(`,"description":`), quoted...)
	}
	e.raw = spliced(e.raw, spans, quoted)
	e.names, _ = memberValues(e.raw, "name")
	return e
}

// spliced puts with in the place of each span.
func spliced(raw []byte, spans []core.Span, with []byte) []byte {
	out := make([]byte, 0, len(raw)+len(spans)*len(with))
	at := 0
	for _, s := range spans {
		out = append(out, raw[at:s.Start]...)
		out = append(out, with...)
		at = s.End
	}
	return append(out, raw[at:]...)
}
