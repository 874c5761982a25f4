package oauth

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newSignedInKeeper returns a testKeeper that is signed in to the servers ids.
func newSignedInKeeper(t *testing.T, p *fakeServer, dir string, ids ...string) *testKeeper {
	t.Helper()
	r := newTestKeeper(t, dir)
	for _, id := range ids {
		s := Server{ID: id, URL: p.endpoint()}
		_, _ = r.post(s, "hello")
		r.signIn(s)
		r.mustRespond(s, "200 hello")
	}
	return r
}

func storedNames(t *testing.T, dir string) []string {
	t.Helper()
	return must(newVault(dir).Names(t.Context()))
}

func TestTokensOfRemovedServerExpire(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r := newSignedInKeeper(t, p, dir, "one", "two")
	ctx, gone, now := t.Context(), map[string]time.Time{}, time.Now()
	r.Apply(map[string]string{"one": "", "two": ""})
	next := r.deleteRemoved(ctx, gone, now)
	require.Truef(t, next == 0 && len(gone) == 0, "nothing is gone, and it looks again after %s at %v", next, gone)
	r.Apply(map[string]string{"two": ""})
	require.Equal(t, removalGrace, r.deleteRemoved(ctx, gone, now), "it looks again")
	r.Apply(map[string]string{"one": "", "two": ""}) // the removal is undone
	r.deleteRemoved(ctx, gone, now.Add(removalGrace))
	r.mustRespond(Server{ID: "one", URL: p.endpoint()}, "200 hello")
	r.Apply(map[string]string{"two": ""})
	r.deleteRemoved(ctx, gone, now.Add(removalGrace)) // the delay starts again
	if next := r.deleteRemoved(ctx, gone, now.Add(2*removalGrace-time.Second)); next != time.Second || len(storedNames(t, dir)) != 3 {
		t.Fatalf("it looks again after %s; kept is %v", next, storedNames(t, dir))
	}
	require.EqualValues(t, 0, r.deleteRemoved(ctx, gone, now.Add(2*removalGrace)), "it looks again")
	names := storedNames(t, dir)
	assert.Truef(t, !slices.Contains(names, "server/one") && len(names) == 2, "kept is %v", names)
	p.awaitRevoked(2)
	r.mustRespond(Server{ID: "two", URL: p.endpoint()}, "200 hello")

	// In another run, in which the server was not used. The client registration is deleted as well.
	other := newTestKeeper(t, dir)
	other.Apply(nil)
	other.deleteRemoved(ctx, map[string]time.Time{"two": now}, now.Add(removalGrace))
	assert.Empty(t, storedNames(t, dir))
	p.awaitRevoked(4)
}

func TestLockedKeyringDefersDeletion(t *testing.T) {
	r := newTestKeeper(t, t.TempDir(), func(o *Options) { o.Vault = lockedVault{} })
	now := time.Now()
	r.Apply(nil)
	assert.Equal(t, lockedRetryInterval, r.deleteRemoved(t.Context(), map[string]time.Time{"web": now}, now.Add(removalGrace)), "it looks again")
	_, err := r.Begin(t.Context(), "web")
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "of a server that nobody has reached")
	_, _ = r.Client(t.Context(), Server{ID: "web", URL: "https://example.com/mcp"})
	_, err = r.Begin(t.Context(), "web")
	assert.ErrorIs(t, err, secret.ErrLocked, "a sign-in whose tokens cannot be kept")
}

func TestRenamedServerStaysSignedIn(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r := newSignedInKeeper(t, p, dir, "old")
	require.NoError(t, r.Rename(t.Context(), "old", "new"))
	r.mustRespond(Server{ID: "new", URL: p.endpoint()}, "200 hello")
	_, err := r.post(Server{ID: "old", URL: p.endpoint()}, "hello")
	assert.ErrorIs(t, err, core.ErrNeedsLogin, "the old name")
	assert.Equal(t, 1, p.requestCount("authorization_code"))
}

func TestForgetAllLeavesNothing(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	newSignedInKeeper(t, p, dir, "one", "two")
	r := newTestKeeper(t, dir)
	r.mustRespond(Server{ID: "one", URL: p.endpoint()}, "200 hello") // two is not used in this run
	require.NoError(t, r.ForgetAll(t.Context()))
	assert.Empty(t, storedNames(t, dir))
	p.awaitRevoked(4)
	_, err := r.post(Server{ID: "one", URL: p.endpoint()}, "hello")
	assert.ErrorIs(t, err, core.ErrNeedsLogin)
	assert.NoError(t, r.ForgetAll(t.Context()))
	assert.NotContains(t, strings.Join(p.revoked, " "), "client")
}

func TestRemovedServerCancelsSignInAndTokenSource(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r, s := newSignedInKeeper(t, p, dir, "one"), Server{ID: "one", URL: p.endpoint()}
	held := must(r.Client(t.Context(), s))
	must(r.Begin(t.Context(), "one"))
	a := must(r.account("one"))
	now := time.Now()
	r.Apply(nil)
	r.deleteRemoved(t.Context(), map[string]time.Time{"one": now}, now.Add(removalGrace))
	a.mu.Lock()
	under := a.login
	a.mu.Unlock()
	assert.Nil(t, under, "a sign-in to a server that is gone is waited for")
	resp, err := held.Post(s.URL, "application/json", strings.NewReader("hello"))
	if err == nil {
		resp.Body.Close()
	}
	assert.ErrorIs(t, err, core.ErrNeedsLogin, "who held a connection goes on with the tokens")
	p.awaitRevoked(2)
}

// The user has agreed to sign in to the server as it was.
func TestSignInEndsWhenItsServerChanges(t *testing.T) {
	for name, servers := range map[string]map[string]string{"removed": {}, "changed": {"one": "b"}, "": {"one": "a", "two": "b"}} {
		p := newFakeServer(t)
		r := newSignedInKeeper(t, p, t.TempDir(), "one")
		r.Apply(map[string]string{"one": "a"})
		must(r.Begin(t.Context(), "one"))
		a := must(r.account("one"))
		a.mu.Lock()
		l := a.login
		a.mu.Unlock()
		r.Apply(servers)
		if name == "" {
			select {
			case <-l.done:
				t.Error("a sign-in to an unchanged server has ended")
			default:
			}
			continue
		}
		<-l.done
		st := r.Status("one")
		assert.Truef(t, st.Pending == nil && strings.Contains(st.Failed, name), "%s: %+v", name, st)
	}
}
