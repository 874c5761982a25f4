package oauth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// A pending sign-in would store its tokens under the old id.
func TestRenameCancelsPendingSignIn(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r, s := newTestKeeper(t, dir), Server{ID: "old", URL: p.endpoint()}
	_, _ = r.post(s, "hello")
	pending := must(r.Begin(t.Context(), "old"))
	if err := r.Rename(t.Context(), "old", "new"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.Get(pending.URL); err == nil { // a late callback
		resp.Body.Close()
	}
	if names := storedNames(t, dir); strings.Contains(strings.Join(names, " "), "server/old") {
		t.Errorf("tokens of the old name are kept: %v", names)
	}
	if n := p.requestCount("authorization_code"); n != 0 {
		t.Errorf("%d codes were taken after the rename", n)
	}
}

// A refresh replaces the refresh token. If its result were stored under the old id after the
// rename, the new id would hold an invalid refresh token.
func TestRenameWaitsForPendingRefresh(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r, s := newSignedInKeeper(t, p, dir, "old"), Server{ID: "old", URL: p.endpoint()}
	asked, answer := make(chan struct{}), make(chan struct{})
	p.set(func() {
		clear(p.valid) // so that the next request refreshes
		p.override = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				asked <- struct{}{}
				<-answer
			}
			return false
		}
	})
	said := make(chan error, 1)
	go func() {
		_, err := r.post(s, "hello")
		said <- err
	}()
	<-asked
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.Rename(soon, "old", "new"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a refresh it ends with %v", err)
	}
	close(answer)
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	if err := r.Rename(t.Context(), "old", "new"); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.override = nil; clear(p.valid) })
	newTestKeeper(t, dir).mustRespond(Server{ID: "new", URL: p.endpoint()}, "200 hello") // with the refreshed token
	if n := p.requestCount("authorization_code"); n != 1 {
		t.Errorf("%d sign-ins", n)
	}
}

// The state of an earlier server with the new id is discarded.
func TestRenamedServerGetsNoTokensOfFormerNamesake(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r, earlier := newSignedInKeeper(t, p, dir, "old"), Server{ID: "new", URL: p.endpoint()}
	if _, err := r.post(earlier, "hello"); !errors.Is(err, core.ErrNeedsLogin) {
		t.Fatal(err)
	}
	if err := r.Rename(t.Context(), "old", "new"); err != nil {
		t.Fatal(err)
	}
	r.mustRespond(Server{ID: "new", URL: p.endpoint()}, "200 hello")
}
