package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Since MCP 2026-07-28, the structured content of a result may be any JSON value, and the output
// schema any schema. Older revisions require an object. Like the official SDKs, Drawbridge gives
// older clients an object with the single member "result" instead.

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

// The official SDK for TypeScript, version 1, compiles the output schemas of all tools when it lists
// them, and refuses the whole list if one is not valid.

// keywords are the kinds of value that keywords of JSON Schema require. Other keywords are ignored.
var keywords = map[string]func(value any) bool{
	"type":                  isType,
	"enum":                  func(v any) bool { list, ok := v.([]any); return ok && len(list) > 0 },
	"required":              areStrings,
	"properties":            areNamedSchemas,
	"patternProperties":     arePatterns,
	"$defs":                 areNamedSchemas,
	"definitions":           areNamedSchemas,
	"dependentSchemas":      areNamedSchemas,
	"dependentRequired":     isObject,
	"dependencies":          areDependencies,
	"allOf":                 areSchemas,
	"anyOf":                 areSchemas,
	"oneOf":                 areSchemas,
	"prefixItems":           areSchemas,
	"items":                 func(v any) bool { return isSchema(v) || areSchemas(v) },
	"additionalItems":       isSchema,
	"additionalProperties":  isSchema,
	"unevaluatedItems":      isSchema,
	"unevaluatedProperties": isSchema,
	"propertyNames":         isSchema,
	"contains":              isSchema,
	"not":                   isSchema,
	"if":                    isSchema,
	"then":                  isSchema,
	"else":                  isSchema,
	"pattern":               isPlainPattern,
	"format":                isText,
	"$ref":                  isText,
	"minimum":               isNumber,
	"maximum":               isNumber,
	"exclusiveMinimum":      isNumber,
	"exclusiveMaximum":      isNumber,
	"multipleOf":            isNumber,
	"minLength":             isNumber,
	"maxLength":             isNumber,
	"minItems":              isNumber,
	"maxItems":              isNumber,
	"minProperties":         isNumber,
	"maxProperties":         isNumber,
	"uniqueItems":           isBool,
	"nullable":              isBool,
}

func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isText(v any) bool   { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }
func isSchema(v any) bool { _, ok := v.(bool); return ok || isObject(v) }

func areAll(v any, valid func(name string, part any) bool) bool {
	parts, ok := v.(map[string]any)
	for name, part := range parts {
		ok = ok && valid(name, part)
	}
	return ok
}

func areNamedSchemas(v any) bool {
	return areAll(v, func(_ string, part any) bool { return isSchema(part) })
}

func arePatterns(v any) bool {
	return areAll(v, func(name string, part any) bool { return isPlainPattern(name) && isSchema(part) })
}

func areDependencies(v any) bool {
	return areAll(v, func(_ string, part any) bool { return isSchema(part) || areStrings(part) })
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func areStrings(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(one any) bool { return !isText(one) })
}

func areSchemas(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !isSchema(one) })
}

func isType(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	names := []any{"string", "number", "integer", "boolean", "null", "object", "array"}
	return len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !slices.Contains(names, one) })
}

// plainPattern matches a sequence of tokens that regular expressions of Go and of JavaScript with
// Unicode have in common. In JavaScript many other escapes and braces are errors.
var plainPattern = osutil.LazyRegexp(`^(?:` + escape + `|\\[bB]|\[\^?(?:-|` + classItem + `)(?:` + classItem + `)*-?\]|(?:[*+?]|\{\d+(?:,\d*)?\})\??|\(\?:|[()|.^$]|[^\\^$.*+?()[\]{}|])*$`)

const (
	escape    = `\\[dDwWsSnrtfv/\\^$.*+?()[\]{}|]`
	classItem = `(?:` + escape + `|[^\\\][-](?:-[^\\\][-])?)`
)

// repeatedAssertion matches what JavaScript cannot repeat.
var repeatedAssertion = osutil.LazyRegexp(`(?:\^|\$|\\[bB])[*+?{]`)

// maxPattern bounds a regular expression in bytes.
const maxPattern = 1000

// isPlainPattern reports whether a regular expression is certainly valid in JavaScript.
func isPlainPattern(v any) bool {
	pattern, ok := v.(string)
	if !ok || len(pattern) > maxPattern || !plainPattern().MatchString(pattern) || repeatedAssertion().MatchString(pattern) ||
		strings.Contains(strings.ReplaceAll(pattern, "(?:", "("), "(?") {
		return false
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

// outputProblem returns why clients may be unable to compile a decoded output schema, as a clause,
// or "".
func outputProblem(schema any) string {
	root, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	if hasIdentifier(root) {
		return `has an "$id", an anchor or "$async", which several tools may share`
	}
	return schemaProblem(root, root, 0)
}

// identifiers are the keywords that validators look for anywhere, even where there is no schema. They
// share them among the tools of all servers.
var identifiers = []string{"$id", "$anchor", "$dynamicAnchor", "$async"}

func hasIdentifier(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, part := range v {
			if slices.Contains(identifiers, key) || hasIdentifier(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasIdentifier)
	}
	return false
}

const maxSchemaDepth = 100

func schemaProblem(root, schema map[string]any, depth int) string {
	if depth > maxSchemaDepth {
		return "is nested too deep"
	}
	for key, value := range schema {
		if valid := keywords[key]; valid != nil && !valid(value) {
			return fmt.Sprintf("has a %q that some clients cannot compile", key)
		}
		switch {
		case key == "$ref" && !resolves(root, schema):
			return `has a "$ref" that leads nowhere or in a circle`
		case key == "nullable" && (value == false || schema["type"] == nil), key == "id", key != "format" && strings.HasPrefix(key, "format"):
			return fmt.Sprintf("has a %q that some clients cannot compile", key)
		}
		for _, part := range subschemas(key, value) {
			inner, ok := part.(map[string]any)
			if !ok {
				continue
			}
			if problem := schemaProblem(root, inner, depth+1); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// subschemas returns the schemas in the value of a keyword.
func subschemas(key string, value any) []any {
	switch positions[key] {
	case dataPosition:
		return nil
	case namesPosition:
		parts, _ := value.(map[string]any)
		return slices.Collect(maps.Values(parts))
	}
	if keywords[key] == nil {
		return nil
	}
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

// resolves reports whether the reference of a schema leads to another part of its document.
func resolves(root, schema map[string]any) bool {
	for range maxSchemaDepth {
		ref, is := schema["$ref"].(string)
		if !is {
			return true
		}
		target, ok := follow(root, ref)
		if !ok {
			return false
		}
		if schema, ok = target.(map[string]any); !ok {
			return true
		}
	}
	return false
}

// follow returns the schema that a reference leads to.
func follow(root map[string]any, ref string) (target any, ok bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' || strings.Contains(path, "%") {
		return nil, false
	}
	target = root
	for names := strings.Split(path, "/")[1:]; len(names) > 0; {
		at, isSchema := target.(map[string]any)
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(names[0])
		if names = names[1:]; !isSchema || len(subschemas(key, at[key])) == 0 {
			return nil, false
		}
		switch v := at[key].(type) {
		case []any:
			if len(names) == 0 {
				return nil, false
			}
			n, err := strconv.Atoi(names[0])
			if err != nil || n < 0 || n >= len(v) || strconv.Itoa(n) != names[0] {
				return nil, false
			}
			target, names = v[n], names[1:]
		default:
			target = v
			if positions[key] == namesPosition {
				if len(names) == 0 {
					return nil, false
				}
				parts, _ := v.(map[string]any)
				target, names = parts[strings.NewReplacer("~1", "/", "~0", "~").Replace(names[0])], names[1:]
			}
		}
	}
	return target, isSchema(target)
}
