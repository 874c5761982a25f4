package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer is a test MCP server and its authorization server, at one URL.
type fakeServer struct {
	*httptest.Server
	t *testing.T

	mu             sync.Mutex
	changeMetadata func(m map[string]any)                            // changes the metadata
	override       func(w http.ResponseWriter, r *http.Request) bool // handles the request if it returns true
	changeCallback func(q url.Values)                                // changes the query of the callback
	changeToken    func(form url.Values, out map[string]any) int     // changes the token response and returns its status
	lifetime       int
	valid          map[string]bool // access tokens
	refresh        map[string]bool // refresh tokens
	count          map[string]int  // requests by path, and by grant
	serial         int
	resource       string
	revoked        []string
	authHeaders    []string // Authorization headers
}

func newFakeServer(t *testing.T) *fakeServer {
	p := &fakeServer{t: t, lifetime: 3600, valid: map[string]bool{}, refresh: map[string]bool{}, count: map[string]int{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *fakeServer) endpoint() string { return p.URL + "/mcp" }

func (p *fakeServer) requestCount(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[what]
}

// awaitRevoked waits for n revocation requests.
func (p *fakeServer) awaitRevoked(n int) {
	p.t.Helper()
	eventually.True(p.t, fmt.Sprintf("%d tokens are revoked", n), func() bool { return p.requestCount("/revoke") >= n })
}

func (p *fakeServer) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	special := p.override
	p.count[r.URL.Path]++
	p.mu.Unlock()
	if special != nil && special(w, r) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	reply := func(status int, doc map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(doc)
	}
	switch r.URL.Path {
	case "/mcp":
		header := r.Header.Get("Authorization")
		p.authHeaders = append(p.authHeaders, header)
		if !p.valid[strings.TrimPrefix(header, "Bearer ")] {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+p.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	case "/.well-known/oauth-protected-resource/mcp":
		resource := p.resource
		if resource == "" {
			resource = p.URL + "/mcp"
		}
		reply(200, map[string]any{"resource": resource, "authorization_servers": []string{p.URL}})
	case "/.well-known/oauth-authorization-server":
		m := map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize?tenant=1", "token_endpoint": p.URL + "/token",
			"registration_endpoint": p.URL + "/register", "revocation_endpoint": p.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			"authorization_response_iss_parameter_supported": true,
		}
		if p.changeMetadata != nil {
			p.changeMetadata(m)
		}
		reply(200, m)
	case "/register":
		p.serial++
		reply(201, map[string]any{"client_id": fmt.Sprintf("client-%d", p.serial)})
	case "/authorize":
		q := r.URL.Query()
		back := url.Values{"code": {"the-code"}, "state": {q.Get("state")}, "iss": {p.URL}}
		if p.changeCallback != nil {
			p.changeCallback(back)
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		_ = r.ParseForm()
		p.count[r.Form.Get("grant_type")]++
		if old := r.Form.Get("refresh_token"); old != "" {
			if !p.refresh[old] {
				reply(400, map[string]any{"error": "invalid_grant", "error_description": "<b>gone</b>\x1b[31m"})
				return
			}
			delete(p.refresh, old)
		}
		p.serial++
		access, refresh := fmt.Sprintf("access-%d", p.serial), fmt.Sprintf("refresh-%d", p.serial)
		p.valid[access], p.refresh[refresh] = true, true
		out := map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": p.lifetime}
		status := 200
		if p.changeToken != nil {
			status = p.changeToken(r.Form, out)
		}
		reply(status, out)
	case "/revoke":
		_ = r.ParseForm()
		p.revoked = append(p.revoked, r.Form.Get("token"))
	default:
		http.NotFound(w, r)
	}
}

// testKeeper is a Keeper with a real secret store.
type testKeeper struct {
	*Keeper
	t *testing.T
}

func newVault(dir string) Vault {
	return secret.For(dir, func(string) string { return "off" }).InternalValues("oauth")
}

func newTestKeeper(t *testing.T, dir string, change ...func(*Options)) *testKeeper {
	t.Helper()
	o := Options{Vault: newVault(dir)}
	for _, c := range change {
		c(&o)
	}
	k := New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, k.Close(ctx))
	})
	return &testKeeper{k, t}
}

// post sends a request to a server like package wire does.
func (r *testKeeper) post(s Server, text string) (string, error) {
	c, err := r.Client(r.t.Context(), s)
	if err != nil {
		return "", err
	}
	defer c.CloseIdleConnections()
	resp, err := c.Post(s.URL, "application/json", strings.NewReader(text))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, body), err
}

func (r *testKeeper) mustRespond(s Server, want string) {
	r.t.Helper()
	if got, err := r.post(s, "hello"); err != nil || got != want {
		r.t.Fatalf("%q (%v), want %q", got, err, want)
	}
}

// openPage opens a URL like a browser and returns the page at the end of the redirects.
func openPage(t *testing.T, address string) string {
	t.Helper()
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := own.Get(address)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// signIn completes a sign-in and returns the final page.
func (r *testKeeper) signIn(s Server) string {
	r.t.Helper()
	p, err := r.Begin(r.t.Context(), s.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	page := openPage(r.t, p.URL)
	r.awaitSettled(s.ID)
	return page
}

// awaitSettled waits until no sign-in of a server is in progress. The final page is sent before that.
func (r *testKeeper) awaitSettled(id string) Status {
	r.t.Helper()
	var st Status
	eventually.True(r.t, "the sign-in ends", func() bool {
		st = r.Status(id)
		return st.Pending == nil
	})
	return st
}

func mustContain(t *testing.T, what, text, part string) {
	t.Helper()
	assert.Contains(t, text, part, what)
}
