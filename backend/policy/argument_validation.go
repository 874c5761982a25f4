package policy

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/schema"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// validateArguments refuses arguments that do not match the tool's input schema, if validation is
// enabled. With an unsupported schema it refuses nothing and leaves validation to the server.
func (p *Policy) validateArguments(call *core.Call, t *tool, target registry.Target) error {
	if !t.validate || call.Method != "tools/call" || target.Raw == nil {
		return nil
	}
	input := p.inputs.schema(call.Server, call.Name, target.Raw)
	if input == nil {
		return nil
	}
	value, err := wire.Decode(argumentsOf(call))
	if err != nil {
		return invalidArgumentsError(call, []core.FieldError{{Field: "arguments", Error: "cannot be parsed"}})
	}
	wrong := input.Check(value)
	for i := range wrong {
		wrong[i].Field = cmp.Or(wrong[i].Field, "arguments")
	}
	if len(wrong) > 0 {
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
	schema *schema.Schema
}

// maxCompiled limits the cached schemas.
const maxCompiled = 4096

// schema returns the compiled schema of a tool, or nil if it is unsupported. It is compiled on
// first use.
func (i *schemaCache) schema(server, tool string, raw []byte) *schema.Schema {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := [2]string{server, tool}
	if c, ok := i.entries[key]; ok && c.raw == &raw[0] {
		return c.schema
	}
	if i.entries == nil || len(i.entries) >= maxCompiled {
		i.entries = make(map[[2]string]compiledSchema)
	}
	var definition struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	_ = json.Unmarshal(raw, &definition) // without a valid schema there is nothing to compile
	c := compiledSchema{&raw[0], schema.Compile(definition.InputSchema)}
	i.entries[key] = c
	return c.schema
}
