package bridge

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// The bounds of a signature. What exceeds them is written as "object" or "any".
const (
	maxSignatureBytes = 1200
	maxSignatureDepth = 5
	maxEnumValues     = 20
	maxSchemas        = 1000 // that are read, in one definition
)

// shape is what a signature tells about a value: its type, the values it may have, or alternatives.
type shape struct {
	name    string   // of the type; "" if values or anyOf say more
	values  []string // as JSON
	anyOf   []shape
	items   *shape
	members []member // of an object; nil: any
}

var plainArgument = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

type member struct {
	name     string
	required bool
	is       shape
}

// signature returns one line about a tool: its name, its arguments with their types unless they are
// strings, a question mark after those that may be left out, ... if it takes any, and the first sentence of its description.
func signature(item registry.Item) string {
	found, _ := wire.Pick(item.Raw, "description", "inputSchema")
	description, _ := wire.Unquote(wire.Bytes(item.Raw, found[0]))
	input := wire.Bytes(item.Raw, found[1])
	line := ""
	for depth := maxSignatureDepth; depth > 0; depth-- { // large ones with fewer details
		line = item.Public + argumentsOf(shapeOf(input, depth))
		if len(line) <= maxSignatureBytes {
			break
		}
	}
	line = core.ShortenBytes(line, maxSignatureBytes)
	if text := firstSentence(description); text != "" {
		line += ": " + strings.TrimSuffix(text, ".")
	}
	return line
}

func argumentsOf(s shape) string {
	text := s.String()
	switch {
	case s.members != nil:
		text = text[1 : len(text)-1]
	case s.name != "":
		text = "..." // any
	}
	return "(" + text + ")"
}

// String returns the shape in the notation of TypeScript, in which members without a type are strings.
func (s shape) String() string {
	switch {
	case len(s.anyOf) > 0:
		parts := make([]string, len(s.anyOf))
		for i, one := range s.anyOf {
			parts[i] = one.String()
		}
		return strings.Join(slices.Compact(parts), "|")
	case len(s.values) > 0:
		return strings.Join(s.values, "|")
	case s.items != nil:
		item := s.items.String()
		if strings.Contains(item, "|") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case s.members != nil:
		parts := make([]string, len(s.members))
		for i, m := range s.members {
			name := m.name
			if !plainArgument.MatchString(name) {
				name = string(wire.AppendString(nil, name))
			}
			if !m.required {
				name += "?"
			}
			if parts[i] = name; m.is.String() != "string" {
				parts[i] += ":" + m.is.String()
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return s.name
}

// shapeOf returns the shape of a JSON Schema, down to depth levels. It says less than the schema, and
// never something else.
func shapeOf(raw []byte, depth int) shape {
	return (&shapeReader{raw, maxSchemas}).read(raw, depth)
}

type shapeReader struct {
	root []byte // for references
	left int    // number of schemas that may still be read
}

func (r *shapeReader) read(raw []byte, depth int) shape {
	anything := shape{name: "any"}
	if r.left--; len(raw) == 0 || raw[0] != '{' || depth <= 0 || r.left < 0 {
		return anything
	}
	var s struct {
		Ref   string            `json:"$ref"`
		Type  json.RawMessage   `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		Const json.RawMessage   `json:"const"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
		Items json.RawMessage   `json:"items"`

		Required []string `json:"required"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return anything
	}
	alternatives := slices.Concat(s.AnyOf, s.OneOf)
	switch {
	case s.Ref != "":
		return r.read(referenced(r.root, s.Ref), depth-1)
	case len(s.Const) > 0:
		return shape{values: []string{string(s.Const)}}
	case len(s.Enum) > 0 && len(s.Enum) <= maxEnumValues:
		return shape{values: jsonTexts(s.Enum)}
	case len(alternatives) > 0:
		var list []shape
		for _, one := range alternatives[:min(len(alternatives), maxEnumValues)] {
			list = append(list, r.read(one, depth-1))
		}
		if len(alternatives) > maxEnumValues || slices.ContainsFunc(list, func(one shape) bool { return one.name == "any" }) {
			return anything
		}
		return shape{anyOf: list}
	}
	var name string
	var names []string
	if json.Unmarshal(s.Type, &name) == nil {
		names = []string{name}
	} else if json.Unmarshal(s.Type, &names) != nil {
		return anything
	}
	var list []shape
	for _, name := range names {
		one := shape{name: name}
		switch name {
		case "string", "number", "integer", "boolean", "null":
		case "array":
			items := r.read(s.Items, depth-1)
			one = shape{items: &items}
		case "object":
			if found, err := wire.Pick(raw, "properties"); err == nil && !found[0].Empty() && depth > 1 {
				one.members = r.members(wire.Bytes(raw, found[0]), s.Required, depth-1)
			}
		default:
			return anything
		}
		list = append(list, one)
	}
	switch len(list) {
	case 0:
		return anything
	case 1:
		return list[0]
	}
	return shape{anyOf: list}
}

func (r *shapeReader) members(properties []byte, required []string, depth int) []member {
	members := []member{}
	if properties[0] != '{' {
		return nil
	}
	_ = wire.Members(properties, func(m wire.Member) error {
		name := string(m.Name)
		members = append(members, member{name, slices.Contains(required, name), r.read(wire.Bytes(properties, m.Value), depth)})
		return nil
	})
	slices.SortStableFunc(members, func(a, b member) int { // what is required first
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return members
}

// referenced returns the schema within root that a reference of the form #/a/b leads to, or nil.
func referenced(root []byte, ref string) []byte {
	path, ok := strings.CutPrefix(ref, "#/")
	for _, key := range strings.Split(path, "/") {
		found, err := wire.Pick(root, key)
		if !ok || err != nil || found[0].Empty() {
			return nil
		}
		root = wire.Bytes(root, found[0])
	}
	return root
}

func jsonTexts(raw []json.RawMessage) []string {
	texts := make([]string, len(raw))
	for i, one := range raw {
		texts[i] = string(one)
	}
	return texts
}

// withDefinition adds the definition of a tool to the error for arguments that do not match it, for a
// client that may have seen no more than its signature.
func (vs *views) withDefinition(rq *request, public string, err error) error {
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Code != core.CodeValidation || len(e.Fields) == 0 || rq.endpoint.toolMode == "" {
		return err
	}
	target, ok := vs.of(rq.endpoint, rq.client.Token).Lookup(core.Tools, public)
	if !ok || target.Raw == nil || len(target.Raw) > maxDescriptionBytes {
		return err
	}
	explained := *e
	explained.Hint += " Its definition: " + string(target.Definition(rq.era))
	return &explained
}
