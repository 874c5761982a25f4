package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	validator     *jsonschema.Resolved // decides whether a value is valid
	doc           any                  // decoded schema, for validationErrors
	legacyDialect bool                 // draft 7 or older: format is enforced, and keywords beside $ref are ignored
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

// Compile compiles a schema. It returns nil if raw is invalid or not supported: a schema that is
// too large when its references are expanded, that refers to other documents, or that compares
// with a number that float64 cannot represent.
func Compile(raw []byte) (schema *Schema) {
	defer func() {
		if recover() != nil {
			schema = nil // untrusted schema on which the library panics
		}
	}()
	doc, err := wire.Decode(raw)
	if err != nil || !isBounded(doc) || hasInexactNumber(doc) {
		return nil
	}
	s, ok := parse(raw)
	if !ok {
		return nil
	}
	var known bool
	if s.Schema, known = dialect(s.Schema); !known {
		return nil
	}
	validator, err := s.Resolve(nil) // without a loader, remote references are not fetched
	if err != nil {
		return nil
	}
	return &Schema{validator: validator, doc: doc, legacyDialect: s.Schema == draft7}
}

// parse returns the schema as the library understands it, if that is bounded. The library accepts
// keywords in any case and merges duplicate keys, so it may see references that the decoded text
// does not contain. An endless reference ends the process.
func parse(raw []byte) (s jsonschema.Schema, ok bool) {
	if json.Unmarshal(raw, &s) != nil {
		return s, false
	}
	understood, err := json.Marshal(&s)
	if err != nil {
		return s, false
	}
	doc, err := wire.Decode(understood)
	if err != nil || !isBounded(doc) {
		return s, false
	}
	s = jsonschema.Schema{}
	return s, json.Unmarshal(understood, &s) == nil
}

// Check returns the invalid fields of a value from wire.Decode, at most 20. The Field of the whole
// value is "". The errors are written for models and do not quote the value. Check returns nil if
// value is valid, if s is nil, or if the library panics on an untrusted schema.
func (s *Schema) Check(value any) (wrong []core.FieldError) {
	for _, v := range s.Violations(value, maxFields) {
		wrong = append(wrong, core.FieldError{Field: v.Field(), Error: v.Error})
	}
	return wrong
}

// Violations is like Check and returns at most limit violations with their paths.
func (s *Schema) Violations(value any, limit int) (wrong []Violation) {
	if s == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			wrong = nil
		}
	}()
	fits := s.validator.Validate(value) == nil
	if fits && !s.legacyDialect {
		return nil
	}
	m := validationErrors{doc: s.doc, legacyDialect: s.legacyDialect, limit: limit}
	m.validate(s.doc, value, nil)
	if !fits && len(m.errors) == 0 {
		m.add(nil, "does not match the schema")
	}
	return m.errors
}

// maxSchemaNodes limits the number of nodes of a schema after all references are expanded.
// Validation against a larger or recursive schema could take too long; schemas are untrusted.
const maxSchemaNodes = 10_000

// isBounded reports whether a decoded JSON Schema has at most 10,000 nodes after all
// references are expanded. It is false for references to other documents.
func isBounded(schema any) bool {
	left := maxSchemaNodes
	return countNodes(schema, schema, 0, &left)
}

func countNodes(doc, node any, depth int, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch n := node.(type) {
	case []any:
		for _, v := range n {
			if !countNodes(doc, v, depth+1, left) {
				return false
			}
		}
	case map[string]any:
		for key, v := range n {
			switch key {
			case "$dynamicRef", "$recursiveRef":
				return false
			case "$id": // changes what the references below mean
				if _, is := v.(string); is && depth > 0 {
					return false
				}
			case "$ref":
				to, ok := resolveRef(doc, v)
				if !ok || !countNodes(doc, to, depth+1, left) {
					return false
				}
				continue
			}
			if !countNodes(doc, v, depth+1, left) {
				return false
			}
		}
	}
	return true
}

// resolveRef follows a $ref with a JSON Pointer (RFC 6901) within doc. It does not support other
// references, nor the percent-encoding, which the library decodes.
func resolveRef(doc, ref any) (any, bool) {
	text, ok := ref.(string)
	if !ok || !strings.HasPrefix(text, "#/") || strings.Contains(text, "%") {
		return nil, false
	}
	for part := range strings.SplitSeq(text[2:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch v := doc.(type) {
		case map[string]any:
			if doc, ok = v[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// hasInexactNumber reports whether a decoded schema compares with a number that float64 cannot
// represent, so that a library that uses float64 would decide wrongly.
func hasInexactNumber(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for key, part := range v {
			if isInexactKeyword(key, part) || hasInexactNumber(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasInexactNumber)
	}
	return false
}

func isInexactKeyword(keyword string, value any) bool {
	switch keyword {
	case "const", "enum":
		return containsRounded(value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		n, whole := value.(int64)
		// MaxInt64 becomes the next float64: no int64 is between them.
		return whole && n != math.MaxInt64 && (float64(n) == 1<<63 || int64(float64(n)) != n)
	case "multipleOf": // by division, 0.3 is not a multiple of 0.1; multiples of 0.5 are found
		f, fraction := value.(float64)
		return fraction && f*(1<<20) != math.Trunc(f*(1<<20)) || containsRounded(value)
	}
	return false
}

func containsRounded(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > 1<<53 || v < -1<<53
	case []any:
		return slices.ContainsFunc(v, containsRounded)
	case map[string]any:
		for _, part := range v {
			if containsRounded(part) {
				return true
			}
		}
	}
	return false
}
