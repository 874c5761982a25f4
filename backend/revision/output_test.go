package revision

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

func TestOutputsAreWrappedForOlderClients(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"array","items":{"type":"string"}}`:                                          `{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"]}`,
		`{"$schema":"S","oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}],"$defs":{"a":{"n":1.0}}}`: `{"$schema":"S","type":"object","properties":{"result":{"$schema":"S","oneOf":[{"$ref":"#/properties/result/$defs/a"},{"$ref":"#/properties/result"}],"$defs":{"a":{"n":1.0}}}},"required":["result"]}`,
		// Names and data that look like references.
		`{"properties":{"$ref":{"$ref":"#/$defs/a~1b"}},"const":{"$ref":"#"},"$defs":{"a/b":{}}}`:  `{"type":"object","properties":{"result":{"properties":{"$ref":{"$ref":"#/properties/result/$defs/a~1b"}},"const":{"$ref":"#"},"$defs":{"a/b":{}}}},"required":["result"]}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`: `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"result":{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$ref":"#/properties/result"}}},"required":["result"]}`,
		`{"items":{"$recursiveRef":"#"}}`:                   `{"type":"object","properties":{"result":{"items":{"$recursiveRef":"#"}}},"required":["result"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`: "",
	} {
		tool := `{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + in + `}`
		wanted := tool
		if want != "" {
			wanted = `{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + want + `}`
		}
		assert.Equal(t, wanted, string(ForLegacy(core.Tools, []byte(tool))), in)
		assert.Equal(t, want != "", WrapsOutput([]byte(tool)), in)
	}
	for _, tt := range []struct {
		in     string
		always bool
		want   string
	}{
		{`{"content":[],"structuredContent":[1.0,2]}`, false, `{"content":[],"structuredContent":{"result":[1.0,2]}}`},
		{`{"structuredContent" : "x","content":[]}`, false, `{"structuredContent" : {"result":"x"},"content":[]}`},
		{`{"content":[],"structuredContent":{"a":1}}`, false, ""},
		{`{"content":[],"structuredContent":{"a":1}}`, true, `{"content":[],"structuredContent":{"result":{"a":1}}}`},
		{`{"content":[],"structuredContent":null}`, false, `{"content":[],"structuredContent":{"result":null}}`},
		{`{"content":[{"type":"text","text":"\"structuredContent\":[1]"}]}`, false, ""},
		{`{"content":[],"_meta":{"structuredContent":[1]}}`, false, ""},
		{`{"content":[],"structuredContent":{"structuredContent":[1]}}`, false, ""},
		{`{"content":[]}`, true, ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.in
		}
		assert.Equal(t, want, string(WrapOutput([]byte(tt.in), tt.always)), tt.in)
	}
}

// The cases are what SDK v1 refuses together with the whole list, and what it accepts.
func TestToolIsGivenToOlderClientsWithoutInvalidOutputSchema(t *testing.T) {
	for schema, valid := range map[string]bool{
		`{"type":5}`: false, `{"type":"text"}`: false, `{"type":[]}`: false, `{"type":"object","properties":{"a":{"type":"any"}}}`: false,
		`{"type":"object","properties":{"a":5}}`: false, `{"type":"object","required":"a"}`: false, `{"type":"object","required":[1]}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`: false, `{"type":"object","properties":{"a":{"$ref":"other.json"}}}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#/%24defs/b"}},"$defs":{"b":{}}}`: false, `{"type":"object","properties":{"a":{"$id":"x"}}}`: false,
		`{"type":"object","properties":{"a":{"pattern":"["}}}`: false, `{"type":"object","properties":{"a":{"pattern":"a\\@b"}}}`: false,
		`{"type":"object","properties":{"a":{"pattern":"(?P<n>a)"}}}`: false, `{"type":"object","patternProperties":{"[":{}}}`: false,
		`{"type":"object","properties":{"a":{"enum":[]}}}`: false, `{"type":"object","anyOf":[]}`: false, `{"type":"object","anyOf":[5]}`: false,
		`{"type":"object","properties":{"a":{"minimum":"5"}}}`: false, `{"type":"object","properties":{"a":{"nullable":true}}}`: false,
		`{"type":"object","additionalProperties":"no"}`: false, `{"type":"object","x":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}`: true,
		`{"type":"object","not":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}`:                                                        false,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/$defs/c/anyOf/1"}},"$defs":{"c":{"anyOf":[{},true]}}}`:                                    true,
		`{"type":"object","properties":{"a":{"pattern":"^[\\w.-]+(?:\\.\\d{2})?$","format":"vendor","default":{"type":5},"enum":[{"$ref":"x"}],"x":{"type":5}}}}`: true,
		`{"type":"object","$id":"x"}`: false, `{"type":"object","x":[{"$anchor":"a"}]}`: false, `{"$ref":"#"}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$ref":"#/$defs/c"},"c":{"$ref":"#/$defs/b"}}}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#/x"}},"x":{"type":5}}`:                                                    false, `{"type":"object","allOf":[{}],"properties":{"a":{"$ref":"#/allOf/00"}}}`: false,
		`{"type":"object","properties":{"a":{"type":["null","string"],"nullable":false}}}`: false, `{"type":"object","dependencies":{"a":null}}`: false,
		`{"type":"object","default":{"type":5},"properties":{"a":{"$ref":"#/default"}}}`: false,
		`{"type":"object","id":"x"}`: false, `{"type":"object","formatMinimum":5}`: false, `{"type":"object","nullable":"x"}`: false,
		`{"$schema":"https://z","type":"object","items":[{}],"dependencies":{"a":["b"]},"additionalProperties":false}`: true,
	} {
		tool := `{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + schema + `}`
		raw, odd := Check(core.Tools, []byte(tool))
		if string(raw) != tool || (odd == nil) != valid || !valid && (len(odd.Repairs) != 1 || odd.Unreadable != "") {
			t.Errorf("%s: %+v, %s", schema, odd, raw)
		}
		assert.Equal(t, valid, strings.Contains(string(ForLegacy(core.Tools, raw)), "outputSchema"), schema)
	}
}

func TestOnlyPatternsThatAreValidInJavaScriptArePlain(t *testing.T) {
	for _, valid := range []string{``, `^a$`, `^[a-z0-9_-]+$`, `[^\w.-]`, `\d{3}(?:,\d{1,})?`, `^a.*?z$`, `\bx\b`, `[-a]`, `[\[\]{}]`, `ü|\.`} {
		assert.Truef(t, isPlainPattern(valid), "%s is refused", valid)
	}
	for _, invalid := range []string{`[`, `(`, `a{,5}`, `}`, `]`, `[a-\d]`, `[\d-x]`, `(?i)x`, `\-`, `x{2}{3}`, `(?=x)*`, `(?!x)`, `\b+`, `\B*`, `^*`, `[]`, `[^]`, `\Z`, `\A`, `(?P<a>b)`, `a**`, `[[:alpha:]]`, `\@`, `[z-a]`, `*`} {
		assert.Falsef(t, isPlainPattern(invalid), "%s is accepted", invalid)
	}
}
