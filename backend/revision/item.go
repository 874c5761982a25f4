package revision

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/schema"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Oddity is how an item differs from what all clients can read.
type Oddity struct {
	// Repairs are the changes that Check made, and that ForLegacy makes because of a fault, such as
	// `"title" is null, ...`.
	Repairs []string
	// Converts reports whether ForLegacy changes the item.
	Converts bool
	// Unreadable is the reason why clients would refuse a list with this item, or "".
	Unreadable string
}

// Limits of the repairs of one item: its size in bytes, its violations of one schema, and how often it
// is checked. An item that exceeds them is unreadable.
const (
	maxRepaired = 64 << 10
	maxRepairs  = 64
	maxRounds   = 4
)

// Check returns an item of a list as clients get it, and its oddities; nil if clients of every
// revision can read it as it is. raw must be valid, compact JSON.
//
// All clients are checked against the schemas of MCP 2025-11-25 and 2026-07-28, whatever revision
// they negotiated: they are built with the newest schemas of their SDK, and Claude Code reads lists
// of 2026-07-28 by the older schema too. The schemas before 2025-11-25 require nothing more.
func Check(kind core.Kind, raw []byte) ([]byte, *Oddity) {
	value, err := wire.Decode(raw)
	if err != nil {
		return raw, &Oddity{Unreadable: "it cannot be decoded"}
	}
	if hasHugeNumber(raw) {
		return raw, &Oddity{Unreadable: "it has a number that is too large for JavaScript"}
	}
	s := schemasOf(kind)
	output := ""
	if tool, ok := value.(map[string]any); ok && kind == core.Tools {
		output = outputProblem(tool["outputSchema"])
	}
	if len(s.legacy.Violations(value, 1)) == 0 && len(s.modern.Violations(value, 1)) == 0 && len(s.clients.Violations(value, 1)) == 0 && output == "" {
		return raw, nil
	}
	if len(raw) > maxRepaired {
		return raw, &Oddity{Unreadable: "it is not valid, and too large to be repaired"}
	}
	repaired, repairs, _ := repair(raw, forAll, s.legacy, s.modern, s.clients)
	converted, unreadable := convert(s, kind, repaired)
	if unreadable == "" {
		_, _, unreadable = repair(repaired, nil, s.modern)
	}
	if unreadable != "" {
		return raw, &Oddity{Unreadable: unreadable}
	}
	if output != "" {
		repairs = append(repairs, `"outputSchema" `+output+"; clients of MCP 2025-11-25 and older get the tool without it")
	}
	return repaired, &Oddity{Repairs: repairs, Converts: string(converted) != string(repaired)}
}

// ForLegacy returns an item as legacy clients can read it: a tool with boolean schemas of arguments,
// or with an output schema that is not of an object or not valid, differs. Other items are returned
// as they are.
func ForLegacy(kind core.Kind, raw []byte) []byte {
	raw, _ = convert(schemasOf(kind), kind, raw)
	return raw
}

func convert(s schemas, kind core.Kind, raw []byte) (converted []byte, unreadable string) {
	if kind == core.Tools {
		raw = convertOutputSchema(raw)
	}
	converted, _, unreadable = repair(raw, forLegacyOnly, s.legacy, s.clients)
	return converted, unreadable
}

// fix returns the replacement for a value that violates a schema, and what was wrong with it. A nil
// replacement removes the member. ok is false if it cannot be repaired without guessing.
type fix func(v schema.Violation, value []byte) (replacement []byte, wrong string, ok bool)

// forAll repairs what no client can read.
func forAll(v schema.Violation, value []byte) ([]byte, string, bool) {
	last := v.Path[len(v.Path)-1]
	switch {
	case (value == nil || string(value) == "null") && slices.Equal(v.Path, []string{"inputSchema", "type"}):
		return []byte(`"object"`), "is missing; clients get \"object\"", true
	case value == nil:
		return nil, "", false
	case string(value) == "null" && isArgument(v.Path):
		return []byte("{}"), "is null; clients get {}", true
	case string(value) == "null" && !isIndex(last):
		return nil, "is null; clients get the item without this member", true
	case string(value) == "[]" && strings.HasPrefix(v.Error, "must be object"):
		return []byte("{}"), "is an empty array; clients get an empty object", true // as PHP encodes one
	}
	return nil, "", false
}

// forLegacyOnly repairs what MCP 2026-07-28 permits: true and false as schemas of arguments.
func forLegacyOnly(v schema.Violation, value []byte) ([]byte, string, bool) {
	switch {
	case !isArgument(v.Path):
		return nil, "", false
	case string(value) == "true":
		return []byte("{}"), "", true
	case string(value) == "false":
		return []byte(`{"not":{}}`), "", true
	}
	return nil, "", false
}

// isArgument reports whether a path leads to the schema of an argument or of a result's property.
func isArgument(path []string) bool {
	return len(path) == 3 && path[1] == "properties" && (path[0] == "inputSchema" || path[0] == "outputSchema")
}

// hugeNumber matches what may be a number beyond the range of float64, which clients read as Infinity
// and then refuse.
var hugeNumber = osutil.LazyRegexp(`[0-9][eE]\+?[0-9]{3}|[0-9]{300}`)

func hasHugeNumber(raw []byte) bool {
	if !hugeNumber().Match(raw) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if number, ok := token.(json.Number); ok {
			if _, err := number.Float64(); err != nil {
				return true
			}
		}
	}
}

func isIndex(name string) bool {
	_, err := strconv.Atoi(name)
	return err == nil
}

// repair applies a fix to the violations of raw until none is left that it can repair. left
// describes the first violation that is left, or is "".
func repair(raw []byte, with fix, against ...*schema.Schema) (repaired []byte, repairs []string, left string) {
	for range maxRounds {
		value, err := wire.Decode(raw)
		if err != nil {
			return raw, repairs, "it cannot be decoded"
		}
		left = ""
		violations := &violationTree{}
		for _, s := range against {
			found := s.Violations(value, maxRepairs)
			if len(found) == maxRepairs {
				return raw, repairs, "it needs too many repairs"
			}
			for _, v := range found {
				violations.add(v)
				left = cmp.Or(left, strings.TrimSpace(fmt.Sprintf("%q %s", v.Field(), v.Error)))
			}
		}
		if left == "" || with == nil {
			return raw, repairs, left
		}
		r := rewriter{fix: with}
		next := r.rewrite(raw, violations)
		if len(r.repairs) == 0 {
			return raw, repairs, left
		}
		raw, repairs = next, append(repairs, r.repairs...)
	}
	return raw, repairs, "it needs too many repairs"
}

type violationTree struct {
	violation *schema.Violation
	members   map[string]*violationTree
}

func (t *violationTree) add(v schema.Violation) {
	for _, name := range v.Path {
		if t.members[name] == nil {
			if t.members == nil {
				t.members = map[string]*violationTree{}
			}
			t.members[name] = &violationTree{}
		}
		t = t.members[name]
	}
	if t.violation == nil {
		t.violation = &v
	}
}

// rewriter applies a fix to all violations in one pass.
type rewriter struct {
	fix     fix
	repairs []string
}

// try applies the fix to one value; nil if the value is missing.
func (r *rewriter) try(value []byte, t *violationTree) (replacement []byte, ok bool) {
	if t.violation == nil || len(t.violation.Path) == 0 {
		return nil, false
	}
	replacement, wrong, ok := r.fix(*t.violation, value)
	if ok {
		r.repairs = append(r.repairs, fmt.Sprintf("%q %s", t.violation.Field(), wrong))
	}
	return replacement, ok
}

// rewrite returns a value with its violations repaired; nil if the member is to be removed. What has
// duplicate keys stays as it is.
func (r *rewriter) rewrite(value []byte, t *violationTree) []byte {
	if replacement, ok := r.try(value, t); ok || len(t.members) == 0 {
		if ok {
			return replacement
		}
		return value
	}
	before := len(r.repairs)
	var out []byte
	var err error
	switch value[0] {
	case '{':
		seen := map[string]bool{}
		out = []byte{'{'}
		err = wire.Members(value, func(m wire.Member) error {
			part := wire.Bytes(value, m.Value)
			if inner := t.members[string(m.Name)]; inner != nil {
				seen[string(m.Name)] = true
				if part = r.rewrite(part, inner); part == nil {
					return nil
				}
			}
			out = append(append(append(out, value[m.Key.Start:m.Value.Start]...), part...), ',')
			return nil
		})
		for _, name := range slices.Sorted(maps.Keys(t.members)) {
			if seen[name] {
				continue
			}
			if with, ok := r.try(nil, t.members[name]); ok {
				key := wire.AppendString(nil, name)
				out = append(append(append(append(out, key...), ':'), with...), ',')
			}
		}
		out = append(bytes.TrimSuffix(out, []byte{','}), '}')
	case '[':
		n := 0
		out = []byte{'['}
		err = wire.Elements(value, func(element core.Span) error {
			part := wire.Bytes(value, element)
			if inner := t.members[strconv.Itoa(n)]; inner != nil {
				part = r.rewrite(part, inner) // an element is never removed
			}
			out, n = append(append(out, part...), ','), n+1
			return nil
		})
		out = append(bytes.TrimSuffix(out, []byte{','}), ']')
	default:
		return value
	}
	if err != nil {
		r.repairs = r.repairs[:before]
	}
	if len(r.repairs) == before {
		return value
	}
	return out
}

//go:embed schemas/*.json
var files embed.FS

// schemas are the requirements for the items of one kind.
type schemas struct{ legacy, modern, clients *schema.Schema }

// definitions are the names of the items in the schemas of MCP.
var definitions = map[core.Kind]string{
	core.Tools: "Tool", core.Prompts: "Prompt", core.Resources: "Resource", core.Templates: "ResourceTemplate",
}

// documents are the files of schemas.
var documents = struct{ legacy, modern, clients func() document }{once("2025-11-25"), once("2026-07-28"), once("clients")}

func once(name string) func() document { return sync.OnceValue(func() document { return load(name) }) }

// compiled holds the schemas of each kind. Compiling takes milliseconds, so each is compiled when it
// is needed.
var compiled = func() map[core.Kind]func() schemas {
	all := map[core.Kind]func() schemas{}
	for kind, name := range definitions {
		all[kind] = sync.OnceValue(func() schemas {
			return schemas{documents.legacy().compile(name), documents.modern().compile(name), documents.clients().compile(name)}
		})
	}
	return all
}()

func schemasOf(kind core.Kind) schemas { return compiled[kind]() }

type document struct {
	Schema string                     `json:"$schema"`
	Defs   map[string]json.RawMessage `json:"$defs"`
}

func load(name string) (d document) {
	src, err := files.ReadFile("schemas/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(src, &d)
	}
	if err != nil {
		panic(err) // the file is part of the program
	}
	return d
}

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// compile compiles one definition with those that it refers to. The whole document would be too
// large to be bounded.
func (d document) compile(name string) *schema.Schema {
	used := map[string]json.RawMessage{}
	var add func(name string)
	add = func(name string) {
		if used[name] != nil {
			return
		}
		used[name] = d.Defs[name]
		for _, found := range reference.FindAllSubmatch(d.Defs[name], -1) {
			add(string(found[1]))
		}
	}
	add(name)
	src, err := json.Marshal(map[string]any{"$schema": d.Schema, "$ref": "#/$defs/" + name, "$defs": used})
	s := schema.Compile(src)
	if err != nil || s == nil {
		panic("revision: cannot compile the schema of " + name)
	}
	return s
}

// argumentName is what the APIs of widespread models accept as the name of an argument.
var argumentName = osutil.LazyRegexp(`^[a-zA-Z0-9_.-]{1,64}$`)

// lookaround begins a group that regular expressions of models' APIs do not support.
var lookaround = osutil.LazyRegexp(`\(\?(<?[=!])`)

const excludeIt = `; if a client reports an error of its model, exclude the tool with "excludeTools"`

// ModelAPIProblems returns what MCP clients accept in a tool, but the APIs of some models refuse
// together with all other tools of the request.
func ModelAPIProblems(tool []byte) (problems []string) {
	spans, err := wire.Pick(tool, "inputSchema")
	if input := wire.Bytes(tool, spans[0]); err == nil && len(input) > 0 && len(input) <= maxRepaired && input[0] == '{' {
		var root map[string]json.RawMessage
		_ = json.Unmarshal(input, &root)
		for _, key := range []string{"oneOf", "anyOf", "allOf"} {
			if root[key] != nil {
				problems = append(problems, fmt.Sprintf("its inputSchema has %q at the top level, which the APIs of some models refuse%s", key, excludeIt))
				break
			}
		}
		var arguments map[string]json.RawMessage
		_ = json.Unmarshal(root["properties"], &arguments)
		for name := range arguments {
			if !argumentName().MatchString(name) {
				problems = append(problems, `the name of an argument has characters other than letters, digits, "_", "." and "-", or more than 64, which the APIs of some models refuse; rename the argument in the server, or exclude the tool with "excludeTools"`)
				break
			}
		}
		var found keywordProblems
		if bytes.Contains(input, []byte(`"pattern"`)) || bytes.Contains(input, []byte(`"array"`)) {
			if doc, err := wire.Decode(input); err == nil {
				found.visit(doc)
			}
		}
		if found.lookaround {
			problems = append(problems, `a "pattern" of its inputSchema looks ahead or behind, which the APIs of some models refuse`+excludeIt)
		}
		if found.noItems {
			problems = append(problems, `an array of its inputSchema has no "items", which the APIs of some models refuse`+excludeIt)
		}
	}
	return problems
}

// keywordProblems are the problems in the keywords of a schema, at any depth.
type keywordProblems struct{ lookaround, noItems bool }

func (p *keywordProblems) visit(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, part := range s {
			p.visit(part)
		}
	case map[string]any:
		if pattern, ok := s["pattern"].(string); ok && lookaround().MatchString(pattern) {
			p.lookaround = true
		}
		if s["type"] == "array" && s["items"] == nil && s["prefixItems"] == nil {
			p.noItems = true
		}
		for key, part := range s {
			switch positions[key] {
			case dataPosition:
			case namesPosition:
				if named, ok := part.(map[string]any); ok {
					for _, one := range named {
						p.visit(one)
					}
				}
			default:
				p.visit(part)
			}
		}
	}
}
