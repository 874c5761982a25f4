package policy

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// maxFields is how many wrong values one refusal names.
const maxFields = 20

// input refuses arguments that do not fit the tool's schema, where the configuration
// wants that. A schema that cannot be understood refuses nothing: the server judges.
func (p *Policy) input(call *core.Call, t *tool, target registry.Target) error {
	if !t.validate || call.Method != "tools/call" || target.Raw == nil {
		return nil
	}
	schema := p.inputs.schema(call.Server, call.Name, target.Raw)
	if schema == nil {
		return nil
	}
	value, err := wire.Decode(arguments(call))
	if err != nil {
		return invalid(call, []core.FieldError{{Field: "arguments", Error: "cannot be read"}})
	}
	if wrong := schema.check(value); len(wrong) > 0 {
		return invalid(call, wrong)
	}
	return nil
}

// invalid says every field in the sentence, too: it is what a model reads.
func invalid(call *core.Call, fields []core.FieldError) error {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Error
	}
	e := core.Errorf(core.CodeValidation, "the arguments of tool %q do not fit its schema: %s", call.Name, strings.Join(parts, "; "))
	e.Fields, e.Hint = fields, "Correct the arguments and call again."
	return e
}

// schemaCache holds the schemas that were compiled. The zero value is ready to use.
type schemaCache struct {
	mu  sync.Mutex // guards all
	all map[[2]string]compiled
}

type compiled struct {
	raw    *byte // of the definition that it was made from
	schema *inputSchema
}

// maxCompiled bounds the schemas that are kept.
const maxCompiled = 4096

// schema returns the tool's, compiled when it is first needed; nil when it cannot be.
func (i *schemaCache) schema(server, tool string, raw []byte) *inputSchema {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := [2]string{server, tool}
	if c, ok := i.all[key]; ok && c.raw == &raw[0] {
		return c.schema
	}
	if i.all == nil || len(i.all) >= maxCompiled {
		i.all = make(map[[2]string]compiled)
	}
	c := compiled{&raw[0], compileSchema(raw)}
	i.all[key] = c
	return c.schema
}

// inputSchema is a tool's schema of its arguments, ready to be used.
type inputSchema struct {
	judge *jsonschema.Resolved // decides whether arguments fit
	doc   any                  // the same schema, by which misfits finds what does not
	old   bool                 // a dialect in which format is a rule and $ref stands alone
}

// check names what of value does not fit; nothing when all does, or when the library
// finds in a stranger's schema what it does not expect.
func (s *inputSchema) check(value any) (wrong []core.FieldError) {
	defer func() {
		if recover() != nil {
			wrong = nil
		}
	}()
	fits := s.judge.Validate(value) == nil
	if fits && !s.old {
		return nil
	}
	m := validationErrors{doc: s.doc, old: s.old}
	m.validate(s.doc, value, nil)
	if !fits && len(m.list) == 0 {
		m.add(nil, "does not fit the schema")
	}
	return m.list
}

const (
	draft7 = "http://json-schema.org/draft-07/schema#"
	latest = "https://json-schema.org/draft/2020-12/schema"
)

// dialects are those that are understood, by what stands for each: the library knows
// two. Draft 6 is a part of draft 7, and what draft 4 and 2019-09 say otherwise is not
// understood or refused before.
var dialects = map[string]string{
	"": latest, "json-schema.org/schema": latest, "json-schema.org/draft/2020-12/schema": latest, "json-schema.org/draft/2019-09/schema": latest,
	"json-schema.org/draft-07/schema": draft7, "json-schema.org/draft-06/schema": draft7, "json-schema.org/draft-04/schema": draft7,
}

// dialect returns what stands for the dialect that a schema names.
func dialect(name string) (stands string, ok bool) {
	name = strings.TrimSuffix(name, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "http://"), "https://")
	stands, ok = dialects[name]
	return stands, ok
}

func compileSchema(raw []byte) (schema *inputSchema) {
	defer func() {
		if recover() != nil {
			schema = nil // a stranger's schema
		}
	}()
	var tool struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(raw, &tool) != nil || len(tool.InputSchema) == 0 {
		return nil
	}
	doc, err := wire.Decode(tool.InputSchema)
	if err != nil || !bounded(doc) || wire.HasInexactNumber(doc) {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(tool.InputSchema, &s) != nil {
		return nil
	}
	var known bool
	if s.Schema, known = dialect(s.Schema); !known {
		return nil
	}
	judge, err := s.Resolve(nil) // without a loader nothing is fetched
	if err != nil {
		return nil
	}
	return &inputSchema{judge: judge, doc: doc, old: s.Schema == draft7}
}
