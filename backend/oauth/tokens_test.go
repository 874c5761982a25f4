package oauth

import (
	"context"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.Equal(t, 1, p.requestCount("refresh_token"))
	p.set(func() { clear(p.valid) }) // the server revokes the token before it expires
	r.mustRespond(s, "200 hello")
	require.Equal(t, 2, p.requestCount("refresh_token"))
	newTestKeeper(t, dir).mustRespond(s, "200 hello") // the rotated tokens are stored
	known := r.KnownSecrets()
	assert.Truef(t, slices.Contains(known, "access-3") && len(known) >= 4, "masked are %q", known)
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
		_, err := r.post(s, "hello")
		require.ErrorIs(t, err, core.ErrNeedsLogin)
	}
	assert.Equal(t, 1, p.requestCount("refresh_token"))
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
	assert.NotErrorIs(t, err, core.ErrNeedsLogin, "a broken token endpoint")
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err), "a broken token endpoint")
	_, passes := wire.Unreachable(err)
	assert.Truef(t, passes, "a server whose token endpoint is broken is not waited for: %v", err)
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
	_, err := r.post(two, "hello")
	require.ErrorIs(t, err, core.ErrNeedsLogin, "two uses the tokens of one")
	r.signIn(two)
	r.mustRespond(two, "200 hello")
	assert.Equal(t, 1, p.requestCount("/register"), "we are registered")
	require.NoError(t, r.Logout(t.Context(), "one"))
	r.mustRespond(two, "200 hello")
	state, _ := r.LoginState("one")
	assert.Equal(t, core.LoginNeeded, state)
}

func TestLogoutForgetsAndRevokes(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	r := newTestKeeper(t, dir)
	_, _ = r.post(s, "hello")
	r.signIn(s)
	require.NoError(t, r.Logout(t.Context(), "web"))
	assert.Equal(t, core.CodeNotFound, core.CodeOf(r.Logout(t.Context(), "web")))
	p.awaitRevoked(2)
	_, err := newTestKeeper(t, dir).post(s, "hello")
	assert.ErrorIs(t, err, core.ErrNeedsLogin, "after a restart")
}

// A stored sign-in can be ended before the server is used, and one whose token has expired is none.
func TestStoredSignInIsKnownBeforeUse(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	s := Server{ID: "web", URL: p.endpoint()}
	newSignedInKeeper(t, p, dir, s.ID)
	r := newTestKeeper(t, dir)
	for _, none := range []Server{{ID: "other", URL: s.URL}, {ID: "web", URL: p.URL + "/elsewhere"}} {
		unused := newTestKeeper(t, dir)
		require.NoError(t, unused.Load(t.Context(), none))
		st := unused.Status(none.ID)
		assert.Truef(t, st.Issuer == "" && st.State == core.LoginNone, "%v: %+v", none, st)
	}
	require.NoError(t, r.Load(t.Context(), s))
	require.NoError(t, r.Logout(t.Context(), "web"))
	p.awaitRevoked(2)
	st := r.Status("web")
	assert.Truef(t, st.State == core.LoginNeeded && st.Issuer == "", "after the logout: %+v", st)

	rec := &record{URL: s.URL, Issuer: p.URL, Access: "an-old-token", Expires: time.Now().Add(-time.Hour)}
	require.NoError(t, r.saveRecord(t.Context(), s.ID, rec))
	late := newTestKeeper(t, dir)
	require.NoError(t, late.Load(t.Context(), s))
	assert.Empty(t, late.Status("web").Issuer, "an expired token")
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
	assert.Empty(t, leaked, "another origin was sent")
}

func TestLockedKeyringMakesServerWait(t *testing.T) {
	r := newTestKeeper(t, t.TempDir(), func(o *Options) { o.Vault = lockedVault{} })
	_, err := r.Client(t.Context(), Server{ID: "web", URL: "https://example.com/mcp"})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorIs(t, err, secret.ErrLocked)
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
	assert.Empty(t, must(store.List(t.Context())))
	for _, name := range []string{"oauth:server/web", "server/web"} {
		_, err := store.Get(t.Context(), name)
		assert.Equal(t, core.CodeNotFound, core.CodeOf(err), name)
	}
	files := must(filepath.Glob(filepath.Join(dir, "*")))
	for _, file := range files {
		text := string(must(os.ReadFile(file)))
		for _, token := range r.KnownSecrets() {
			assert.NotContainsf(t, text, token, "%s holds a token", file)
		}
	}
}

func FuzzGrant(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","token_type":"Bearer","expires_in":1}`))
	f.Add([]byte(`{"access_token":"a","token_type":"bearer","expires_in":"1e400","scope":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := parseGrant(body)
		require.Falsef(t, err == nil && (!validToken(g.access) || !g.expires.IsZero() && time.Until(g.expires) > maxLifetime), "%+v", g)
		require.False(t, err != nil && len(fmt.Sprint(err)) > 2000, "unbounded")
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
		resp, err := c.Do(req)
		assert.ErrorIsf(t, err, changed, "%s: %v", name, resp)
		assert.Equal(t, 1, p.requestCount("refresh_token"), name)
		r.mustRespond(s, "200 hello")
	}
}
