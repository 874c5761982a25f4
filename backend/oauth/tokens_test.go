package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

func TestExpiredTokenIsRefreshedOnce(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	p.lifetime = 1 // the token expires before it is used
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	p.set(func() { p.lifetime = 3600; clear(p.valid) })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { r.mustRespond(s, "200 hello") })
	}
	all.Wait()
	if n := p.requestCount("refresh_token"); n != 1 {
		t.Fatalf("%d refreshes", n)
	}
	p.set(func() { clear(p.valid) }) // the server revokes the token before it expires
	r.mustRespond(s, "200 hello")
	if n := p.requestCount("refresh_token"); n != 2 {
		t.Fatalf("%d refreshes", n)
	}
	newTestKeeper(t, dir).mustRespond(s, "200 hello") // the rotated tokens are stored
	if known := r.KnownSecrets(); !slices.Contains(known, "access-3") || len(known) < 4 {
		t.Errorf("masked are %q", known)
	}
}

func TestRefusedRefreshAsksForSignIn(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	r.mustRespond(s, "200 hello")
	p.set(func() { clear(p.valid); clear(p.refresh) })
	for range 2 {
		if _, err := r.post(s, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
			t.Fatal(err)
		}
	}
	if n := p.requestCount("refresh_token"); n != 1 {
		t.Errorf("%d refreshes with a token that was refused", n)
	}
	r.signIn(s)
	r.mustRespond(s, "200 hello")
	p.set(func() {
		clear(p.valid)
		p.override = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				w.WriteHeader(http.StatusBadGateway)
			}
			return r.URL.Path == "/token"
		}
	})
	_, err := r.post(s, "hello")
	if errors.Is(err, core.ErrNeedsLogin) || core.CodeOf(err) != core.CodeUnavailable {
		t.Errorf("a broken token endpoint: %v", err)
	}
	if _, passes := wire.Unreachable(err); !passes {
		t.Errorf("a server whose token endpoint is broken is not waited for: %v", err)
	}
	p.set(func() { p.override = nil })
	r.mustRespond(s, "200 hello") // no sign-in was needed
}

func TestServersOfOneIssuerStaySeparate(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	one, two := Server{ID: "one", URL: p.endpoint()}, Server{ID: "two", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(one, "hello")
	_, _ = r.post(two, "hello")
	r.signIn(one)
	r.mustRespond(one, "200 hello")
	if _, err := r.post(two, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Fatalf("two uses the tokens of one: %v", err)
	}
	r.signIn(two)
	r.mustRespond(two, "200 hello")
	if n := p.requestCount("/register"); n != 1 {
		t.Errorf("we are registered %d times at one issuer", n)
	}
	if err := r.Logout(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	r.mustRespond(two, "200 hello")
	if state, _ := r.LoginState("one"); state != core.LoginNeeded {
		t.Errorf("one is %q", state)
	}
}

func TestLogoutForgetsAndRevokes(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	if err := r.Logout(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(t.Context(), "web"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("twice: %v", err)
	}
	p.awaitRevoked(2)
	if _, err := newTestKeeper(t, dir).post(s, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Errorf("after a restart: %v", err)
	}
}

// A stored sign-in can be ended before the server is used, and one whose token has expired is none.
func TestStoredSignInIsKnownBeforeUse(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	newSignedInKeeper(t, p, dir, s.ID)
	r := newTestKeeper(t, dir)
	for _, none := range []Server{{ID: "other", URL: s.URL}, {ID: "web", URL: p.URL + "/elsewhere"}} {
		unused := newTestKeeper(t, dir)
		if err := unused.Load(t.Context(), none); err != nil {
			t.Fatal(err)
		}
		if st := unused.Status(none.ID); st.Issuer != "" || st.State != core.LoginNone {
			t.Errorf("%v: %+v", none, st)
		}
	}
	if err := r.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	p.awaitRevoked(2)
	if st := r.Status("web"); st.State != core.LoginNeeded || st.Issuer != "" {
		t.Errorf("after the logout: %+v", st)
	}

	rec := &record{URL: s.URL, Issuer: p.URL, Access: "an-old-token", Expires: time.Now().Add(-time.Hour)}
	if err := r.saveRecord(t.Context(), s.ID, rec); err != nil {
		t.Fatal(err)
	}
	late := newTestKeeper(t, dir)
	if err := late.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if st := late.Status("web"); st.Issuer != "" {
		t.Errorf("an expired token: %+v", st)
	}
}

func TestTokenIsSentToItsServerOnly(t *testing.T) {
	p := newFakeServer(t)
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, t.TempDir())
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

func TestLockedKeyringMakesServerWait(t *testing.T) {
	r := newTestKeeper(t, t.TempDir(), func(o *Options) { o.Vault = lockedVault{} })
	_, err := r.Client(t.Context(), Server{ID: "web", URL: "https://example.com/mcp"})
	if core.CodeOf(err) != core.CodeUnavailable || !errors.Is(err, secret.ErrLocked) {
		t.Fatal(err)
	}
}

type lockedVault struct{}

func (lockedVault) Get(context.Context, string) (string, error) {
	return "", &core.Error{Code: core.CodeUnavailable, Message: "needs-unlock: the keyring is locked", Cause: secret.ErrLocked}
}
func (lockedVault) Set(context.Context, string, string) error       { return secret.ErrLocked }
func (lockedVault) Remove(context.Context, ...string) (bool, error) { return false, secret.ErrLocked }
func (lockedVault) Move(context.Context, string, string) error      { return secret.ErrLocked }
func (lockedVault) Names(context.Context) ([]string, error)         { return []string{"server/web"}, nil }
func (lockedVault) Ready(context.Context) error                     { return secret.ErrLocked }

func TestTokensAreEncryptedAndNotListedAsSecrets(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	store := secret.For(dir, func(string) string { return "off" })
	if list := must(store.List(t.Context())); len(list) != 0 {
		t.Errorf("listed: %v", list)
	}
	for _, name := range []string{"oauth:server/web", "server/web"} {
		if _, err := store.Get(t.Context(), name); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s can be read as a secret: %v", name, err)
		}
	}
	files := must(filepath.Glob(filepath.Join(dir, "*")))
	for _, file := range files {
		text := string(must(os.ReadFile(file)))
		for _, token := range r.KnownSecrets() {
			if strings.Contains(text, token) {
				t.Errorf("%s holds a token", file)
			}
		}
	}
}

func FuzzGrant(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","token_type":"Bearer","expires_in":1}`))
	f.Add([]byte(`{"access_token":"a","token_type":"bearer","expires_in":"1e400","scope":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := parseGrant(body)
		if err == nil && (!validToken(g.access) || !g.expires.IsZero() && time.Until(g.expires) > maxLifetime) {
			t.Fatalf("%+v", g)
		}
		if err != nil && len(fmt.Sprint(err)) > 2000 {
			t.Fatal("unbounded")
		}
	})
}

type admission struct{ err error }

func (a admission) Readmit() error { return a.err }

// A call that waits for a new token, before it is sent or because the server refused the old one, is
// admitted again before it is sent with it.
func TestCallIsAdmittedAgainBeforeItIsSentWithNewToken(t *testing.T) {
	for name, lifetime := range map[string]int{"expired": 1, "refused": 3600} {
		p := newFakeServer(t)
		p.lifetime = lifetime
		s := Server{ID: "web", URL: p.endpoint()}
		r := newTestKeeper(t, t.TempDir())
		_, _ = r.post(s, "hello")
		r.signIn(s)
		p.set(func() { p.lifetime = 3600; clear(p.valid) })
		c, err := r.Client(t.Context(), s)
		must(t, err)
		changed := core.Errorf(core.CodeRejected, "not any more")
		req, _ := http.NewRequestWithContext(core.WithReadmitter(t.Context(), admission{changed}), http.MethodPost, s.URL, strings.NewReader("hello"))
		if resp, err := c.Do(req); !errors.Is(err, changed) {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
		if n := p.requestCount("refresh_token"); n != 1 {
			t.Errorf("%s: %d refreshes", name, n)
		}
		r.mustRespond(s, "200 hello")
	}
}
