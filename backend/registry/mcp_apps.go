package registry

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// HasApp reports whether the definition of a tool names an MCP App.
func HasApp(raw []byte) bool { return len(toolReferences(raw)) > 0 }

// toolReferences returns the spans of the resource URIs in the _meta of a tool.
func toolReferences(raw []byte) []core.Span {
	if !bytes.Contains(raw, []byte(`"ui:`)) {
		return nil
	}
	var list []core.Span
	metas, _ := memberValues(raw, "_meta")
	for _, meta := range metas {
		for _, s := range AppReferences(raw[meta.Start:meta.End]) {
			list = append(list, core.Span{Start: meta.Start + s.Start, End: meta.Start + s.End})
		}
	}
	return list
}

// AppReferences returns the spans of the strings in a _meta object that are ui: URIs, which name
// the resources of MCP Apps. They are members such as ui.resourceUri; clients know several.
func AppReferences(meta []byte) []core.Span {
	var list []core.Span
	d := json.NewDecoder(bytes.NewReader(meta))
	for at := 0; ; {
		token, err := d.Token()
		if err != nil {
			return list
		}
		end := int(d.InputOffset())
		if text, ok := token.(string); ok && strings.HasPrefix(text, "ui:") {
			list = append(list, core.Span{Start: at + bytes.IndexByte(meta[at:end], '"'), End: end})
		}
		at = end
	}
}
