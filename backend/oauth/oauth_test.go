package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/secret"
)

func TestSignInOnceAndTheDaemonMayRestart(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	var mu sync.Mutex
	var heard []string
	r := newRig(t, dir, func(o *Options) {
		o.Changed = func(id string) { mu.Lock(); heard = append(heard, id); mu.Unlock() }
	})
	if _, err := r.post(s, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
		t.Fatalf("without a sign-in: %v", err)
	}
	if state, reason := r.Login("web"); state != hub.LoginNeeded || reason == "" {
		t.Fatalf("%s %q", state, reason)
	}
	pending, err := r.Begin(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if pending.Host != strings.TrimPrefix(p.URL, "http://") || !slices.Equal(pending.Scopes, []string{"read"}) {
		t.Errorf("%+v", pending)
	}
	q := must(url.Parse(pending.URL)).Query()
	for key, want := range map[string]string{"tenant": "1", "resource": p.endpoint(), "code_challenge_method": "S256", "response_type": "code"} {
		if q.Get(key) != want {
			t.Errorf("%s is %q", key, q.Get(key))
		}
	}
	waited := make(chan error, 1)
	go func() { waited <- r.Await(t.Context(), "web") }()
	has(t, "the page", follow(t, pending.URL), "is signed in to web")
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	r.says(s, "200 hello")
	if st := r.Status("web"); st.State != hub.LoginDone || st.Issuer != p.URL || !st.Renews || st.Pending != nil {
		t.Errorf("%+v", st)
	}
	mu.Lock()
	if len(heard) == 0 {
		t.Error("nobody was told")
	}
	mu.Unlock()

	newRig(t, dir).says(s, "200 hello") // another process
	if n := p.counted("authorization_code"); n != 1 {
		t.Errorf("%d sign-ins", n)
	}
	moved := Server{ID: "web", URL: p.URL + "/mcp?tenant=2"}
	if _, err := newRig(t, dir).post(moved, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
		t.Errorf("another address uses the tokens: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAnExpiredTokenIsRefreshedOnceForAll(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	p.lifetime = 1 // it ends before it is used
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	p.set(func() { p.lifetime = 3600; clear(p.valid) })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { r.says(s, "200 hello") })
	}
	all.Wait()
	if n := p.counted("refresh_token"); n != 1 {
		t.Fatalf("%d refreshes", n)
	}
	p.set(func() { clear(p.valid) }) // the server takes a token back before its end
	r.says(s, "200 hello")
	if n := p.counted("refresh_token"); n != 2 {
		t.Fatalf("%d refreshes", n)
	}
	newRig(t, dir).says(s, "200 hello") // the rotated tokens were kept
	if known := r.Known(); !slices.Contains(known, "access-3") || len(known) < 4 {
		t.Errorf("masked are %q", known)
	}
}

func TestARefusedRefreshAsksForASignIn(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	r.says(s, "200 hello")
	p.set(func() { clear(p.valid); clear(p.refresh) })
	for range 2 {
		if _, err := r.post(s, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
			t.Fatal(err)
		}
	}
	if n := p.counted("refresh_token"); n != 1 {
		t.Errorf("%d refreshes with a token that was refused", n)
	}
	r.signIn(s)
	r.says(s, "200 hello")
	p.set(func() {
		clear(p.valid)
		p.special = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				w.WriteHeader(http.StatusBadGateway)
			}
			return r.URL.Path == "/token"
		}
	})
	if _, err := r.post(s, "hello"); errors.Is(err, hub.ErrNeedsLogin) || hub.CodeOf(err) != hub.CodeUnavailable {
		t.Errorf("a broken token endpoint: %v", err)
	}
	p.set(func() { p.special = nil })
	r.says(s, "200 hello") // it was no reason to sign in
}

func TestTwoServersOfOneIssuerDoNotMix(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	one, two := Server{ID: "one", URL: p.endpoint()}, Server{ID: "two", URL: p.endpoint()}
	r := newRig(t, dir)
	_, _ = r.post(one, "hello")
	_, _ = r.post(two, "hello")
	r.signIn(one)
	r.says(one, "200 hello")
	if _, err := r.post(two, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
		t.Fatalf("two uses the tokens of one: %v", err)
	}
	r.signIn(two)
	r.says(two, "200 hello")
	if n := p.counted("/register"); n != 1 {
		t.Errorf("we are registered %d times at one issuer", n)
	}
	if err := r.Logout(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	r.says(two, "200 hello")
	if state, _ := r.Login("one"); state != hub.LoginNeeded {
		t.Errorf("one is %q", state)
	}
}

func TestLogoutForgetsAndRevokes(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	if err := r.Logout(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(t.Context(), "web"); hub.CodeOf(err) != hub.CodeNotFound {
		t.Errorf("twice: %v", err)
	}
	for begun := time.Now(); p.counted("/revoke") < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the tokens were not revoked")
		}
	}
	if _, err := newRig(t, dir).post(s, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
		t.Errorf("after a restart: %v", err)
	}
}

func TestTheTokenGoesToItsServerAlone(t *testing.T) {
	p := newParty(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, t.TempDir())
	_, _ = r.post(s, "hello")
	r.signIn(s)
	leaked := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked += r.Header.Get("Authorization") }))
	defer other.Close()
	c := must(r.Client(t.Context(), s))
	defer c.CloseIdleConnections()
	if resp, err := c.Get(other.URL); err == nil {
		resp.Body.Close()
	}
	if leaked != "" {
		t.Errorf("another origin was sent %q", leaked)
	}
}

func TestALockedKeyringMakesTheServerWait(t *testing.T) {
	r := newRig(t, t.TempDir(), func(o *Options) { o.Vault = lockedVault{} })
	_, err := r.Client(t.Context(), Server{ID: "web", URL: "https://example.com/mcp"})
	if hub.CodeOf(err) != hub.CodeUnavailable || !errors.Is(err, secret.ErrLocked) {
		t.Fatal(err)
	}
}

type lockedVault struct{}

func (lockedVault) Get(context.Context, string) (string, error) {
	return "", &hub.Error{Code: hub.CodeUnavailable, Message: "needs-unlock: the keyring is locked", Cause: secret.ErrLocked}
}
func (lockedVault) Set(context.Context, string, string) error       { return secret.ErrLocked }
func (lockedVault) Remove(context.Context, ...string) (bool, error) { return false, secret.ErrLocked }

func TestTokensAreSealedAndHiddenFromThePersonsSecrets(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	store := secret.For(dir, func(string) string { return "off" })
	if list := must(store.List(t.Context())); len(list) != 0 {
		t.Errorf("listed: %v", list)
	}
	for _, name := range []string{"oauth:server/web", "server/web"} {
		if _, err := store.Get(t.Context(), name); hub.CodeOf(err) != hub.CodeNotFound {
			t.Errorf("%s can be read as a secret: %v", name, err)
		}
	}
	files := must(filepath.Glob(filepath.Join(dir, "*")))
	for _, file := range files {
		text := string(must(os.ReadFile(file)))
		for _, token := range r.Known() {
			if strings.Contains(text, token) {
				t.Errorf("%s holds a token", file)
			}
		}
	}
}

func TestOnlyTheAnswerOfThisSignInCounts(t *testing.T) {
	p := newParty(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, t.TempDir())
	_, _ = r.post(s, "hello")
	pending := must(r.Begin(t.Context(), "web"))
	back := must(url.Parse(must(url.Parse(pending.URL)).Query().Get("redirect_uri")))
	state := must(url.Parse(pending.URL)).Query().Get("state")
	if back.Hostname() != "127.0.0.1" {
		t.Fatalf("the answer comes to %s", back)
	}
	for _, wrong := range []string{"?code=x", "?code=x&state=guess", "?code=x&state=" + state + "&state=" + state, "/other?code=x&state=" + state} {
		at := back.String() + wrong
		if text := follow(t, at); strings.Contains(text, "signed in to") {
			t.Errorf("%s is taken: %s", wrong, text)
		}
	}
	rebound := must(http.NewRequest("GET", back.String()+"?code=x&state="+state, nil))
	rebound.Host = "evil.example:80"
	resp := must((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(rebound))
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("a rebound name gets %d", resp.StatusCode)
	}
	if st := r.Status("web"); st.Pending == nil {
		t.Fatal("a wrong answer has ended the sign-in")
	}
	has(t, "the page", follow(t, pending.URL), "is signed in to web")
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the page gets its answer first
		resp, err := own.Get(back.String() + "?code=x&state=" + state)
		if err != nil {
			break
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Fatal("an answer is taken twice")
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the listener outlives its sign-in")
		}
	}
}

func TestASignInEndsWithItsTimeAndWhenItIsGivenUp(t *testing.T) {
	p := newParty(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, t.TempDir(), func(o *Options) { o.Patience = 300 * time.Millisecond })
	_, _ = r.post(s, "hello")
	must(r.Begin(t.Context(), "web"))
	for begun := time.Now(); r.Status("web").Pending != nil; {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("it waits for ever")
		}
		time.Sleep(10 * time.Millisecond)
	}
	has(t, "the failure", r.Status("web").Failed, "nobody signed in in time")

	patient := newRig(t, t.TempDir())
	_, _ = patient.post(s, "hello")
	first := must(patient.Begin(t.Context(), "web"))
	second := must(patient.Begin(t.Context(), "web")) // replaces the first
	if first.URL == second.URL {
		t.Error("the same address twice")
	}
	if err := patient.Cancel("web"); err != nil {
		t.Fatal(err)
	}
	if err := patient.Cancel("web"); hub.CodeOf(err) != hub.CodeNotFound {
		t.Errorf("cancelled twice: %v", err)
	}
	has(t, "the failure", patient.Status("web").Failed, "cancelled")
}

func TestAPersonsOwnClientIsUsedAndItsSecretIsNotKept(t *testing.T) {
	p, dir := newParty(t), t.TempDir()
	p.meta = func(m map[string]any) {
		m["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		delete(m, "registration_endpoint")
	}
	var user, pass string
	p.special = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			user, pass, _ = r.BasicAuth()
		}
		return false
	}
	bare := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, dir)
	_, _ = r.post(bare, "hello")
	if _, err := r.Begin(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "oauth.clientId") {
		t.Errorf("without a client: %v", err)
	}
	s := bare
	s.ClientID, s.ClientSecret = "my client", "s3cret+/="
	_, _ = r.post(s, "hello")
	r.signIn(s)
	r.says(s, "200 hello")
	if user != "my+client" || pass != url.QueryEscape("s3cret+/=") {
		t.Errorf("sent as %q %q", user, pass)
	}
	text := must(vaultIn(dir).Get(t.Context(), "server/web"))
	if strings.Contains(text, "s3cret") {
		t.Error("the secret was copied out of the configuration")
	}
}

func TestZones(t *testing.T) {
	for text, want := range map[string]zone{
		"8.8.8.8": public, "2606:4700::1111": public, "127.0.0.1": loopback, "127.9.9.9": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback,
		"10.1.2.3": private, "192.168.1.1": private, "172.16.0.1": private, "fd00::1": private, "100.64.1.1": private, "::ffff:10.0.0.1": private,
		"64:ff9b::7f00:1": loopback, "64:ff9b::a00:1": private, "2002:7f00:1::": loopback, "2002:a00:1::1": private, "::10.0.0.1": private,
		"169.254.169.254": nowhere, "::ffff:169.254.169.254": nowhere, "64:ff9b::a9fe:a9fe": nowhere, "fe80::1": nowhere, "fe80::1%eth0": nowhere,
		"0.0.0.0": nowhere, "::": nowhere, "224.0.0.1": nowhere, "255.255.255.255": nowhere, "0.1.2.3": nowhere, "198.18.0.1": nowhere, "fec0::1": nowhere,
	} {
		if got := zoneOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// What a public server names must not lead into the network behind us.
func TestThePublicLeadsNowhereInside(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer inside.Close()
	port := must(url.Parse(inside.URL)).Port()
	g := newGuard()
	for _, address := range []string{
		inside.URL, "https://127.0.0.1:" + port, "http://localhost:" + port, "https://localhost.:" + port, "https://x.localhost:" + port,
		"https://10.0.0.1/", "https://169.254.169.254/latest", "https://[::1]:" + port, "https://[::ffff:127.0.0.1]:" + port, "https://0.0.0.0:" + port,
		"https://user:pass@example.com/", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "http://example.com/", "https:///x", "",
	} {
		if _, err := g.check("it", address); err == nil {
			t.Errorf("%s is allowed", address)
		}
	}
	for _, address := range []string{"127.0.0.1:" + port, "10.0.0.1:443", "[fd00::1]:443", "[64:ff9b::7f00:1]:443", "nonsense"} {
		if err := g.dialable(address); err == nil { // what a name turned out to be
			t.Errorf("%s is dialed", address)
		}
	}
	if err := g.dialable("93.184.216.34:443"); err != nil {
		t.Error(err)
	}
	g.from.Store(int32(private)) // a server in the office
	if g.dialable("10.0.0.1:443") != nil || g.dialable("127.0.0.1:443") == nil {
		t.Error("a private server leads to private addresses, and not to this machine")
	}
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
	set := func(key string, value any) func(*party) {
		return func(p *party) { p.meta = func(m map[string]any) { m[key] = value } }
	}
	for name, c := range map[string]struct {
		change func(*party)
		want   string // of Begin's error, or of the page at the end after "page:"
	}{
		"huge metadata":           {set("padding", strings.Repeat("x", 1<<20)), "larger than"},
		"endless redirects":       {func(p *party) { p.special = endless }, "without end"},
		"a redirect to a file":    {func(p *party) { p.special = redirect("file:///etc/passwd") }, "no plain web address"},
		"a redirect to the cloud": {func(p *party) { p.special = redirect("https://169.254.169.254/latest/meta-data") }, "reserved address"},
		"a script to open":        {set("authorization_endpoint", "javascript:alert(document.domain)"), "plain web address"},
		"a file to open":          {set("authorization_endpoint", "file:///etc/passwd"), "plain web address"},
		"a program to open":       {set("authorization_endpoint", "ms-msdt:/id"), "plain web address"},
		"plain http elsewhere":    {set("token_endpoint", "http://example.com/token"), "plain http"},
		"another issuer":          {set("issuer", "https://evil.example"), "of another one"},
		"a registration that cannot be read": {func(p *party) {
			p.special = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/register" {
					w.WriteHeader(http.StatusCreated)
					_, _ = io.WriteString(w, `{"client_id":5,"client_secret":"hush-hush"}`)
				}
				return r.URL.Path == "/register"
			}
		}, "its answer cannot be read"},
		"no PKCE":                   {set("code_challenge_methods_supported", []string{}), "PKCE"},
		"PKCE in the clear":         {set("code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"another server's resource": {func(p *party) { p.resource = "https://bank.example/mcp" }, "another server"},
		"a sibling's resource":      {func(p *party) { p.resource = p.URL + "/mc" }, "another server"},
		"a token of another type": {func(p *party) {
			p.token = func(_ url.Values, o map[string]any) int { o["token_type"] = "DPoP"; return 200 }
		}, "page:only Bearer"},
		"a token with a line break": {func(p *party) {
			p.token = func(_ url.Values, o map[string]any) int { o["access_token"] = "a\r\nX: y"; return 200 }
		}, "page:cannot be sent"},
		"an answer of another issuer": {func(p *party) { p.answer = func(q url.Values) { q.Set("iss", "https://evil.example") } }, "page:nother authorization server answered"},
		"an answer without issuer":    {func(p *party) { p.answer = func(q url.Values) { q.Del("iss") } }, "page:does not say from whom"},
		"an issuer with a slash more": {func(p *party) { p.answer = func(q url.Values) { q.Set("iss", q.Get("iss")+"/") } }, "page:nother authorization server answered"},
		"markup as an error": {func(p *party) {
			p.answer = func(q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "<script>alert(1)</script>\x1b[2J\u202e")
			}
		}, "page:&lt;script&gt;"},
		"a token endpoint that redirects": {func(p *party) {
			p.special = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				}
				return r.URL.Path == "/token"
			}
		}, "page:redirects a request that holds secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t)
			c.change(p)
			s := Server{ID: "web", URL: p.endpoint()}
			r := newRig(t, t.TempDir())
			_, _ = r.post(s, "hello")
			pending, err := r.Begin(t.Context(), "web")
			want, atPage := strings.CutPrefix(c.want, "page:")
			if !atPage {
				if err == nil {
					t.Fatalf("a sign-in begins: %s", pending.URL)
				}
				has(t, "the error", err.Error(), want)
				if strings.Contains(err.Error(), "hush") {
					t.Errorf("it repeats a secret: %v", err)
				}
				if code := hub.CodeOf(err); code != hub.CodeUnavailable {
					t.Errorf("code %s", code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := follow(t, pending.URL)
			has(t, "the page", text, want)
			if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "<script") {
				t.Errorf("the page holds what was sent: %q", text)
			}
			st := r.Status("web")
			if st.State != hub.LoginNeeded || st.Failed == "" || strings.ContainsAny(st.Failed, "\x1b\u202e") {
				t.Errorf("%+v", st)
			}
			if _, err := r.post(s, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestASlowAuthorizationServerIsGivenUp(t *testing.T) {
	p := newParty(t)
	hold := make(chan struct{})
	p.special = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/.well-known") {
			<-hold
		}
		return false
	}
	defer close(hold)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, t.TempDir())
	_, _ = r.post(s, "hello")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := r.Begin(ctx, "web")
	if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Fatal(err)
	}
}

func TestStepUpAsksForMoreAndStopsWhenThatDoesNotHelp(t *testing.T) {
	p := newParty(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newRig(t, t.TempDir())
	_, _ = r.post(s, "hello")
	r.signIn(s)
	p.set(func() {
		p.special = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
				w.WriteHeader(http.StatusForbidden)
			}
			return r.URL.Path == "/mcp"
		}
	})
	for n := range maxStepUps {
		if _, err := r.post(s, "hello"); !errors.Is(err, hub.ErrNeedsLogin) {
			t.Fatalf("%d: %v", n, err)
		}
		if state, reason := r.Login("web"); state != hub.LoginMore || !strings.Contains(reason, "write") {
			t.Fatalf("%s %s", state, reason)
		}
		pending := must(r.Begin(t.Context(), "web"))
		if !slices.Contains(pending.Scopes, "read") || !slices.Contains(pending.Scopes, "write") {
			t.Errorf("it asks for %q", pending.Scopes)
		}
		follow(t, pending.URL)
	}
	_, err := r.post(s, "hello")
	if err == nil || errors.Is(err, hub.ErrNeedsLogin) || hub.CodeOf(err) != hub.CodeUnauthorized {
		t.Fatalf("it goes on asking: %v", err)
	}
	if state, _ := r.Login("web"); state == hub.LoginMore {
		t.Error("the page goes on offering a sign-in that does not help")
	}
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer`, `Bearer scope="a b", resource_metadata="https://x/y"`, `Basic realm="x", Bearer error="insufficient_scope"`, `Bearer a=`, `"`, `,,,=`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := challengeOf(http.Header{"Www-Authenticate": {text}})
		for _, s := range c.scopes {
			if !validScope(s) || strings.ContainsAny(s, " \r\n\"") {
				t.Fatalf("scope %q", s)
			}
		}
		if len(c.scopes) > maxScopes || len(c.metadata) > 4096 {
			t.Fatal("unbounded")
		}
	})
}

func FuzzGrant(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","token_type":"Bearer","expires_in":1}`))
	f.Add([]byte(`{"access_token":"a","token_type":"bearer","expires_in":"1e400","scope":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := grantOf(body)
		if err == nil && (!validToken(g.access) || !g.expires.IsZero() && time.Until(g.expires) > maxAge) {
			t.Fatalf("%+v", g)
		}
		if err != nil && len(fmt.Sprint(err)) > 2000 {
			t.Fatal("unbounded")
		}
	})
}
