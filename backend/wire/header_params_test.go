package wire

import (
	"strings"
	"testing"
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
		if _, reason := HeaderParams([]byte(raw)); (reason == "") != (want == "") || !strings.Contains(reason, want) {
			t.Errorf("%s: %q", raw, reason)
		}
	}
	list, _ := HeaderParams([]byte(`{"inputSchema":{"type":"object","properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"n"}}}}}}`))
	if len(list) != 1 || list[0].Header != "Mcp-Param-N" || strings.Join(list[0].Path, ".") != "b.c" {
		t.Errorf("%+v", list)
	}
	for arguments, want := range map[string]string{`{"b":{"c":42}}`: "42", `{"b":{"c":1e3}}`: "1000", `{"b":{"c":null}}`: "", `{"b":1}`: "", `{}`: "", `{"b":{"c":true}}`: "true"} {
		if got, _ := (HeaderParam{Path: []string{"b", "c"}}).Argument([]byte(arguments)); got != want {
			t.Errorf("%s: %q", arguments, got)
		}
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
		if got := (HeaderParam{Path: []string{"a"}}).Matches([]byte(c.arguments), c.header); got != c.want {
			t.Errorf("%s and %q: %t", c.arguments, c.header, got)
		}
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
		if got, ok := HeaderText(in); !ok || got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if _, ok := HeaderText("=?base64?%%%?="); ok {
		t.Error("broken base64 passes")
	}
}

func FuzzHeaderText(f *testing.F) {
	f.Add("a\u00fc ")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := HeaderText(HeaderValue(text)); !ok || got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
