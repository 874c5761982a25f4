package oauth

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
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
	if next := r.deleteRemoved(ctx, gone, now); next != 0 || len(gone) != 0 {
		t.Fatalf("nothing is gone, and it looks again after %s at %v", next, gone)
	}
	r.Apply(map[string]string{"two": ""})
	if next := r.deleteRemoved(ctx, gone, now); next != removalGrace {
		t.Fatalf("it looks again after %s", next)
	}
	r.Apply(map[string]string{"one": "", "two": ""}) // the removal is undone
	r.deleteRemoved(ctx, gone, now.Add(removalGrace))
	r.mustRespond(Server{ID: "one", URL: p.endpoint()}, "200 hello")
	r.Apply(map[string]string{"two": ""})
	r.deleteRemoved(ctx, gone, now.Add(removalGrace)) // the delay starts again
	if next := r.deleteRemoved(ctx, gone, now.Add(2*removalGrace-time.Second)); next != time.Second || len(storedNames(t, dir)) != 3 {
		t.Fatalf("it looks again after %s; kept is %v", next, storedNames(t, dir))
	}
	if next := r.deleteRemoved(ctx, gone, now.Add(2*removalGrace)); next != 0 {
		t.Fatalf("it looks again after %s", next)
	}
	if names := storedNames(t, dir); slices.Contains(names, "server/one") || len(names) != 2 {
		t.Errorf("kept is %v", names)
	}
	p.awaitRevoked(2)
	r.mustRespond(Server{ID: "two", URL: p.endpoint()}, "200 hello")

	// In another run, in which the server was not used. The client registration is deleted as well.
	other := newTestKeeper(t, dir)
	other.Apply(nil)
	other.deleteRemoved(ctx, map[string]time.Time{"two": now}, now.Add(removalGrace))
	if names := storedNames(t, dir); len(names) != 0 {
		t.Errorf("kept is %v", names)
	}
	p.awaitRevoked(4)
}

func TestLockedKeyringDefersDeletion(t *testing.T) {
	r := newTestKeeper(t, t.TempDir(), func(o *Options) { o.Vault = lockedVault{} })
	now := time.Now()
	r.Apply(nil)
	if next := r.deleteRemoved(t.Context(), map[string]time.Time{"web": now}, now.Add(removalGrace)); next != lockedRetryInterval {
		t.Errorf("it looks again after %s", next)
	}
	if _, err := r.Begin(t.Context(), "web"); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("of a server that nobody has reached: %v", err)
	}
	_, _ = r.Client(t.Context(), Server{ID: "web", URL: "https://example.com/mcp"})
	if _, err := r.Begin(t.Context(), "web"); !errors.Is(err, secret.ErrLocked) {
		t.Errorf("a sign-in whose tokens cannot be kept: %v", err)
	}
}

func TestRenamedServerStaysSignedIn(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r := newSignedInKeeper(t, p, dir, "old")
	if err := r.Rename(t.Context(), "old", "new"); err != nil {
		t.Fatal(err)
	}
	r.mustRespond(Server{ID: "new", URL: p.endpoint()}, "200 hello")
	if _, err := r.post(Server{ID: "old", URL: p.endpoint()}, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Errorf("the old name: %v", err)
	}
	if n := p.requestCount("authorization_code"); n != 1 {
		t.Errorf("%d sign-ins", n)
	}
}

func TestForgetAllLeavesNothing(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	newSignedInKeeper(t, p, dir, "one", "two")
	r := newTestKeeper(t, dir)
	r.mustRespond(Server{ID: "one", URL: p.endpoint()}, "200 hello") // two is not used in this run
	if err := r.ForgetAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := storedNames(t, dir); len(names) != 0 {
		t.Errorf("kept is %v", names)
	}
	p.awaitRevoked(4)
	if _, err := r.post(Server{ID: "one", URL: p.endpoint()}, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Errorf("afterwards: %v", err)
	}
	if err := r.ForgetAll(t.Context()); err != nil {
		t.Errorf("twice: %v", err)
	}
	if strings.Contains(strings.Join(p.revoked, " "), "client") {
		t.Error(p.revoked)
	}
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
	if under != nil {
		t.Error("a sign-in to a server that is gone is waited for")
	}
	resp, err := held.Post(s.URL, "application/json", strings.NewReader("hello"))
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, core.ErrNeedsLogin) {
		t.Errorf("who held a connection goes on with the tokens: %v", err)
	}
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
		if st := r.Status("one"); st.Pending != nil || !strings.Contains(st.Failed, name) {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
