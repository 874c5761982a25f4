package bridge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.Equalf(t, want, s.post("/mcp", `{"jsonrpc":"2.0","method":"`+method+`","params":{}}`, legacy...).StatusCode, "legacy, %s", method)
	}
	body := modernBody("notifications/from/2030", "")
	one := strings.Replace(body, `"id":"m-1",`, "", 1)
	require.NotEqual(t, body, one)
	assert.Equal(t, http.StatusAccepted, s.post("/mcp", one, versionHeader, core.ModernVersion, methodHeader, "notifications/from/2030").StatusCode)
}
