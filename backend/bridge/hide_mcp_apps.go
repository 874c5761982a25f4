package bridge

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// A client that does not declare MCP Apps sees nothing of them in its tools, as if the server had
// been asked by that client alone: one list is read from a server for all clients.

// withoutApps returns a result of tools/list without the members of _meta that belong to MCP Apps,
// and without the tools that only apps may call. Everything else is unchanged, byte for byte.
func withoutApps(list []byte) []byte {
	if !mentionsApps(list) {
		return list
	}
	var edits []wire.Edit
	_ = wire.Members(list, func(m wire.Member) error {
		if string(m.Name) != "tools" {
			return nil
		}
		tools, kept := wire.Bytes(list, m.Value), []byte{'['}
		err := wire.Elements(tools, func(e core.Span) error {
			if tool, visible := toolWithoutApp(wire.Bytes(tools, e)); visible {
				kept = append(append(kept, tool...), ',')
			}
			return nil
		})
		if err == nil {
			edits = append(edits, wire.Edit{Span: m.Value, With: append(bytes.TrimSuffix(kept, []byte{','}), ']')})
		}
		return nil
	})
	return wire.Splice(nil, list, edits...)
}

// appKeys are the beginnings of the keys of MCP Apps as JSON text. A slash may be escaped; any
// character may be spelled with \u.
var appKeys = [][]byte{[]byte(`"ui"`), []byte(`"ui/`), []byte(`"ui\/`), []byte(`\u`)}

// mentionsApps reports whether raw may have a key of MCP Apps. It is a quick check of the raw text.
func mentionsApps(raw []byte) bool {
	return slices.ContainsFunc(appKeys, func(key []byte) bool { return bytes.Contains(raw, key) })
}

// toolWithoutApp returns a tool as a client without MCP Apps sees it, and whether it sees it. A
// tool that cannot be read reliably is not shown.
func toolWithoutApp(tool []byte) (shown []byte, visible bool) {
	if !mentionsApps(tool) {
		return tool, true
	}
	var of struct {
		Meta struct {
			UI struct{ Visibility []string } `json:"ui"`
		} `json:"_meta"`
	}
	if json.Unmarshal(tool, &of) == nil && of.Meta.UI.Visibility != nil && !slices.Contains(of.Meta.UI.Visibility, "model") {
		return nil, false
	}
	var edits []wire.Edit
	err := wire.Members(tool, func(m wire.Member) error {
		if meta := wire.Bytes(tool, m.Value); string(m.Name) == "_meta" && meta[0] == '{' {
			shown, err := withoutMembers(meta, "ui", "ui/resourceUri")
			edits = append(edits, wire.Edit{Span: m.Value, With: shown})
			return err
		}
		return nil
	})
	if err != nil {
		return nil, false
	}
	return wire.Splice(nil, tool, edits...), true
}

// withoutMembers returns an object without some members. Other members are unchanged.
func withoutMembers(object []byte, names ...string) ([]byte, error) {
	kept, dropped := []byte{'{'}, false
	err := wire.Members(object, func(m wire.Member) error {
		if slices.Contains(names, string(m.Name)) {
			dropped = true
		} else {
			kept = append(append(kept, object[m.Key.Start:m.Value.End]...), ',')
		}
		return nil
	})
	if err != nil || !dropped {
		return object, err
	}
	return append(bytes.TrimSuffix(kept, []byte{','}), '}'), nil
}
