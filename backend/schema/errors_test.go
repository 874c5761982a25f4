package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachInvalidArgumentIsExplainedForModels(t *testing.T) {
	const old = `"$schema":"http://json-schema.org/draft-07/schema#",`
	for _, c := range []struct{ schema, value, want string }{
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, ``},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":[]}`, `a must be string or null, not array`},
		{`{"properties":{"a":{"minimum":1,"exclusiveMaximum":3}}}`, `{"a":3}`, `a must be less than 3`},
		{`{"properties":{"a":{"minimum":1}}}`, `{"a":0.5}`, `a must be at least 1`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":2.0}`, ``},
		{`{"properties":{"a":{"maximum":9007199254740992}}}`, `{"a":9007199254740993}`, `arguments does not match the schema`},
		{`{"properties":{"a":{"maximum":0}}}`, `{"a":1e700}`, `a must be at most 0`},
		{`{"properties":{"a":{"const":"x"}}}`, `{"a":"secret"}`, `a must be "x"`},
		{`{"properties":{"a":{"enum":[1,{"b":2.0}]}}}`, `{"a":{"b":2}}`, ``},
		{`{"properties":{"a":{"pattern":"^x","minLength":3}}}`, `{"a":"y"}`, `a contains 1 characters; the minimum is 3|a does not match the pattern ^x`},
		{`{"properties":{"a":{"items":{"type":"string"},"maxItems":1}}}`, `{"a":[1,"b",2]}`, `a contains 3 items; the maximum is 1|a.0 must be string, not number|a.2 must be string, not number`},
		{`{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}`, `{"a":["x",1]}`, `a.1 is not allowed`},
		{`{` + old + `"properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":[1,1]}`, `a.0 must be string, not number|a.1 is not allowed`},
		{`{"patternProperties":{"^n":{"type":"number"}},"additionalProperties":{"type":"string"}}`, `{"n1":"x","o":2,"p":"y"}`, `n1 must be number, not string|o must be string, not number`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","required":["b"]}]}}}`, `{"a":{}}`, `a matches none of the allowed schemas`},
		{`{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":true}`, `a matches none of the allowed schemas`},
		{`{"properties":{"a":{"oneOf":[{"minimum":1},{"minimum":2}]}}}`, `{"a":3}`, `arguments does not match the schema`},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `a is required|b is required`},
		{`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, `{"a":1}`, `a must be string, not number`},
		{`{` + old + `"properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},"definitions":{"s":{"type":"string"}}}`, `{"a":"long"}`, ``},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `arguments does not match the schema`},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, `arguments does not match the schema`},
		{`{"unevaluatedProperties":false}`, `{"a":1}`, `arguments does not match the schema`},
		{`false`, `{"a":1}`, `arguments is not allowed`},
		// Formats are enforced in the older dialects only.
		{`{"properties":{"a":{"format":"email"}}}`, `{"a":"secret"}`, ``},
		{`{` + old + `"properties":{"a":{"format":"email"},"b":{"format":"nothing we know"}}}`, `{"a":"secret","b":""}`, `a is not a valid email`},
		{`{` + old + `"properties":{"a":{"anyOf":[{"format":"ipv4"},{"format":"ipv6"}]}}}`, `{"a":"::1"}`, ``},
		{`{"$schema":"http://json-schema.org/draft-06/schema","properties":{"a":{"format":"date-time"}}}`, `{"a":"2026-01-01t00:00:00z"}`, ``},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"a":{"type":"string"}}}`, `{"a":1}`, `a must be string, not number`},
		{`{"$schema":"https://example.com/mine","properties":{"a":{"type":"string"}}}`, `{"a":1}`, ``},
	} {
		assert.Equalf(t, c.want, wordsOf(t, c.schema, c.value), "%s with %s", c.schema, c.value)
	}
}

func wordsOf(t *testing.T, schema, value string) string {
	t.Helper()
	s := Compile([]byte(schema))
	if s == nil {
		return ""
	}
	v, err := wire.Decode([]byte(value))
	require.NoError(t, err)
	var words []string
	for _, f := range s.Check(v) {
		words = append(words, cmp.Or(f.Field, "arguments")+" "+f.Error)
	}
	return strings.Join(words, "|")
}

func TestFormatsOfOlderSchemaDialects(t *testing.T) {
	for format, values := range map[string][2]string{
		"date-time": {"2026-11-22T10:00:00.5+01:00", "2026-11-22 10:00"}, "date": {"2026-11-22", "2026-13-01"},
		"email": {"a@example.com", "A <a@example.com>"}, "ipv4": {"127.0.0.1", "127.0.0.1.1"}, "ipv6": {"fe80::1", "fe80::1%eth0"},
		"uri": {"https://example.com/a?b", "/a"}, "uuid": {"2Eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa98-11ea-b4aa-73b441d1638-0"},
	} {
		if fits := formats[format]; !fits(values[0]) || fits(values[1]) {
			t.Errorf("%s: %v and %v", format, fits(values[0]), fits(values[1]))
		}
	}
}

// validationErrors must not report errors for arguments that the library accepts, because valid
// calls would be refused.
func FuzzValidArgumentsAreAccepted(f *testing.F) {
	parts := []string{`true`, `{}`, `{"type":"string"}`, `{"type":["integer","null"]}`, `{"minimum":2,"maximum":3}`, `{"enum":[1,"a",null]}`,
		`{"items":{"type":"integer"},"minItems":1}`, `{"prefixItems":[{"type":"string"}]}`, `{"required":["a"]}`, `{"additionalProperties":false}`,
		`{"properties":{"a":{"type":"number"}},"additionalProperties":false}`, `{"patternProperties":{"^a":{"const":1.0}}}`, `{"pattern":"^a+$"}`}
	values := []string{`null`, `1`, `2.5`, `1e400`, `"a"`, `[]`, `[1,"a"]`, `{}`, `{"a":1}`, `{"b":{"a":"a"}}`}
	for i, a := range parts {
		b := parts[(i*5+3)%len(parts)]
		for _, shape := range []string{`%s`, `{"allOf":[%s,%s]}`, `{"anyOf":[%s,%s]}`, `{"oneOf":[%s,%s]}`, `{"properties":{"a":%s},"not":%s}`, `{"items":[%s,%s],"$schema":"http://json-schema.org/draft-07/schema#"}`} {
			schema := fmt.Sprintf(shape, slices.Repeat([]any{a, b}, 1)[:strings.Count(shape, "%s")]...)
			for _, v := range values {
				f.Add(schema, v)
			}
		}
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s := Compile([]byte(schema))
		v, err := wire.Decode([]byte(value))
		if s == nil || err != nil || strings.Contains(schema, "format") {
			return
		}
		defer func() { _ = recover() }() // the library panics on this schema: Check accepts the value
		if s.validator.Validate(v) != nil {
			return
		}
		m := validationErrors{doc: s.doc, legacyDialect: s.legacyDialect}
		if m.validate(s.doc, v, nil); len(m.errors) > 0 {
			t.Errorf("%s fits %s, and is blamed: %v", value, schema, m.errors)
		}
	})
}

// The library decodes numbers as float64. What it would compare wrongly refuses nothing.
func TestLargeIntegersAreComparedExactly(t *testing.T) {
	for _, c := range []struct {
		schema, content string
		fits            bool
	}{
		{`{"properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740993}`, true},
		{`{"properties":{"n":{"const":9007199254740992}}}`, `{"n":9007199254740993}`, false},
		{`{"properties":{"n":{"enum":[9007199254740992]}}}`, `{"n":9007199254740993}`, false},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":9007199254740993}`, true},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1.0}`, true},
		{`{"properties":{"n":{"type":"integer","maximum":3}}}`, `{"n":4}`, false},
		{`{"properties":{"n":{"type":"number","multipleOf":0.5}}}`, `{"n":1.5}`, true},
		{`{"properties":{"n":{"type":"number","multipleOf":0.5}}}`, `{"n":1.3}`, false},
		{`{"properties":{"n":{"type":"number","multipleOf":0.1}}}`, `{"n":0.3}`, true},
		{`{"properties":{"n":{"type":"number","multipleOf":0.01}}}`, `{"n":19.99}`, true},
		{`{"properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740993}`, true},
		{`{"properties":{"n":{"exclusiveMaximum":9007199254740993}}}`, `{"n":9007199254740992}`, true},
		{`{"properties":{"n":{"minimum":-9007199254740993}}}`, `{"n":-9007199254740993}`, true},
		{`{"properties":{"n":{"maximum":9007199254740992}}}`, `{"n":9007199254740993}`, false},
		{`{"properties":{"n":{"maximum":9223372036854775807}}}`, `{"n":"x"}`, true},
		{`{"properties":{"n":{"maximum":9223372036854775807,"type":"integer"}}}`, `{"n":"x"}`, false},
	} {
		value, err := wire.Decode([]byte(c.content))
		require.NoError(t, err)
		assert.Equalf(t, c.fits, len(Compile([]byte(c.schema)).Check(value)) == 0, "%s with %s", c.content, c.schema)
	}
}
