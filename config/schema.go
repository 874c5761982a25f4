package config

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
)

// schemaNode is what the parser needs of an object or a key in schema.json.
type schemaNode struct {
	Enum             []string
	Minimum, Maximum float64
	ExclusiveMinimum float64
	MinLength        int
	Default          json.RawMessage
	Properties       map[string]*schemaNode
	Defs             map[string]*schemaNode `json:"$defs"`

	standard *node // the default, or an object of defaults; nil if there is none
}

var schemaTree = sync.OnceValue(func() *schemaNode {
	root := new(schemaNode)
	if err := json.Unmarshal(schema, root); err != nil {
		panic("config/schema.json: " + err.Error()) // it is embedded, and tests read it
	}
	root.parseDefaults()
	for _, def := range root.Defs {
		def.parseDefaults()
	}
	return root
})

func (s *schemaNode) parseDefaults() {
	if s.Default != nil {
		s.standard, _ = tree("schema.json", s.Default)
	}
	for name, key := range s.Properties {
		if key.parseDefaults(); key.standard != nil {
			s.standard = cmp.Or(s.standard, &node{kind: kindObject})
			s.standard.members = append(s.standard.members, member{name: name, value: key.standard})
		}
	}
}

// setDefaults sets the fields of the struct to whose keys have a default.
func (s *schemaNode) setDefaults(to any) {
	for _, f := range s.fields(to) {
		if n := s.Properties[f.name].standard; n != nil {
			f.read(&reader{}, f.name, Position{}, n)
		}
	}
}

// formats are checks of strings that the schema cannot express, by their name in tags.
var formats = map[string]func(string) string{
	"http": validateHTTPURL, "loopback": validateLoopback, "id": validateServerID, "tool": validateToolName, "document": validateDocumentURL, "memory": validateMemorySize,
	"container": nameMatching(`^/?[A-Za-z0-9][A-Za-z0-9_.-]*$`, "letters, digits and _ . -"),
	"image":     nameMatching(`^[A-Za-z0-9][A-Za-z0-9_.-]*([/:@][A-Za-z0-9_][A-Za-z0-9_.-]*)*$`, "letters, digits and _ . - with / : @ between them"),
}

// fields returns the fields of an object: more, and one for each field of the struct to with a tag
// key:"NAME" or key:"NAME,FORMAT". FORMAT is a check, or not for a key that clears the field. Types come from the struct, words and limits from the schema.
func (s *schemaNode) fields(to any, more ...field) []field {
	v := reflect.ValueOf(to).Elem()
	for i := range v.NumField() {
		if name, format, _ := strings.Cut(v.Type().Field(i).Tag.Get("key"), ","); name != "" {
			more = append(more, s.field(name, format, v.Field(i).Addr().Interface()))
		}
	}
	return more
}

func (s *schemaNode) field(name, format string, to any) field {
	key := s.Properties[name]
	least, most := int64(key.Minimum), int64(key.Maximum)
	if key.Maximum == 0 {
		most = math.MaxInt64 / 2
	}
	switch to := to.(type) {
	case *string:
		if key.Enum != nil {
			return oneOf(name, to, key.Enum...)
		}
		var checks []func(string) string
		if key.MinLength > 0 {
			checks = append(checks, validateNotBlank)
		}
		if check := formats[format]; check != nil {
			checks = append(checks, check)
		}
		return str(name, to, checks...)
	case *bool:
		return booleanSetter(name, func(on bool) { *to = on == (format != "not") })
	case *[]string:
		return list(name, to)
	case *map[string]string:
		return stringMap(name, to, nil)
	case *int:
		return whole(name, least, most, func(v int64) { *to = int(v) })
	case *int64:
		return whole(name, least, most, func(v int64) { *to = v })
	case *float64:
		return number(name, key.ExclusiveMinimum, key.Maximum, func(_ string, v float64) { *to = v })
	case *[]time.Duration:
		return delays(name, to)
	case *time.Duration:
		unit := time.Millisecond
		if strings.HasSuffix(name, "Days") {
			unit = 24 * time.Hour
		}
		return whole(name, least, most, func(v int64) { *to = time.Duration(v) * unit })
	}
	return section(name, key.fields(to)...)
}

// section is the key of an object that is read to a struct.
func (s *schemaNode) section(name string, to any, more ...field) field {
	return section(name, s.Properties[name].fields(to, more...)...)
}

//go:embed default.jsonc
var starter []byte

//go:embed schema.json
var schema []byte

// Starter is the commented file that a new installation begins with.
func Starter() []byte { return append([]byte(nil), starter...) }

// Schema is the JSON Schema (draft 2020-12) of the format, for editors.
func Schema() []byte { return append([]byte(nil), schema...) }
