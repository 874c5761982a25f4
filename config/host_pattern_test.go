package config

import (
	"strings"
	"testing"
)

// A pattern that no host can match is an error that says what to write; other spellings of an
// address become the one with which hosts are compared.
func TestHostPatternMatchesOrIsRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"[::1]": "::1", "0:0:0:0:0:0:0:1": "::1", "[0000::0001]": "::1", "::FFFF:127.0.0.1": "127.0.0.1", "fe80::1%lo": "fe80::1",
		"FD00::*": "fd00::*", "[fe80:*]": "fe80:*", "2001:db8:*:?": "2001:db8:*:?", "*": "*", "Example.COM.": "example.com", "*.example.com": "*.example.com",
		"169.254.*": "169.254.*", "127.0.0.1": "127.0.0.1", "localhost": "localhost", "a_b.c": "a_b.c", "*::1": "*::1", "0xabc.com": "0xabc.com",
	} {
		list, problems := ParseArgumentRules("c.json", []byte(`[{"where": {"/u": {"host": "`+pattern+`"}}, "then": "deny"}]`))
		if len(problems) > 0 || list[0].Where.All[0].Test.Host[0] != want {
			t.Errorf("%s: %+v, %v", pattern, list, problems)
		}
	}
	for pattern, suggestion := range map[string]string{
		"localhost:8080": "without the port", "127.0.0.1:80": "without the port", "*:8080": "without the port", "[::1]:80": "without the port", "localhost:*": "without the port",
		"*.example.com:443": "without the port", "[*]:80": "without the port",
		"http:": "without a scheme", "https:*": "without a scheme", "https://a.b": "without a scheme", "mailto:x": "without a scheme",
		"127.1": "four decimal numbers", "0x7f.1": "four decimal numbers", "2130706433": "four decimal numbers", "127.000.000.001": "four decimal numbers", "256.1.1.1": "four decimal numbers",
		"1:2:3": "IPv6", "[::1": "IPv6", "::g": "IPv6", "fd00:0001:*": "IPv6", "a b": "only the host", "a/b": "only the host", "bücher.de": "xn--", "a@b": "only the host", "a\\tb": "only the host", ".": "only the host", "a..": "only the host",
	} {
		_, problems := ParseArgumentRules("c.json", []byte(`[{"where": {"/u": {"host": ["`+pattern+`"]}}, "then": "deny"}]`))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "host pattern") || !strings.Contains(problems[0].Suggestion, suggestion) {
			t.Errorf("%s: %+v", pattern, problems)
		}
	}
}
