package oauth

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pending sign-in would store its tokens under the old id.
func TestRenameCancelsPendingSignIn(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r, s := newTestKeeper(t, dir), Server{ID: "old", URL: p.endpoint()}
	_, _ = r.post(s, "hello")
	pending := must(r.Begin(t.Context(), "old"))
	require.NoError(t, r.Rename(t.Context(), "old", "new"))
	if resp, err := http.Get(pending.URL); err == nil { // a late callback
		resp.Body.Close()
	}
	assert.NotContains(t, strings.Join(storedNames(t, dir), " "), "server/old", "tokens of the old name are kept")
	assert.Equal(t, 0, p.requestCount("authorization_code"))
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
	assert.ErrorIs(t, r.Rename(soon, "old", "new"), context.DeadlineExceeded, "beside a refresh it ends")
	close(answer)
	err := <-said
	require.NoError(t, err)
	require.NoError(t, r.Rename(t.Context(), "old", "new"))
	p.set(func() { p.override = nil; clear(p.valid) })
	newTestKeeper(t, dir).mustRespond(Server{ID: "new", URL: p.endpoint()}, "200 hello") // with the refreshed token
	assert.Equal(t, 1, p.requestCount("authorization_code"))
}

// The state of an earlier server with the new id is discarded.
func TestRenamedServerGetsNoTokensOfFormerNamesake(t *testing.T) {
	p, dir := newFakeServer(t), t.TempDir()
	r, earlier := newSignedInKeeper(t, p, dir, "old"), Server{ID: "new", URL: p.endpoint()}
	_, err := r.post(earlier, "hello")
	require.ErrorIs(t, err, core.ErrNeedsLogin)
	require.NoError(t, r.Rename(t.Context(), "old", "new"))
	r.mustRespond(Server{ID: "new", URL: p.endpoint()}, "200 hello")
}
