package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"drawbridge/backend/hub"
	"drawbridge/backend/registry"
)

// maxFields is how many wrong values one refusal names.
const maxFields = 20

// input refuses arguments that do not fit the tool's schema, where the configuration
// wants that. A schema that cannot be understood refuses nothing: the server judges.
func (p *Policy) input(call *hub.Call, t *tool, target registry.Target) error {
	if !t.validate || call.Method != "tools/call" || target.Raw == nil {
		return nil
	}
	schema := p.inputs.schema(call.Server, call.Name, target.Raw)
	if schema == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments(call)))
	if err != nil {
		return invalid(call, []hub.FieldError{{Field: "arguments", Error: "cannot be read"}})
	}
	if wrong, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(value)); ok {
		return invalid(call, fieldsOf(wrong))
	}
	return nil
}

// invalid says every field in the sentence, too: it is what a model reads.
func invalid(call *hub.Call, fields []hub.FieldError) error {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Error
	}
	e := hub.Errorf(hub.CodeValidation, "the arguments of tool %q do not fit its schema: %s", call.Name, strings.Join(parts, "; "))
	e.Fields, e.Hint = fields, "Correct the arguments and call again."
	return e
}

// fieldsOf names what is wrong without repeating a value.
func fieldsOf(e *jsonschema.ValidationError) (list []hub.FieldError) {
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(list) == maxFields {
			return
		}
		if alternatives(e.ErrorKind) { // each branch complains for itself: that would confuse
			list = append(list, hub.FieldError{Field: path(e.InstanceLocation), Error: "fits none of the forms that are allowed"})
			return
		}
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		for _, f := range complaint(e) {
			if !slices.Contains(list, f) && len(list) < maxFields {
				list = append(list, f)
			}
		}
	}
	walk(e)
	return list
}

func alternatives(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return true
	}
	return false
}

func complaint(e *jsonschema.ValidationError) []hub.FieldError {
	at := path(e.InstanceLocation)
	one := func(format string, about ...any) []hub.FieldError {
		return []hub.FieldError{{Field: at, Error: fmt.Sprintf(format, about...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return named(e, k.Missing, "is required")
	case *kind.AdditionalProperties:
		return named(e, k.Properties, "is not known")
	case *kind.Type:
		return one("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		want, err := json.Marshal(k.Want)
		if err != nil || len(want) > 300 {
			return one("is none of the values that are allowed")
		}
		return one("must be one of %s", want)
	case *kind.Minimum, *kind.ExclusiveMinimum:
		return one("is too small")
	case *kind.Maximum, *kind.ExclusiveMaximum:
		return one("is too large")
	case *kind.MinLength, *kind.MinItems, *kind.MinProperties:
		return one("is too short")
	case *kind.MaxLength, *kind.MaxItems, *kind.MaxProperties:
		return one("is too long")
	case *kind.Pattern:
		return one("does not fit the pattern %.100s", k.Want)
	case *kind.Format:
		return one("is no valid %.50s", k.Want)
	}
	return one("does not fit the schema")
}

func named(e *jsonschema.ValidationError, names []string, what string) (list []hub.FieldError) {
	for _, name := range names {
		list = append(list, hub.FieldError{Field: path(append(slices.Clone(e.InstanceLocation), name)), Error: what})
	}
	return list
}

// path names a place in the arguments. Names come from the caller: long ones are cut.
func path(parts []string) string {
	if len(parts) == 0 {
		return "arguments"
	}
	short := make([]string, len(parts))
	for i, part := range parts {
		short[i] = shorten(part)
	}
	return strings.Join(short, ".")
}

// inputs holds the schemas that were compiled. The zero value is ready.
type inputs struct {
	mu  sync.Mutex // guards all
	all map[[2]string]compiled
}

type compiled struct {
	raw    *byte // of the definition that it was made from
	schema *jsonschema.Schema
}

// maxCompiled bounds the schemas that are kept.
const maxCompiled = 4096

// schema returns the tool's, compiled when it is first needed; nil when it cannot be.
func (i *inputs) schema(server, tool string, raw []byte) *jsonschema.Schema {
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

// noLoader keeps a stranger's schema from reading files or the network.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("references lead nowhere else") }

func compileSchema(raw []byte) (schema *jsonschema.Schema) {
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
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.InputSchema))
	if err != nil || !bounded(doc) {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	const at = "tool:input"
	if c.AddResource(at, doc) != nil {
		return nil
	}
	schema, err = c.Compile(at)
	if err != nil {
		return nil
	}
	return schema
}
