package oauth

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNetworkZones(t *testing.T) {
	for text, want := range map[string]zone{
		"8.8.8.8": public, "2606:4700::1111": public, "127.0.0.1": loopback, "127.9.9.9": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback,
		"10.1.2.3": private, "192.168.1.1": private, "172.16.0.1": private, "fd00::1": private, "100.64.1.1": private, "::ffff:10.0.0.1": private,
		"64:ff9b::7f00:1": loopback, "64:ff9b::a00:1": private, "2002:7f00:1::": loopback, "2002:a00:1::1": private, "::10.0.0.1": private,
		"169.254.169.254": forbidden, "::ffff:169.254.169.254": forbidden, "64:ff9b::a9fe:a9fe": forbidden, "fe80::1": forbidden, "fe80::1%eth0": forbidden,
		"0.0.0.0": forbidden, "::": forbidden, "224.0.0.1": forbidden, "255.255.255.255": forbidden, "0.1.2.3": forbidden, "198.18.0.1": forbidden, "fec0::1": forbidden,
	} {
		assert.Equal(t, want, zoneOf(netip.MustParseAddr(text)), text)
	}
}

// The URLs that a public server names must not lead into the private network.
func TestPublicServerCannotRedirectToPrivateNetwork(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer inside.Close()
	port := must(url.Parse(inside.URL)).Port()
	g := newGuard(must(url.Parse("https://93.184.216.34/mcp")))
	for _, address := range []string{
		inside.URL, "https://127.0.0.1:" + port, "http://localhost:" + port, "https://localhost.:" + port, "https://x.localhost:" + port,
		"https://10.0.0.1/", "https://169.254.169.254/latest", "https://[::1]:" + port, "https://[::ffff:127.0.0.1]:" + port, "https://0.0.0.0:" + port,
		"https://user:pass@example.com/", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "http://example.com/", "https:///x", "",
	} {
		_, err := g.parseURL("it", address)
		assert.Errorf(t, err, "%s is allowed", address)
	}
	for _, address := range []string{"127.0.0.1:" + port, "10.0.0.1:443", "[fd00::1]:443", "[64:ff9b::7f00:1]:443", "nonsense"} {
		if err := g.checkDial(address); err == nil { // as a resolved address
			t.Errorf("%s is dialed", address)
		}
	}
	assert.NoError(t, g.checkDial("93.184.216.34:443"))
	g.serverZone.Store(int32(private)) // a server in the private network
	require.NoError(t, g.checkDial("10.0.0.1:443"), "a private server leads to private addresses, and not to this machine")
	require.Error(t, g.checkDial("127.0.0.1:443"), "a private server leads to private addresses, and not to this machine")
}

func TestHostileAuthorizationServers(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server") {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			return true
		}
		return false
	}
	redirect := func(to string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server") {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusFound)
				return true
			}
			return false
		}
	}
	set := func(key string, value any) func(*fakeServer) {
		return func(p *fakeServer) { p.changeMetadata = func(m map[string]any) { m[key] = value } }
	}
	for name, c := range map[string]struct {
		change func(*fakeServer)
		want   string // of Begin's error, or of the page at the end after "page:"
	}{
		"huge metadata":           {set("padding", strings.Repeat("x", 1<<20)), "larger than"},
		"endless redirects":       {func(p *fakeServer) { p.override = endless }, "too many redirects"},
		"a redirect to a file":    {func(p *fakeServer) { p.override = redirect("file:///etc/passwd") }, "not an http or https URL"},
		"a redirect to the cloud": {func(p *fakeServer) { p.override = redirect("https://169.254.169.254/latest/meta-data") }, "reserved address"},
		"a script to open":        {set("authorization_endpoint", "javascript:alert(document.domain)"), "http or https URL"},
		"a file to open":          {set("authorization_endpoint", "file:///etc/passwd"), "http or https URL"},
		"a program to open":       {set("authorization_endpoint", "ms-msdt:/id"), "http or https URL"},
		"plain http elsewhere":    {set("token_endpoint", "http://example.com/token"), "uses http"},
		"another issuer":          {set("issuer", "https://evil.example"), "for another issuer"},
		"a registration that cannot be read": {func(p *fakeServer) {
			p.override = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/register" {
					w.WriteHeader(http.StatusCreated)
					_, _ = io.WriteString(w, `{"client_id":5,"client_secret":"hush-hush"}`)
				}
				return r.URL.Path == "/register"
			}
		}, "its response is not valid"},
		"no PKCE":                   {set("code_challenge_methods_supported", []string{}), "PKCE"},
		"PKCE in the clear":         {set("code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"another server's resource": {func(p *fakeServer) { p.resource = "https://bank.example/mcp" }, "another server"},
		"a sibling's resource":      {func(p *fakeServer) { p.resource = p.URL + "/mc" }, "another server"},
		"a token of another type": {func(p *fakeServer) {
			p.changeToken = func(_ url.Values, o map[string]any) int { o["token_type"] = "DPoP"; return 200 }
		}, "page:only Bearer"},
		"a token with a line break": {func(p *fakeServer) {
			p.changeToken = func(_ url.Values, o map[string]any) int { o["access_token"] = "a\r\nX: y"; return 200 }
		}, "page:invalid characters"},
		"an answer of another issuer": {func(p *fakeServer) { p.changeCallback = func(q url.Values) { q.Set("iss", "https://evil.example") } }, "page:from another authorization server"},
		"an answer without issuer":    {func(p *fakeServer) { p.changeCallback = func(q url.Values) { q.Del("iss") } }, "page:does not identify its issuer"},
		"an issuer with a slash more": {func(p *fakeServer) { p.changeCallback = func(q url.Values) { q.Set("iss", q.Get("iss")+"/") } }, "page:from another authorization server"},
		"markup as an error": {func(p *fakeServer) {
			p.changeCallback = func(q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "<script>alert(1)</script>\x1b[2J\u202e")
			}
		}, "page:&lt;script&gt;"},
		"a token endpoint that redirects": {func(p *fakeServer) {
			p.override = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				}
				return r.URL.Path == "/token"
			}
		}, "page:redirected a request that contains secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakeServer(t)
			c.change(p)
			s := Server{ID: "web", URL: p.endpoint()}
			r := newTestKeeper(t, t.TempDir())
			_, _ = r.post(s, "hello")
			pending, err := r.Begin(t.Context(), "web")
			want, atPage := strings.CutPrefix(c.want, "page:")
			if !atPage {
				require.Errorf(t, err, "a sign-in begins: %s", pending.URL)
				mustContain(t, "the error", err.Error(), want)
				assert.NotContains(t, err.Error(), "hush", "it repeats a secret")
				assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
				return
			}
			require.NoError(t, err)
			text := openPage(t, pending.URL)
			mustContain(t, "the page", text, want)
			assert.Truef(t, !strings.ContainsAny(text, "\x1b\u202e") && !strings.Contains(text, "<script"), "the page holds what was sent: %q", text)
			st := r.awaitSettled("web")
			assert.Truef(t, st.State == core.LoginNeeded && st.Failed != "" && !strings.ContainsAny(st.Failed, "\x1b\u202e"), "%+v", st)
			_, err = r.post(s, "hello")
			assert.ErrorIs(t, err, core.ErrNeedsLogin)
		})
	}
}

func TestSlowAuthorizationServerTimesOut(t *testing.T) {
	p := newFakeServer(t)
	hold := make(chan struct{})
	p.override = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/.well-known") {
			<-hold
		}
		return false
	}
	defer close(hold)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, t.TempDir())
	_, _ = r.post(s, "hello")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := r.Begin(ctx, "web")
	require.ErrorContains(t, err, "did not respond in time")
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer`, `Bearer scope="a b", resource_metadata="https://x/y"`, `Basic realm="x", Bearer error="insufficient_scope"`, `Bearer a=`, `"`, `,,,=`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseChallenge(http.Header{"Www-Authenticate": {text}})
		for _, s := range c.scopes {
			require.Truef(t, validScope(s) && !strings.ContainsAny(s, " \r\n\""), "scope %q", s)
		}
		require.True(t, len(c.scopes) <= maxScopes && len(c.metadata) <= 4096, "unbounded")
	})
}
