package revision

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Since MCP 2026-07-28, the structured content of a result may be any JSON value, and the output
// schema any schema. Older revisions require an object. Like the official SDKs, Drawbridge gives
// older clients an object with the single member "result" instead.

// wrappedAt is where a schema is after wrapping.
const wrappedAt = "#/properties/result"

// WrapsOutput reports whether the results of a raw tool are wrapped for legacy clients whatever
// they are: its output schema does not require an object.
func WrapsOutput(tool []byte) bool {
	spans, err := wire.Pick(tool, "outputSchema")
	return err == nil && needsWrap(wire.Bytes(tool, spans[0]))
}

func needsWrap(schema []byte) bool {
	if len(schema) == 0 || schema[0] != '{' {
		return false
	}
	var root struct{ Type any }
	return json.Unmarshal(schema, &root) == nil && root.Type != "object"
}

// convertOutputSchema returns a tool with its output schema wrapped if it is not of an object, and
// without it if it is not valid.
func convertOutputSchema(tool []byte) []byte {
	spans, err := wire.Pick(tool, "outputSchema")
	natural := wire.Bytes(tool, spans[0])
	if err != nil || len(natural) == 0 || natural[0] != '{' {
		return tool
	}
	if schema, err := wire.Decode(natural); err != nil || outputProblem(schema) != "" {
		tool, _ = wire.WithoutMember(tool, "outputSchema")
		return tool
	}
	if !needsWrap(natural) {
		return tool
	}
	var mover referenceMover
	wrapped := []byte(`{`)
	if found, err := wire.Pick(natural, "$schema"); err == nil && !found[0].Empty() {
		dialect := wire.Bytes(natural, found[0])
		mover.recursive = bytes.Contains(dialect, []byte("/draft/2019-09/"))
		wrapped = append(append(append(wrapped, `"$schema":`...), dialect...), ',')
	}
	wrapped = append(append(wrapped, `"type":"object","properties":{"result":`...), mover.move(natural, schemaPosition)...)
	wrapped = append(wrapped, `},"required":["result"]}`...)
	return wire.Splice(nil, tool, wire.Edit{Span: spans[0], With: wrapped})
}

// position is what a value in a schema is.
type position int

const (
	schemaPosition position = iota // a schema, or an array of schemas
	namesPosition                  // an object whose members are schemas
	dataPosition                   // data, such as a default value
)

var positions = map[string]position{
	"const": dataPosition, "enum": dataPosition, "default": dataPosition, "examples": dataPosition, "required": dataPosition,
	"dependentRequired": dataPosition,
	"properties":        namesPosition, "patternProperties": namesPosition, "$defs": namesPosition, "definitions": namesPosition,
	"dependentSchemas": namesPosition, "dependencies": namesPosition,
}

// referenceMover rewrites the references within a schema that is wrapped.
type referenceMover struct {
	recursive bool // the dialect is 2019-09, which has $recursiveRef
}

// move returns a schema whose references within its document lead to where the schema is after
// wrapping. Everything else stays unchanged, byte for byte.
func (r referenceMover) move(schema []byte, at position) []byte {
	if at == dataPosition || !bytes.Contains(schema, []byte("Ref")) && !bytes.Contains(schema, []byte("ref")) {
		return schema
	}
	var edits []wire.Edit
	descend := func(span core.Span, to position) {
		if part := wire.Bytes(schema, span); part[0] == '{' || part[0] == '[' {
			edits = append(edits, wire.Edit{Span: span, With: r.move(part, to)})
		}
	}
	if schema[0] == '[' {
		_ = wire.Elements(schema, func(e core.Span) error { descend(e, schemaPosition); return nil })
		return wire.Splice(nil, schema, edits...)
	}
	err := wire.Members(schema, func(m wire.Member) error {
		name := string(m.Name)
		text, isText := wire.Unquote(wire.Bytes(schema, m.Value))
		switch {
		case at == namesPosition:
			descend(m.Value, schemaPosition)
		case (name == "$ref" || name == "$dynamicRef") && isText && (text == "#" || strings.HasPrefix(text, "#/")):
			edits = append(edits, wire.Edit{Span: m.Value, With: wire.AppendString(nil, wrappedAt+strings.TrimPrefix(text, "#"))})
		case name == "$recursiveRef" && r.recursive: // its only value is "#"
			edits = append(edits, wire.Edit{Span: core.Span{Start: m.Key.Start, End: m.Value.End}, With: []byte(`"$ref":"` + wrappedAt + `"`)})
		default:
			descend(m.Value, positions[name])
		}
		return nil
	})
	if err != nil {
		return schema
	}
	return wire.Splice(nil, schema, edits...)
}

var structuredKey = []byte(`"structuredContent"`)

// WrapOutput returns the result of a tool for legacy clients: structured content that is not an
// object is wrapped, and every structured content if always is true. Other results are returned as
// they are.
func WrapOutput(toolResult []byte, always bool) []byte {
	if !always && !mayHaveOtherOutput(toolResult) {
		return toolResult
	}
	spans, err := wire.Pick(toolResult, "structuredContent")
	if err != nil || spans[0].Empty() {
		return toolResult
	}
	value := wire.Bytes(toolResult, spans[0])
	if value[0] == '{' && !always {
		return toolResult
	}
	wrapped := append(append([]byte(`{"result":`), value...), '}')
	return wire.Splice(nil, toolResult, wire.Edit{Span: spans[0], With: wrapped})
}

// mayHaveOtherOutput reports whether structured content may be something else than an object. It is
// a quick check of the raw text, because every result of a legacy session passes it.
func mayHaveOtherOutput(raw []byte) bool {
	for {
		_, after, found := bytes.Cut(raw, structuredKey)
		if !found {
			return false
		}
		after = bytes.TrimLeft(after, " \t\r\n")
		if bytes.HasPrefix(after, []byte{':'}) && !bytes.HasPrefix(bytes.TrimLeft(after[1:], " \t\r\n"), []byte{'{'}) {
			return true
		}
		raw = after
	}
}
