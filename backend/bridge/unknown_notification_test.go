package bridge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// A client treats a refused HTTP request as a broken connection.
func TestUnknownNotificationIsIgnored(t *testing.T) {
	s := newFixture(t, nil)
	legacy := s.openSession("/mcp", `{}`)
	for method, want := range map[string]int{
		"notifications/from/2030":   http.StatusAccepted,
		"notifications/initialized": http.StatusAccepted,
		"tools/call":                http.StatusBadRequest, // a request whose id was forgotten
	} {
		if resp := s.post("/mcp", `{"jsonrpc":"2.0","method":"`+method+`","params":{}}`, legacy...); resp.StatusCode != want {
			t.Errorf("legacy, %s: %s", method, resp.Status)
		}
	}
	body := modernBody("notifications/from/2030", "")
	one := strings.Replace(body, `"id":"m-1",`, "", 1)
	if one == body {
		t.Fatal(body)
	}
	if resp := s.post("/mcp", one, versionHeader, core.ModernVersion, methodHeader, "notifications/from/2030"); resp.StatusCode != http.StatusAccepted {
		t.Errorf("modern: %s", resp.Status)
	}
}
