package revision

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestItemsAreRepairedWithoutGuessing(t *testing.T) {
	for _, tt := range []struct {
		kind    core.Kind
		in, out string // out is "" if nothing changes
		legacy  string // of ForLegacy; "" if it is the same
	}{
		{core.Tools, `{"name":"t","n":1.0,"description":null,"inputSchema":{"type":"object"}}`, `{"name":"t","n":1.0,"inputSchema":{"type":"object"}}`, ""},
		{core.Tools, `{"annotations":{"title":null,"readOnlyHint":null,"x":1e3},"name":"t","inputSchema":{"type":"object"},"icons":null,"_meta":null,"outputSchema":null,"title":null}`,
			`{"annotations":{"x":1e3},"name":"t","inputSchema":{"type":"object"}}`, ""},
		{core.Tools, `{"name":"t","icons":[{"src":"a","sizes":null,"theme":null}],"inputSchema":{"type":"object"}}`, `{"name":"t","icons":[{"src":"a"}],"inputSchema":{"type":"object"}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":{}}`, `{"name":"t","inputSchema":{"type":"object"}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":{"anyOf":[{}],"type":null}}`, `{"name":"t","inputSchema":{"anyOf":[{}],"type":"object"}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","properties":null,"required":null}}`, `{"name":"t","inputSchema":{"type":"object"}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":[],"annotations":[],"_meta":[]}`, `{"name":"t","inputSchema":{"type":"object"},"annotations":{},"_meta":{}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","properties":[]}}`, `{"name":"t","inputSchema":{"type":"object","properties":{}}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","properties":{"a.b":null,"c":{"default":null}}}}`, `{"name":"t","inputSchema":{"type":"object","properties":{"a.b":{},"c":{"default":null}}}}`, ""},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","properties":{"a":true,"b":false}}}`, "", `{"name":"t","inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}}}}}`},
		{core.Tools, `{"name":"t","execution":{"taskSupport":null},"inputSchema":{"type":"object"}}`, `{"name":"t","execution":{},"inputSchema":{"type":"object"}}`, ""},
		{core.Prompts, `{"name":"p","description":null,"arguments":[{"name":"a","description":null,"required":null}]}`, `{"name":"p","arguments":[{"name":"a"}]}`, ""},
		{core.Prompts, `{"name":"p","arguments":null}`, `{"name":"p"}`, ""},
		{core.Resources, `{"uri":"a:b","name":"r","mimeType":null,"size":null,"annotations":{"audience":null,"lastModified":null}}`, `{"uri":"a:b","name":"r","annotations":{}}`, ""},
		{core.Templates, `{"uriTemplate":"a:{b}","name":"r","mimeType":null}`, `{"uriTemplate":"a:{b}","name":"r"}`, ""},
	} {
		got, odd := Check(tt.kind, []byte(tt.in))
		want := tt.out
		if want == "" {
			want = tt.in
		}
		if string(got) != want || odd == nil || odd.Unreadable != "" {
			t.Errorf("%s\n got %s\nwant %s\n%+v", tt.in, got, want, odd)
			continue
		}
		assert.Equal(t, tt.out != "", len(odd.Repairs) > 0, tt.in)
		if tt.legacy != "" {
			want = tt.legacy
		}
		after := ForLegacy(tt.kind, got)
		assert.Truef(t, string(after) == want && odd.Converts == (tt.legacy != ""), "%s\nfor legacy clients %s\n want %s", tt.in, after, want)
	}
}

func TestItemsThatCannotBeRepairedAreUnreadable(t *testing.T) {
	for _, tt := range []struct {
		kind       core.Kind
		in, member string
	}{
		{core.Tools, `{"name":"t"}`, "inputSchema"},
		{core.Tools, `{"name":"t","inputSchema":null}`, "inputSchema"},
		{core.Tools, `{"name":"t","inputSchema":"x"}`, "inputSchema"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"string"}}`, "inputSchema.type"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","properties":{"a":1}}}`, "inputSchema.properties.a"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","required":"a"}}`, "inputSchema.required"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","required":[null]}}`, "inputSchema.required.0"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object","properties":"x"}}`, "inputSchema.properties"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"description":5}`, "description"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"}}`, "annotations.readOnlyHint"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"icons":[{"src":null}]}`, "icons.0.src"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"icons":"x"}`, "icons"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"_meta":1}`, "_meta"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}`, "execution.taskSupport"},
		{core.Tools, `{"name":"t","inputSchema":{"type":"object"},"outputSchema":true}`, "outputSchema"},
		{core.Resources, `{"uri":"a:b","name":"r","annotations":{"lastModified":"2025-01-12T15:00:58-24:00"}}`, "annotations.lastModified"},
		{core.Prompts, `{"name":"p","arguments":{}}`, "arguments"},
		{core.Prompts, `{"name":"p","arguments":[{"name":null}]}`, "arguments.0.name"},
		{core.Prompts, `{"name":"p","arguments":[{"name":"a","required":"yes"}]}`, "arguments.0.required"},
		{core.Resources, `{"uri":"a:b"}`, "name"},
		{core.Resources, `{"uri":"a:b","name":null}`, "name"},
		{core.Resources, `{"uri":"a:b","name":"r","size":"12"}`, "size"},
		{core.Resources, `{"uri":"a:b","name":"r","annotations":{"lastModified":"yesterday"}}`, "annotations.lastModified"},
		{core.Resources, `{"uri":"a:b","name":"r","annotations":{"priority":2}}`, "annotations.priority"},
		{core.Templates, `{"uriTemplate":"a:{b}","name":"r","annotations":{"audience":["all"]}}`, "annotations.audience.0"},
	} {
		got, odd := Check(tt.kind, []byte(tt.in))
		if odd == nil {
			t.Errorf("%s is readable", tt.in)
			continue
		}
		if !strings.HasPrefix(odd.Unreadable, `"`+tt.member+`" `) || string(got) != tt.in {
			t.Errorf("%s: %q, given as %s", tt.in, odd.Unreadable, got)
		}
	}
}

func TestWellFormedItemsStayAsTheyAre(t *testing.T) {
	for kind, list := range map[core.Kind][]string{
		core.Tools: {
			`{"name":"t","inputSchema":{"type":"object"}}`,
			`{"title":"T","name":"t","vendor":null,"annotations":{"readOnlyHint":true,"vendor":null},"_meta":{"a":null},"inputSchema":{"type":"object","properties":{"a":{"type":["string","null"],"default":null,"enum":[null]}},"required":[],"$schema":"http://json-schema.org/draft-07/schema#"},"outputSchema":{"type":"object","properties":{}},"execution":{"taskSupport":"optional"},"icons":[{"src":"data:,","mimeType":"image/png","sizes":["any"],"theme":"dark"}]}`,
		},
		core.Prompts:   {`{"name":"p","arguments":[{"name":"a","required":true}]}`},
		core.Resources: {`{"uri":"no uri at all","name":"","size":9007199254740993,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58.123+02:00"}}`},
		core.Templates: {`{"uriTemplate":"{","name":"r"}`},
	} {
		for _, raw := range list {
			got, odd := Check(kind, []byte(raw))
			assert.Truef(t, odd == nil && string(got) == raw, "%s: %+v, %s", raw, odd, got)
		}
	}
}

func TestRepairsAreBounded(t *testing.T) {
	arguments := strings.Repeat(`{"name":"a","description":null},`, 20_000)
	_, odd := Check(core.Prompts, []byte(`{"name":"p","arguments":[`+strings.TrimSuffix(arguments, ",")+`]}`))
	require.NotNil(t, odd, "20,000 repairs")
	require.NotEmpty(t, odd.Unreadable, "20,000 repairs")
}

// FuzzCheckedItemsAreReadable checks that an item that is given to clients matches the schemas, and
// that checking it again changes nothing but the output schema for legacy clients.
func FuzzCheckedItemsAreReadable(f *testing.F) {
	f.Add(`{"name":"t","inputSchema":{"properties":[]},"annotations":{"title":null}}`)
	f.Add(`{"name":"t","inputSchema":{"type":"object","properties":{"a":true}},"outputSchema":{"type":"array","items":{"$ref":"#"}}}`)
	f.Add(`{"uri":"a:b","name":"r","annotations":{"lastModified":null}}`)
	f.Add(`{"name":"","inputSchema":{},"outputSchema":{"type":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var compact json.RawMessage
		if json.Unmarshal([]byte(text), &compact) != nil || len(compact) == 0 || compact[0] != '{' {
			t.Skip()
		}
		for kind := range definitions {
			once, odd := Check(kind, compact)
			if odd == nil {
				continue
			}
			again, still := Check(kind, once)
			forAll := func(repair string) bool { return !strings.HasSuffix(repair, "older get the tool without it") }
			if string(again) != string(once) || still != nil && odd.Unreadable == "" && slices.ContainsFunc(still.Repairs, forAll) {
				t.Errorf("%s\nonce  %s\nagain %s", compact, once, again)
			}
			if converted := ForLegacy(kind, once); odd.Unreadable == "" {
				_, after := Check(kind, converted)
				assert.Falsef(t, after != nil && (after.Unreadable != "" || after.Converts), "%s\nfor legacy clients %s: %+v", compact, converted, after)
			}
		}
	})
}

func TestToolsThatModelAPIsRefuseAreReported(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"oneOf":[{}]},"pattern":{"type":"string"}}}`: "",
		`{"type":"object","oneOf":[{}]}`:                                                                   `"oneOf" at the top level`,
		`{"type":"object","allOf":[{}]}`:                                                                   `"allOf" at the top level`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`:                        "looks ahead",
		`{"type":"object","properties":{"a":{"items":{"pattern":"(?<=x)y"}}}}`:                             "looks ahead",
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?:x)$","default":"(?!x)"}}}`:     "",
		`{"type":"object","properties":{"a b":{}}}`:                                                        "name of an argument",
		`{"type":"object","properties":{"` + strings.Repeat("a", 65) + `":{}}}`:                            "name of an argument",
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                            `no "items"`,
		`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"enum":[{"type":"array"}]}}}`: "",
	} {
		got := ModelAPIProblems([]byte(`{"name":"t","inputSchema":` + schema + `}`))
		if want == "" && len(got) > 0 || want != "" && !slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, want) && strings.Contains(text, "excludeTools") }) {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

func TestNumbersBeyondJavaScriptAreUnreadable(t *testing.T) {
	for number, huge := range map[string]bool{"1e999": true, "-1E+400": true, "1" + strings.Repeat("0", 400): true, "1e300": false, "1e-999": false, `"1e999"`: false} {
		_, odd := Check(core.Tools, []byte(`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"default":`+number+`}}}}`))
		assert.Equal(t, huge, odd != nil && odd.Unreadable != "", number)
	}
}
