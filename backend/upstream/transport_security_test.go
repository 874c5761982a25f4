package upstream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestPlainHTTPIsLimitedToLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:8080/mcp":            true,
		"http://127.9.9.9/mcp":                 true,
		"http://[::1]:8080/mcp":                true,
		"http://[::ffff:127.0.0.1]/mcp":        true,
		"http://LocalHost:1/mcp":               true,
		"https://example.com/mcp":              true,
		"http://example.com/mcp":               false,
		"http://127.0.0.1.example.com/mcp":     false,
		"http://localhost.example.com/mcp":     false,
		"http://127.0.0.1@example.com/mcp":     false,
		"http://example.com#127.0.0.1":         false,
		"http://10.0.0.1/mcp":                  false,
		"http://0.0.0.0/mcp":                   false,
		"http://[fe80::1%25lo]/mcp":            false,
		"HTTP://example.com/mcp":               false,
		"http://2130706433/mcp":                false,
		"http://host.docker.internal:3000/mcp": false,
	} {
		err := (&Remote{URL: address}).checkTransportSecurity("s")
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if err := (&Remote{URL: address, AllowInsecure: true}).checkTransportSecurity("s"); err != nil {
			t.Errorf("%s, allowed: %v", address, err)
		}
	}
	reached := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer proxy.Close()
	t.Setenv("http_proxy", proxy.URL)
	_, err := Connect(context.Background(), Options{Server: "s", Remote: &Remote{URL: "http://example.invalid/mcp", Header: http.Header{"Authorization": {"secret"}}}})
	if core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), "plain http") || reached {
		t.Errorf("%v, reached %v", err, reached)
	}
}
