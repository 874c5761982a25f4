package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// account holds the sign-in state of one server. It implements http.RoundTripper and adds the
// access token to requests to that server.
type account struct {
	k     *Keeper
	id    string // server id
	url   string // server URL as configured
	at    *url.URL
	base  *http.Transport
	guard *guard

	mu      sync.Mutex
	server  Server
	loaded  bool
	rec     *record // nil if not signed in
	state   core.Login
	reason  string
	changed chan struct{} // closed and replaced when state or reason changes
	last    challenge     // challenge of the last 401 or 403 response
	lacks   []string      // scopes that the server requires beyond those granted
	asked   map[string]int
	renewal *renewal
	login   *login // sign-in in progress, nil if none
	failed  string // why the last sign-in failed, "" if it did not
}

// renewal is an in-flight token refresh, shared by all requests that need it.
type renewal struct {
	done  chan struct{}
	token string
	err   error
}

// Limits of token refresh and step-up authorization.
const (
	early        = 30 * time.Second // a token that expires sooner is refreshed before use
	refreshLimit = 20 * time.Second
	maxStepUps   = 2 // sign-ins for the same scopes, after which insufficient_scope is an error
)

func newAccount(k *Keeper, s Server, at *url.URL) *account {
	g := newGuard()
	return &account{k: k, id: s.ID, url: s.URL, at: at, server: s, guard: g, base: g.transport(), changed: make(chan struct{}), asked: map[string]int{}}
}

// open loads the stored record on first use.
func (a *account) open(ctx context.Context) error {
	a.mu.Lock()
	loaded, s := a.loaded, a.server
	a.mu.Unlock()
	if loaded {
		return nil
	}
	rec, err := a.k.load(ctx, s)
	if err != nil {
		return err
	}
	a.mu.Lock()
	if !a.loaded {
		a.loaded = true
		if a.rec == nil {
			a.rec = rec
		}
	}
	a.mu.Unlock()
	return nil
}

// CloseIdleConnections implements the interface that http.Client.CloseIdleConnections looks for.
func (a *account) CloseIdleConnections() { a.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper. The token is sent only to the server's own origin.
func (a *account) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != a.at.Scheme || req.URL.Host != a.at.Host {
		return a.base.RoundTrip(req)
	}
	token, err := a.token(req.Context())
	for tries := 0; err == nil; tries++ {
		var resp *http.Response
		if resp, err = a.send(req, token); err != nil {
			return nil, err
		}
		switch {
		case resp.StatusCode == http.StatusUnauthorized:
			c := challengeOf(resp.Header)
			drain(resp)
			if tries > 0 {
				return nil, a.needs(token, c)
			}
			token, err = a.rejected(req.Context(), token, c)
		case resp.StatusCode == http.StatusForbidden:
			if c := challengeOf(resp.Header); c.failed == "insufficient_scope" {
				drain(resp)
				return nil, a.wantsMore(c)
			}
			return resp, nil
		default:
			if token != "" {
				a.worked(token)
			}
			return resp, nil
		}
		if err == nil && req.GetBody != nil {
			req = req.Clone(req.Context())
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, err
}

func (a *account) send(req *http.Request, token string) (*http.Response, error) {
	if token == "" {
		return a.base.RoundTrip(req)
	}
	own := req.Clone(req.Context())
	own.Header.Set("Authorization", "Bearer "+token)
	return a.base.RoundTrip(own)
}

func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}

// token returns the access token to use, after a refresh if it is about to expire. It returns "" if
// there is none.
func (a *account) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	rec := a.rec
	if rec == nil || rec.Access == "" && rec.Refresh == "" {
		a.mu.Unlock()
		return "", nil
	}
	access, expires := rec.Access, rec.Expires
	left := time.Until(expires)
	due := rec.Refresh != "" && (access == "" || !expires.IsZero() && left < early)
	a.mu.Unlock()
	if !due {
		return access, nil
	}
	fresh, err := a.refresh(ctx, access)
	if err != nil && access != "" && left > 0 {
		return access, nil // the token has not expired yet
	}
	return fresh, err
}

// rejected handles a 401 response to a request with token. It returns another token to try.
func (a *account) rejected(ctx context.Context, token string, c challenge) (string, error) {
	a.mu.Lock()
	rec := a.rec
	var now, refresh string
	if rec != nil {
		now, refresh = rec.Access, rec.Refresh
	}
	a.mu.Unlock()
	switch {
	case token == "" || rec == nil:
		return "", a.needs(token, c)
	case now != token && now != "":
		return now, nil // refreshed by another request in the meantime
	case refresh == "":
		return "", a.needs(token, c)
	}
	fresh, err := a.refresh(ctx, token)
	if errors.Is(err, core.ErrNeedsLogin) {
		return "", a.needs(token, c)
	}
	return fresh, err
}

// needs changes the state to core.LoginNeeded and returns the error for the caller.
func (a *account) needs(token string, c challenge) error {
	a.mu.Lock()
	if token != "" && a.rec != nil && a.rec.Access != "" && a.rec.Access != token {
		a.mu.Unlock() // signed in again in the meantime: the next request can succeed
		return failure(core.CodeUnavailable, "Try again.", nil, "server %q was signed in to a moment ago", a.id)
	}
	a.last = c
	reason := "it wants you to sign in"
	if token != "" {
		reason = "its sign-in has ended"
	}
	told := a.set(core.LoginNeeded, reason)
	a.mu.Unlock()
	told()
	return NeedsLogin(a.id, reason)
}

// NeedsLogin returns the error for a server that requires the user to sign in. It wraps
// core.ErrNeedsLogin.
func NeedsLogin(id, reason string) error {
	return &core.Error{Code: core.CodeUnauthorized, Cause: core.ErrNeedsLogin,
		Message: fmt.Sprintf("server %q: %s", id, reason),
		Hint:    "Sign in on Drawbridge's page, or with: drawbridge login " + id + "."}
}

// wantsMore handles an insufficient_scope response (RFC 6750, section 3.1). After maxStepUps
// sign-ins for the same scopes it stops asking the user, because a server may keep refusing.
func (a *account) wantsMore(c challenge) error {
	a.mu.Lock()
	if c.metadata == "" {
		c.metadata = a.last.metadata
	}
	a.last = c
	key := strings.Join(slices.Sorted(slices.Values(c.scopes)), " ")
	if a.rec == nil || a.asked[key] >= maxStepUps {
		had := a.state == core.LoginMore
		told := func() {}
		if had {
			told = a.set(core.LoginDone, "")
		}
		a.mu.Unlock()
		told()
		return failure(core.CodeUnauthorized, "Ask whoever runs the server which permission is missing.", nil,
			"server %q refuses although you signed in for what it asks (%s)", a.id, cut(key, 200))
	}
	a.lacks = c.scopes
	reason := "it asks for one more permission: " + cut(key, 200)
	if len(c.scopes) != 1 {
		reason = "it asks for more permissions: " + cut(key, 200)
	}
	told := a.set(core.LoginMore, reason)
	a.mu.Unlock()
	told()
	return NeedsLogin(a.id, reason)
}

// worked records that the server accepted the token.
func (a *account) worked(token string) {
	a.mu.Lock()
	if a.state == core.LoginDone || a.state == core.LoginMore || a.rec == nil || a.rec.Access != token {
		a.mu.Unlock()
		return
	}
	told := a.set(core.LoginDone, "")
	a.mu.Unlock()
	told()
}

// set changes the state and returns the notification, which the caller must call after unlocking
// a.mu. The caller must hold a.mu.
func (a *account) set(state core.Login, reason string) (told func()) {
	if a.state == state && a.reason == reason {
		return func() {}
	}
	a.state, a.reason = state, reason
	close(a.changed)
	a.changed = make(chan struct{})
	return func() { a.k.o.Changed(a.id) }
}

// refresh replaces the access token stale and returns the new one. Concurrent callers share one
// refresh. If the authorization server refuses the refresh token, the error wraps
// core.ErrNeedsLogin.
func (a *account) refresh(ctx context.Context, stale string) (string, error) {
	a.mu.Lock()
	switch {
	case a.rec == nil || a.rec.Refresh == "":
		a.mu.Unlock()
		return "", NeedsLogin(a.id, "its sign-in has ended")
	case a.rec.Access != stale && a.rec.Access != "":
		defer a.mu.Unlock()
		return a.rec.Access, nil
	}
	r := a.renewal
	if r == nil && a.k.ctx.Err() == nil {
		r = &renewal{done: make(chan struct{})}
		a.renewal = r
		rec, s := *a.rec, a.server
		a.k.work.Go(func() {
			r.token, r.err = a.renew(rec, s)
			a.mu.Lock()
			a.renewal = nil
			a.mu.Unlock()
			close(r.done)
		})
	}
	a.mu.Unlock()
	if r == nil {
		return "", a.k.ctx.Err()
	}
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (a *account) renew(rec record, s Server) (string, error) {
	ctx, cancel := context.WithTimeout(a.k.ctx, refreshLimit)
	defer cancel()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {rec.Refresh}}
	if rec.Resource != "" {
		form.Set("resource", rec.Resource)
	}
	if rec.Client.Source == fromConfig {
		rec.Client.Secret = s.ClientSecret
	}
	got, err := a.guard.ask(ctx, rec.Token, rec.Client, form)
	if err != nil {
		return "", a.unrefreshed(ctx, &rec, err)
	}
	before := rec.Refresh
	rec.Access, rec.Expires = got.access, got.expires
	if got.refresh != "" {
		rec.Refresh = got.refresh
	}
	if got.scopes != nil {
		rec.Scopes = got.scopes
	}
	a.k.remember(rec.Access, rec.Refresh)
	a.mu.Lock()
	if a.rec == nil || a.rec.Refresh != before {
		a.mu.Unlock() // signed out or signed in again in the meantime
		return "", NeedsLogin(s.ID, "its sign-in has ended")
	}
	a.rec = &rec
	a.mu.Unlock()
	// The token is already in use. If it cannot be stored, the user has to sign in again after a
	// restart.
	if err := a.k.save(ctx, s.ID, &rec); err != nil {
		a.k.o.Log.Warn("Cannot keep a refreshed token", "server", s.ID, "error", err)
	}
	return rec.Access, nil
}

// unrefreshed returns the error for the caller of a failed refresh. If the refusal is final, it
// also deletes the refresh token.
func (a *account) unrefreshed(ctx context.Context, rec *record, err error) error {
	a.k.o.Log.Info("Cannot refresh a token", "server", a.id, "error", err)
	if !final(err) {
		return &core.Error{Code: core.CodeUnavailable, Retriable: true, Cause: err,
			Message: fmt.Sprintf("server %q: its token cannot be refreshed: %s", a.id, err)}
	}
	a.mu.Lock()
	var keep *record
	if a.rec != nil && a.rec.Refresh == rec.Refresh {
		own := *a.rec
		own.Refresh = ""
		a.rec, keep = &own, &own
	}
	a.mu.Unlock()
	if keep != nil {
		if err := a.k.save(ctx, a.id, keep); err != nil {
			a.k.o.Log.Warn("Cannot forget a token", "server", a.id, "error", err)
		}
	}
	return NeedsLogin(a.id, "its sign-in has ended")
}
