package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "update the golden files")

func TestOpenAPIDocumentIsUpToDate(t *testing.T) {
	s := newSite(t)
	status, body, _ := s.ask(t, "GET", "/api/openapi.json", "")
	var out bytes.Buffer
	require.Equal(t, 200, status)
	require.NoError(t, json.Indent(&out, []byte(body), "", "  "))
	out.WriteByte('\n')
	golden(t, "openapi.json", out.Bytes(), *update)
	require.Contains(t, out.String(), `"openapi": "3.1.0"`, "the document is not 3.1 without $schema links")
	require.NotContains(t, out.String(), "$schema", "the document is not 3.1 without $schema links")
}

// TestEveryRouteNeedsAToken checks that every route that is not on the short list below responds
// with 401 to requests without credentials, whatever the method.
func TestEveryRouteNeedsAToken(t *testing.T) {
	s := newSite(t)
	open := []string{"GET /healthz", "GET /health", "POST /api/session", "/"}
	seen := 0
	for _, route := range s.api.Routes() {
		method, path, ok := strings.Cut(route.Pattern, " ")
		methods := []string{method}
		if !ok {
			path, methods = route.Pattern, []string{"GET", "POST", "PUT", "DELETE"}
		}
		path = strings.NewReplacer("{id}", "files", "{action}", "stop").Replace(path)
		assert.Equal(t, route.Access == Anyone, slices.Contains(open, route.Pattern))
		if route.Access == Anyone {
			continue
		}
		seen++
		for _, method := range methods {
			for _, headers := range [][]string{nil, {"Authorization", "Bearer dbr_wrong"}, {"X-Drawbridge-Key", "x", "Cookie", s.api.Options.Sessions.CookieName() + "=x"}, {"X-Drawbridge-Client", "admin"}} {
				status, body, _ := s.plain(t, method, path+"?token="+s.admin, "", headers...)
				if status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
					t.Errorf("%s %s with %v answers %d: %s", method, path, headers, status, body)
				}
			}
		}
	}
	if seen < 15 || len(s.did) > 0 {
		t.Fatalf("%d routes tried, and %v was done", seen, s.did)
	}
}

func TestOneTimeCodeAdmitsOneBrowser(t *testing.T) {
	s := newSite(t)
	_, body, _ := s.ask(t, "POST", "/api/v1/open-code", "{}")
	var open desktop.OpenAddress
	require.Truef(t, json.Unmarshal([]byte(body), &open) == nil && strings.HasPrefix(open.URL, s.url+"/#code="), "got %s", body)
	code, _ := json.Marshal(map[string]string{"code": strings.TrimPrefix(open.URL, s.url+"/#code=")})
	status, body, header := s.plain(t, "POST", "/api/session", string(code))
	var got struct{ Key string }
	require.Truef(t, status == 200 && json.Unmarshal([]byte(body), &got) == nil && got.Key != "", "%d %s", status, body)
	cookie := header.Get("Set-Cookie")
	for _, want := range []string{"drawbridge_", "HttpOnly", "SameSite=Strict", "Path=/"} {
		assert.Contains(t, cookie, want)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"both halves": {[]string{"Cookie", pair, "X-Drawbridge-Key", got.Key}, 200},
		"cookie only": {[]string{"Cookie", pair}, 401},
		"key only":    {[]string{"X-Drawbridge-Key", got.Key}, 401},
	} {
		if status, _, _ := s.plain(t, "GET", "/api/v1/status", "", c.headers...); status != c.want {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _, _ := s.plain(t, "POST", "/api/session", string(code)); status != 401 {
		t.Errorf("the code works twice: %d", status)
	}
}

func TestErrorsNeverRepeatTheInput(t *testing.T) {
	s := newSite(t)
	const canary = "cAnArY"
	for _, c := range []struct {
		method, path, body string
		status             int
		code               core.Code
	}{
		{"GET", "/api/v1/calls?limit=" + canary, "", 400, core.CodeValidation},
		{"GET", "/api/v1/calls?outcome=" + canary, "", 400, core.CodeValidation},
		{"GET", "/api/v1/calls?before=" + canary, "", 400, core.CodeValidation},
		{"GET", "/api/v1/calls?limit=501", "", 400, core.CodeValidation},
		{"GET", "/api/v1/calls/" + canary, "", 400, core.CodeValidation},
		{"GET", "/api/v1/calls/77", "", 404, core.CodeNotFound},
		{"GET", "/api/v1/servers/" + canary, "", 404, core.CodeNotFound},
		{"POST", "/api/v1/servers/files/" + canary, "", 400, core.CodeValidation},
		{"GET", "/api/v1/servers/" + canary + "/debug", "", 404, core.CodeNotFound},
		{"DELETE", "/api/v1/servers/" + canary, "", 404, core.CodeNotFound},
		{"GET", "/api/v1/tools?server=" + canary, "", 404, core.CodeNotFound},
		{"POST", "/api/v1/servers", `{"name":"","entry":"` + canary + `"}`, 400, core.CodeValidation},
		{"POST", "/api/v1/approvals/" + canary, `{"action":"accept"}`, 404, core.CodeNotFound},
		{"POST", "/api/v1/approvals/command:" + canary + ":1", `{"action":"accept"}`, 404, core.CodeNotFound},
		{"POST", "/api/v1/approvals/1", `{"action":"` + canary + `"}`, 400, core.CodeValidation},
		{"GET", "/api/v1/" + canary, "", 404, core.CodeNotFound},
		{"POST", "/api/v1/call", `{"server":"` + canary, 400, core.CodeValidation},
		{"POST", "/api/v1/call", `{"server":{"a":"` + canary + `"},"tool":1}`, 400, core.CodeValidation},
		{"POST", "/api/v1/call", `{"server":"files","tool":"echo","arguments":["` + canary + `"]}`, 400, core.CodeValidation},
		{"POST", "/api/v1/call", `["` + canary + `"]`, 400, core.CodeValidation},
		{"POST", "/api/v1/call", "", 400, core.CodeValidation},
		{"POST", "/api/v1/call", `{"server":"` + canary + strings.Repeat("a", web.MaxRequest) + `"}`, 413, core.CodeValidation},
		{"POST", "/api/v1/call", `{"server":"a","tool":"b","` + canary + `":1}`, 400, core.CodeValidation},
		{"PUT", "/api/v1/config", `{"text":"` + canary + `"}`, 428, core.CodeValidation},
		{"DELETE", "/api/v1/status", "", 404, core.CodeNotFound},
		{"GET", "/metrics", "", 404, core.CodeNotFound},
		{"POST", "/api/session", `{"code":"` + canary + `"}`, 401, core.CodeUnauthorized},
	} {
		status, body, header := s.ask(t, c.method, c.path, c.body)
		var p web.ErrorDocument
		if err := json.Unmarshal([]byte(body), &p); err != nil || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %s is not a problem document", c.method, c.path, status, body)
			continue
		}
		assert.Truef(t, status == c.status && p.Code == c.code && p.Status == status && p.Detail != "", "%s %s: %d %s", c.method, c.path, status, body)
		assert.NotContainsf(t, body, canary, "%s %s", c.method, c.path)
		assert.NotContainsf(t, body, `"value"`, "%s %s", c.method, c.path)
	}
}

func TestHealthReportsProblems(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	status, body, _ := s.plain(t, "GET", "/healthz", "")
	require.Equal(t, 200, status)
	require.Equal(t, `{"status":"ok","version":"1.2.3","reasons":[]}`, strings.TrimSpace(body))
	s.statuses = append(s.statuses, core.ServerStatus{ID: "git", State: core.StateFailed, Reason: "it exits"})
	s.problems = []config.Problem{{Message: "wrong"}, {Message: "odd", Warning: true}}
	status, body, _ = s.ask(t, "GET", "/health", "")
	if status != 200 || strings.TrimSpace(body) != `{"status":"degraded","version":"1.2.3","reasons":[{"server":"git","state":"crashed","reason":"it exits"},{"server":"","state":"config","reason":"the configuration has errors: 1"}]}` {
		t.Fatalf("%d %s", status, body)
	}
}

func TestHealthWithoutTokenReportsCodesAndCountsOnly(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{
		{ID: "planted-one", State: core.StateFailed, Reason: "cannot run /home/planted"},
		{ID: "planted-two", State: core.StateFailed, Reason: "planted"},
		{ID: "planted-three", State: core.StateNeedsSignIn, Reason: "https://planted"},
	}
	const want = `{"status":"degraded","version":"1.2.3","reasons":[{"server":"","state":"crashed","reason":"crashed","count":2},{"server":"","state":"needs-login","reason":"needs-login","count":1}]}`
	for _, headers := range [][]string{nil, {"Authorization", "Bearer dbr_wrong"}, {"X-Drawbridge-Client", "admin"}} {
		status, body, _ := s.plain(t, "GET", "/healthz", "", headers...)
		assert.Equalf(t, 200, status, "with %v", headers)
		assert.Equalf(t, want, strings.TrimSpace(body), "with %v", headers)
	}
	client, err := s.api.Tokens.Create("cursor")
	require.NoError(t, err)
	for _, token := range []string{s.admin, client.Token} {
		_, body, _ := s.plain(t, "GET", "/healthz", "", "Authorization", "Bearer "+token)
		assert.Truef(t, strings.Count(body, "planted") == 6 && !strings.Contains(body, "count"), "with a token: %s", body)
	}
}

func TestConfigReplaceNeedsCurrentVersion(t *testing.T) {
	s := newSite(t)
	_, body, header := s.ask(t, "GET", "/api/v1/config", "")
	require.Equal(t, `"tag-{"`, header.Get("ETag"))
	require.Contains(t, body, `"text":"{}"`)
	if status, _, _ := s.ask(t, "PUT", "/api/v1/config", `{"text":"[]"}`, "If-Match", `"tag-old"`); status != http.StatusPreconditionFailed || s.text != "{}" {
		t.Errorf("a stale write gives %d, and the file is %s", status, s.text)
	}
	const mine = `{\"mcpServers\": {\"new\": {\"command\": \"x\"}}}`
	if status, _, _ := s.ask(t, "PUT", "/api/v1/config", `{"text":"`+mine+`"}`, "If-Match", `"tag-{"`); status != 200 || !slices.Contains(s.did, "expect command new x") {
		t.Errorf("%d, a command that the user wrote is not expected: %q", status, s.did)
	}
	if status, body, _ := s.ask(t, "PUT", "/api/v1/config", `{"text":"[1]"}`, "If-Match", `"tag-{"`); status != 200 || s.text != "[1]" || !strings.Contains(body, `"etag":"tag-["`) {
		t.Errorf("%d %s, and the file is %s", status, body, s.text)
	}
}

func TestPageHasStrictContentSecurityPolicy(t *testing.T) {
	s := newSite(t)
	status, body, h := s.plain(t, "GET", "/", "")
	require.Truef(t, status == 200 && strings.HasPrefix(body, "<p>page") && h.Get("Content-Type") == "text/html; charset=utf-8", "%d %s %v", status, body, h)
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	} {
		assert.Truef(t, strings.HasPrefix(h.Get(name), want), "%s is %q", name, h.Get(name))
	}
	assert.NotContains(t, h.Get("Content-Security-Policy"), "unsafe", "the policy allows something unsafe")
	for _, want := range []string{"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "require-trusted-types-for 'script'", "connect-src 'self'"} {
		assert.Contains(t, h.Get("Content-Security-Policy"), want, "the policy lacks")
	}
	_, nonce, _ := strings.Cut(h.Get("Content-Security-Policy"), "style-src 'self' 'nonce-")
	nonce, _, _ = strings.Cut(nonce, "';")
	assert.Truef(t, len(nonce) >= 22 && strings.Contains(body, nonce), "nonce %q in %q", nonce, body)
	_, again, _ := s.plain(t, "GET", "/", "")
	assert.NotEqual(t, body, again, "the nonce is the same for every response")
	for name := range h {
		assert.Falsef(t, strings.HasPrefix(name, "Access-Control"), "CORS header %s", name)
	}
	_, _, h = s.plain(t, "GET", "/assets/a-1.js", "")
	assert.NotContains(t, h.Get("Content-Security-Policy"), "nonce", "a policy of a file has a nonce")
	require.Equal(t, "public, max-age=31536000, immutable", h.Get("Cache-Control"), "an asset")
	require.Equal(t, "text/javascript; charset=utf-8", h.Get("Content-Type"), "an asset")
}

func TestPageFilesAreCompressedForThoseWhoAccept(t *testing.T) {
	s := newSite(t)
	for accepts, encoding := range map[string]string{"gzip, deflate, br": "gzip", "br;q=1, gzip; q=0.5": "gzip", "identity": "", "gzip;q=0": "", "br": ""} {
		_, body, h := s.plain(t, "GET", "/assets/a-1.js", "", "Accept-Encoding", accepts)
		if encoding != "" {
			z, err := gzip.NewReader(strings.NewReader(body))
			require.NoError(t, err)
			plain, err := io.ReadAll(z)
			require.NoError(t, err)
			body = string(plain)
		}
		assert.Truef(t, h.Get("Content-Encoding") == encoding && body == "1" && h.Get("Vary") == "Accept-Encoding", "%s: %q, %v", accepts, body, h)
	}
	// The document has a secret of each response in it.
	_, _, h := s.plain(t, "GET", "/", "", "Accept-Encoding", "gzip")
	assert.Empty(t, h.Get("Content-Encoding"), "the document")
}

func TestOnlyPageFilesAreServed(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/secret.key", "/nope.js", "/../api.go", "/assets", "/assets/", "/%2e%2e/api.go", "/index.html/x"} {
		status, body, _ := s.plain(t, "GET", path, "")
		assert.Equalf(t, http.StatusNotFound, status, "%v %v", path, body)
	}
	status, _, _ := s.plain(t, "POST", "/", "{}")
	assert.Equal(t, http.StatusNotFound, status, "POST /")
}

// disconnectedWriter is a ResponseWriter whose client disconnects before the body is written.
type disconnectedWriter struct {
	http.ResponseWriter
	leave context.CancelFunc
	heads []int
}

func (l *disconnectedWriter) WriteHeader(status int) { l.heads = append(l.heads, status) }

func (l *disconnectedWriter) Write([]byte) (int, error) {
	l.leave()
	return 0, errors.New("broken pipe")
}

func TestResponseHeaderIsWrittenOnceAfterDisconnect(t *testing.T) {
	s := newSite(t)
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/servers", nil)
	r.Header.Set("Authorization", "Bearer "+s.admin)
	w := &disconnectedWriter{ResponseWriter: httptest.NewRecorder(), leave: leave}
	s.api.ServeHTTP(w, r)
	require.Len(t, w.heads, 1, "these heads were written")
	require.Equal(t, http.StatusOK, w.heads[0], "these heads were written")
	assert.Error(t, ctx.Err(), "nothing was written")
}
