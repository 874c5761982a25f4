package api

import (
	"net/http"
	"strings"
	"testing"
)

func TestPageHasStrictContentSecurityPolicy(t *testing.T) {
	s := newSite(t)
	status, body, h := s.plain(t, "GET", "/", "")
	if status != 200 || !strings.HasPrefix(body, "<p>page") || h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s %v", status, body, h)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	} {
		if !strings.HasPrefix(h.Get(name), want) {
			t.Errorf("%s is %q", name, h.Get(name))
		}
	}
	if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows something unsafe")
	}
	for _, want := range []string{"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "require-trusted-types-for 'script'", "connect-src 'self'"} {
		if !strings.Contains(h.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	_, nonce, _ := strings.Cut(h.Get("Content-Security-Policy"), "style-src 'self' 'nonce-")
	nonce, _, _ = strings.Cut(nonce, "';")
	if len(nonce) < 22 || !strings.Contains(body, nonce) {
		t.Errorf("nonce %q in %q", nonce, body)
	}
	if _, again, _ := s.plain(t, "GET", "/", ""); again == body {
		t.Error("the nonce is the same for every response")
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control") {
			t.Errorf("CORS header %s", name)
		}
	}
	_, _, h = s.plain(t, "GET", "/assets/a-1.js", "")
	if strings.Contains(h.Get("Content-Security-Policy"), "nonce") {
		t.Error("a policy of a file has a nonce")
	}
	if h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("an asset has %v", h)
	}
}

func TestOnlyPageFilesAreServed(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/secret.key", "/nope.js", "/../api.go", "/assets", "/assets/", "/%2e%2e/api.go", "/index.html/x"} {
		if status, body, _ := s.plain(t, "GET", path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, _ := s.plain(t, "POST", "/", "{}"); status != http.StatusNotFound {
		t.Errorf("POST /: %d", status)
	}
}
