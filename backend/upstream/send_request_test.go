package upstream

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
		if _, reason := parseHeaderParams([]byte(raw)); (reason == "") != (want == "") || !strings.Contains(reason, want) {
			t.Errorf("%s: %q", raw, reason)
		}
	}
	list, _ := parseHeaderParams([]byte(`{"inputSchema":{"type":"object","properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"n"}}}}}}`))
	if len(list) != 1 || list[0].header != "Mcp-Param-N" || strings.Join(list[0].path, ".") != "b.c" {
		t.Errorf("%+v", list)
	}
	for arguments, want := range map[string]string{`{"b":{"c":42}}`: "42", `{"b":{"c":1e3}}`: "1000", `{"b":{"c":null}}`: "", `{"b":1}`: "", `{}`: "", `{"b":{"c":true}}`: "true"} {
		if got, _ := headerArgument([]byte(arguments), []string{"b", "c"}); got != want {
			t.Errorf("%s: %q", arguments, got)
		}
	}
}
