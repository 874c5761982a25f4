package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHeaderArgumentsOfToolAreValidatedAndRead(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"object","properties":{"c":{"type":"integer","x-mcp-header":"N"}}}}}}`: "",
		`{"inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"Region"}}}}`:                                                                                "not a string, integer or boolean",
		`{"inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}`:                                                                                   "not a valid header name",
		`{"inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}}`:                                            "the x-mcp-header \"a\" twice",
		`{"inputSchema":"x-mcp-header"}`: "",
	} {
		_, reason := HeaderParams([]byte(raw))
		assert.Truef(t, (reason == "") == (want == "") && strings.Contains(reason, want), "%s: %q", raw, reason)
	}
	list, _ := HeaderParams([]byte(`{"inputSchema":{"type":"object","properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"n"}}}}}}`))
	assert.Truef(t, len(list) == 1 && list[0].Header == "Mcp-Param-N" && strings.Join(list[0].Path, ".") == "b.c", "%+v", list)
	for arguments, want := range map[string]string{`{"b":{"c":42}}`: "42", `{"b":{"c":1e3}}`: "1000", `{"b":{"c":null}}`: "", `{"b":1}`: "", `{}`: "", `{"b":{"c":true}}`: "true"} {
		got, _ := (HeaderParam{Path: []string{"b", "c"}}).Argument([]byte(arguments))
		assert.Equal(t, want, got, arguments)
	}
}

func TestHeaderMatchesTheArgumentThatItRepeats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments, header string
		want              bool
	}{
		{`{"a":"eu"}`, "eu", true}, {`{"a":"eu"}`, "us", false}, {`{"a":"eu"}`, "", false},
		{`{"a":"ü"}`, "=?base64?w7w=?=", true}, {`{"a":"eu"}`, "=?base64?%?=", false}, {`{"a":"5"}`, "5.0", false},
		{`{"a":5}`, "5", true}, {`{"a":5.0}`, "5.0", true}, {`{"a":5}`, "6", false}, {`{"a":5.5}`, "5.5", false}, {`{"a":true}`, "true", true},
		{`{"a":null}`, "", true}, {`{"a":null}`, "eu", false}, {`{}`, "", true}, {`{}`, "eu", false}, {`7`, "eu", false}, {`{"a":{}}`, "eu", false},
	} {
		assert.Equalf(t, c.want, (HeaderParam{Path: []string{"a"}}).Matches([]byte(c.arguments), c.header), "%s and %q", c.arguments, c.header)
	}
}

func TestBase64HeaderNamesAreDecodedBeforeComparison(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                       "plain",
		"=?base64?ZmlsZTovLy/DvA==?=": "file:///ü",
		"=?base64?ZmlsZQ":             "=?base64?ZmlsZQ",
		"=?base64?":                   "=?base64?",
		"=?base64??=":                 "",
	} {
		got, ok := HeaderText(in)
		assert.Truef(t, ok && got == want, "%q: %q", in, got)
	}
	_, ok := HeaderText("=?base64?%%%?=")
	assert.False(t, ok, "broken base64 passes")
}

func FuzzHeaderText(f *testing.F) {
	f.Add("a\u00fc ")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := HeaderText(HeaderValue(text))
		require.Truef(t, ok && got == text, "%q became %q", text, got)
	})
}
