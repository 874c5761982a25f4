package loopback

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGuardMatrix tests all combinations of header values: a request passes if and only if every
// header is acceptable.
func TestGuardMatrix(t *testing.T) {
	t.Parallel()
	type value struct {
		is    string
		right bool
	}
	reached := 0
	guard := Guard(GuardOptions{Port: testPort, IsPageShell: shell})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	tried, passed := 0, 0
	for _, method := range []value{{"GET", true}, {"HEAD", true}, {"POST", true}, {"PUT", true}, {"DELETE", true}, {"PATCH", true}, {"OPTIONS", false}, {"TRACE", false}, {"get", false}} {
		for _, path := range []string{"/", "/mcp", "/s/files/mcp", "/api/v1/call", "/healthz", "/nothing"} {
			for _, host := range []value{{"127.0.0.1:7575", true}, {"localhost:7575", true}, {"[::1]:7575", true}, {"evil.test:7575", false}, {"127.0.0.1", false}, {"127.0.0.1:7576", false}, {"", false}} {
				for _, origin := range []value{{"", true}, {"http://127.0.0.1:7575", true}, {"http://localhost:7575", true}, {"null", false}, {"https://127.0.0.1:7575", false}, {"http://evil.test:7575", false}} {
					for _, site := range []value{{"", true}, {"none", true}, {"same-origin", true}, {"same-site", false}, {"cross-site", false}} {
						for _, kind := range []value{{"application/json", true}, {"", false}, {"text/plain", false}} {
							for _, upgrade := range []value{{"", true}, {"websocket", false}} {
								body := ""
								if method.is == "POST" || method.is == "PUT" || method.is == "PATCH" {
									body = "{}"
								}
								r := httptest.NewRequest("POST", path, strings.NewReader(body))
								r.Method, r.Host = method.is, host.is
								set := func(name, v string) {
									if v != "" {
										r.Header[name] = []string{v}
									}
								}
								set("Origin", origin.is)
								set("Sec-Fetch-Site", site.is)
								set("Content-Type", kind.is)
								set("Upgrade", upgrade.is)
								before := reached
								w := httptest.NewRecorder()
								guard.ServeHTTP(w, r)
								tried++
								want := method.right && host.right && origin.right && site.right && upgrade.right && (kind.right || body == "")
								if got := reached > before; got != want {
									t.Errorf("%s %s, host %q, origin %q, site %q, type %q, upgrade %q: passes %v, want %v (%d)",
										method.is, path, host.is, origin.is, site.is, kind.is, upgrade.is, got, want, w.Code)
								}
								if want {
									passed++
								} else if w.Code < 400 || strings.Contains(w.Body.String(), "evil") {
									t.Errorf("refused with %d %s", w.Code, w.Body)
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations, %d of them right", tried, passed)
}
