package bridge

import "testing"

// However a server spells the keys of MCP Apps in JSON, a client that does not declare the
// extension sees nothing of them. Other escapes stay as they are.
func TestEscapedKeysOfMCPAppsAreHidden(t *testing.T) {
	for tool, want := range map[string]string{
		`{"name":"a","_meta":{"ui\/resourceUri":"ui:\/\/a","x":1.0}}`:                                                `{"name":"a","_meta":{"x":1.0}}`,
		`{"name":"a","_meta":{"ui/resourceUr\u0069":"ui://a"}}`:                                                      `{"name":"a","_meta":{}}`,
		`{"name":"a","_meta":{"u\u0069":{"resourceUri":"ui://a"}},"description":"\u00e9\n"}`:                         `{"name":"a","_meta":{},"description":"\u00e9\n"}`,
		`{"name":"a","\u005fmeta":{"\u0075i":{"resourceUri":"ui://a"}}}`:                                             `{"name":"a","\u005fmeta":{}}`,
		`{"name":"a","_meta":{"u\u0069":{"visib\u0069lity":["app"]}}}`:                                               ``,
		`{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"},"u\u0069":{"resourceUri":"b"}}}`:                         ``,
		`{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"}},"_met\u0061":{"ui":{"x":"b"}}}`:                         ``,
		`{"name":"a","description":"\u00e9 \"ui\"","_meta":{"ui2":{"ui":1}}}`:                                        `{"name":"a","description":"\u00e9 \"ui\"","_meta":{"ui2":{"ui":1}}}`,
		`{"name":"a","inputSchema":{"type":"object","properties":{"ui":{}}},"description":"C:\\users","_meta":null}`: `{"name":"a","inputSchema":{"type":"object","properties":{"ui":{}}},"description":"C:\\users","_meta":null}`,
	} {
		checkEqual(t, tool, string(withoutApps([]byte(`{"tools":[`+tool+`]}`))), `{"tools":[`+want+`]}`)
	}
}
