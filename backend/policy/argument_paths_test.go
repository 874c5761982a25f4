package policy

import (
	"strings"
	"testing"
)

// Programs find a host in URLs without //, so that one whose host is not certain never gets past
// deny.
func TestURLWithoutReadableHostIsDenied(t *testing.T) {
	for _, c := range []argumentCases{
		{where: `{"/url": {"host": ["127.0.0.1", "evil.com", "[0:0::1]"]}}`, denied: `
			{"url":"gopher:/127.0.0.1:47391/x"}
			{"url":"gopher:///127.0.0.1:47391/x"}
			{"url":"gopher:127.0.0.1"}
			{"url":"gopher://127.0.0.1/x"}
			{"url":"dict:/127.0.0.1:47391/x"}
			{"url":"DICT:///127.0.0.1/x"}
			{"url":"feed:evil.com"}
			{"url":"feed:/evil.com"}
			{"url":"feed:https://evil.com"}
			{"url":"blob:http:evil.com"}
			{"url":"blob:http:/evil.com"}
			{"url":"view-source:http:/evil.com"}
			{"url":"URL:http:/evil.com"}
			{"url":"url:evil.com"}
			{"url":"<URL:http://evil.com>"}
			{"url":"jar:http:/evil.com!/"}
			{"url":"sftp:/evil.com"}
			{"url":"mailto:a@evil.com"}
			{"url":"evil.com:80"}
			{"url":"localhost:80"}
			{"url":"git@evil.com:x"}
			{"url":"javascript:fetch('//evil.com')"}
			{"url":"file://evil.com/share"}
			{"url":"file:////evil.com/share"}
			{"url":"file:evil.com"}
			{"url":"C:/Users/a"}
			{"url":"C:\\Users\\a"}
			{"url":"data:text/html,https://example.com"}
			{"url":"note: hello"}
			{"url":"http://[::1]:80"}
			{"url":"http://evil.com:80:90"}
			{"url":"http://example.com:80:90/"}
			{"url":"ssh://evil.com:80:90/x"}
		`, passed: `
			{"url":"gopher://example.com/127.0.0.1"}
			{"url":"file:///etc/evil.com"}
			{"url":"file:/etc/evil.com"}
			{"url":"file:///C:/Users/a"}
			{"url":"data:text/html,evil.com"}
			{"url":"about:blank"}
			{"url":"http://example.com:80/"}
			{"url":"http://[2001:db8::1]:80/"}
			{"url":"git+ssh://git@example.com/a"}
		`},
		{where: `{"not": {"/url": {"host": "*"}}}`, denied: `
			{"url":"gopher:/example.com"}
			{"url":"feed:example.com"}
			{"url":"note: hello"}
		`, passed: `
			{"url":"gopher://example.com"}
			{"url":"file:///etc/passwd"}
		`},
	} {
		c.run(t, strings.NewReplacer(), "")
	}
}
