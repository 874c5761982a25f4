package registry

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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

// override returns h with the annotations of the configuration.
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
