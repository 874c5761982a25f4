package upstream

import (
	"errors"
	"net/http"
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
	sent := 0
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, errors.New("offline")
	})}
	_, err := Connect(t.Context(), Options{Server: "s", Remote: &Remote{URL: "http://example.invalid/mcp", HTTP: client}})
	if core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), "plain http") || sent != 0 {
		t.Errorf("%v, %d requests were sent", err, sent)
	}
}

// roundTrip is a function that sends HTTP requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
