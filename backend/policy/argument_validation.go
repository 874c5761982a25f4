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

// maxFields limits how many invalid fields an error names.
const maxFields = 20

// validateArguments refuses arguments that do not match the tool's input schema, if validation is
// enabled. With an unsupported schema it refuses nothing and leaves validation to the server.
func (p *Policy) validateArguments(call *core.Call, t *tool, target registry.Target) error {
	if !t.validate || call.Method != "tools/call" || target.Raw == nil {
		return nil
	}
	schema := p.inputs.schema(call.Server, call.Name, target.Raw)
	if schema == nil {
		return nil
	}
	value, err := wire.Decode(argumentsOf(call))
	if err != nil {
		return invalidArgumentsError(call, []core.FieldError{{Field: "arguments", Error: "cannot be parsed"}})
	}
	if wrong := schema.check(value); len(wrong) > 0 {
		return invalidArgumentsError(call, wrong)
	}
	return nil
}

// invalidArgumentsError returns the error for invalid arguments. The message also names the fields,
// because models read only the message.
func invalidArgumentsError(call *core.Call, fields []core.FieldError) error {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Error
	}
	e := core.Errorf(core.CodeValidation, "the arguments of tool %q do not match its schema: %s", call.Name, strings.Join(parts, "; "))
	e.Fields, e.Hint = fields, "Correct the arguments and call again."
	return e
}

// schemaCache caches compiled schemas. The zero value is ready to use.
type schemaCache struct {
	mu      sync.Mutex // guards all
	entries map[[2]string]compiledSchema
}

type compiledSchema struct {
	raw    *byte // first byte of the definition, which identifies it
	schema *inputSchema
}

// maxCompiled limits the cached schemas.
const maxCompiled = 4096

// schema returns the compiled schema of a tool, or nil if it is unsupported. It is compiled on
// first use.
func (i *schemaCache) schema(server, tool string, raw []byte) *inputSchema {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := [2]string{server, tool}
	if c, ok := i.entries[key]; ok && c.raw == &raw[0] {
		return c.schema
	}
	if i.entries == nil || len(i.entries) >= maxCompiled {
		i.entries = make(map[[2]string]compiledSchema)
	}
	c := compiledSchema{&raw[0], compileSchema(raw)}
	i.entries[key] = c
	return c.schema
}

// inputSchema is the compiled input schema of a tool.
type inputSchema struct {
	validator     *jsonschema.Resolved // decides whether arguments are valid
	doc           any                  // decoded schema, for validationErrors
	legacyDialect bool                 // draft 7 or older: format is enforced, and keywords beside $ref are ignored
}

// check returns the invalid fields of value. It returns nil if value is valid, or if the library
// panics on an untrusted schema.
func (s *inputSchema) check(value any) (wrong []core.FieldError) {
	defer func() {
		if recover() != nil {
			wrong = nil
		}
	}()
	fits := s.validator.Validate(value) == nil
	if fits && !s.legacyDialect {
		return nil
	}
	m := validationErrors{doc: s.doc, legacyDialect: s.legacyDialect}
	m.validate(s.doc, value, nil)
	if !fits && len(m.errors) == 0 {
		m.add(nil, "does not match the schema")
	}
	return m.errors
}

const (
	draft7 = "http://json-schema.org/draft-07/schema#"
	latest = "https://json-schema.org/draft/2020-12/schema"
)

// dialects maps the supported dialects to the two that the library implements. Draft 6 is a subset
// of draft 7. The incompatible parts of draft 4 and 2019-09 are either unsupported or rejected
// before.
var dialects = map[string]string{
	"": latest, "json-schema.org/schema": latest, "json-schema.org/draft/2020-12/schema": latest, "json-schema.org/draft/2019-09/schema": latest,
	"json-schema.org/draft-07/schema": draft7, "json-schema.org/draft-06/schema": draft7, "json-schema.org/draft-04/schema": draft7,
}

// dialect returns the implemented dialect for the $schema of a schema.
func dialect(name string) (implemented string, ok bool) {
	name = strings.TrimSuffix(name, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "http://"), "https://")
	implemented, ok = dialects[name]
	return implemented, ok
}

func compileSchema(raw []byte) (schema *inputSchema) {
	defer func() {
		if recover() != nil {
			schema = nil // untrusted schema on which the library panics
		}
	}()
	var tool struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(raw, &tool) != nil || len(tool.InputSchema) == 0 {
		return nil
	}
	doc, err := wire.Decode(tool.InputSchema)
	if err != nil || !wire.IsBoundedSchema(doc) || wire.HasInexactNumber(doc) {
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
	judge, err := s.Resolve(nil) // without a loader, remote references are not fetched
	if err != nil {
		return nil
	}
	return &inputSchema{validator: judge, doc: doc, legacyDialect: s.Schema == draft7}
}
