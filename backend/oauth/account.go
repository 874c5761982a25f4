package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
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
	keeper    *Keeper
	id        string // server id
	url       string // server URL as configured
	serverURL *url.URL
	base      *http.Transport
	guard     *guard

	mu            sync.Mutex
	server        Server
	loaded        bool
	rec           *record // nil if not signed in
	state         core.LoginState
	reason        string
	changed       chan struct{} // closed and replaced when state or reason changes
	lastChallenge challenge     // challenge of the last 401 or 403 response
	missingScopes []string      // scopes that the server requires beyond those granted
	stepUps       map[string]int
	refreshing    *inFlightRefresh
	login         *login // sign-in in progress, nil if none
	lastFailure   string // why the last sign-in failed, "" if it did not
}

// inFlightRefresh is an in-flight token refresh, shared by all requests that need it.
type inFlightRefresh struct {
	done  chan struct{}
	token string
	err   error
}

// Limits of token refresh and step-up authorization.
const (
	refreshMargin  = 30 * time.Second // a token that expires sooner is refreshed before use
	refreshTimeout = 20 * time.Second
	maxStepUps     = 2 // sign-ins for the same scopes, after which insufficient_scope is an error
)

func newAccount(k *Keeper, s Server, at *url.URL) *account {
	g := newGuard(at)
	return &account{keeper: k, id: s.ID, url: s.URL, serverURL: at, server: s, guard: g, base: g.serverTransport(), changed: make(chan struct{}), stepUps: map[string]int{}}
}

// ensureLoaded loads the stored record on first use.
func (a *account) ensureLoaded(ctx context.Context) error {
	a.mu.Lock()
	loaded, s := a.loaded, a.server
	a.mu.Unlock()
	if loaded {
		return nil
	}
	rec, err := a.keeper.loadRecord(ctx, s)
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
	if req.URL.Scheme != a.serverURL.Scheme || req.URL.Host != a.serverURL.Host {
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
			c := parseChallenge(resp.Header)
			drain(resp)
			if tries > 0 {
				return nil, a.requireLogin(token, c)
			}
			token, err = a.replaceRejectedToken(req.Context(), token, c)
		case resp.StatusCode == http.StatusForbidden:
			if c := parseChallenge(resp.Header); c.errorCode == "insufficient_scope" {
				drain(resp)
				return nil, a.requireStepUp(c)
			}
			return resp, nil
		default:
			if token != "" {
				a.tokenAccepted(token)
			}
			return resp, nil
		}
		if err == nil { // a new token may have taken long
			err = core.Readmit(req.Context())
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
	due := rec.Refresh != "" && (access == "" || !expires.IsZero() && left < refreshMargin)
	a.mu.Unlock()
	if !due {
		return access, nil
	}
	fresh, err := a.refresh(ctx, access)
	if err != nil && access != "" && left > 0 {
		fresh, err = access, nil // the token has not expired yet
	}
	return fresh, cmp.Or(err, core.Readmit(ctx))
}

// replaceRejectedToken handles a 401 response to a request with token. It returns another token to
// try.
func (a *account) replaceRejectedToken(ctx context.Context, token string, c challenge) (string, error) {
	a.mu.Lock()
	rec := a.rec
	var now, refresh string
	if rec != nil {
		now, refresh = rec.Access, rec.Refresh
	}
	a.mu.Unlock()
	switch {
	case token == "" || rec == nil:
		return "", a.requireLogin(token, c)
	case now != token && now != "":
		return now, nil // refreshed by another request in the meantime
	case refresh == "":
		return "", a.requireLogin(token, c)
	}
	fresh, err := a.refresh(ctx, token)
	if errors.Is(err, core.ErrNeedsLogin) {
		return "", a.requireLogin(token, c)
	}
	return fresh, err
}

// requireLogin changes the state to core.LoginNeeded and returns the error for the caller.
func (a *account) requireLogin(token string, c challenge) error {
	a.mu.Lock()
	if token != "" && a.rec != nil && a.rec.Access != "" && a.rec.Access != token {
		a.mu.Unlock() // signed in again in the meantime: the next request can succeed
		return newError(core.CodeUnavailable, "Try again.", nil, "a sign-in to server %q was completed a moment ago", a.id)
	}
	a.lastChallenge = c
	reason := "it requires you to sign in"
	if token != "" {
		reason = "its sign-in has expired or was revoked"
	}
	notify := a.setState(core.LoginNeeded, reason)
	a.mu.Unlock()
	notify()
	return NeedsLogin(a.id, reason)
}

// NeedsLogin returns the error for a server that requires the user to sign in. It wraps
// core.ErrNeedsLogin.
func NeedsLogin(id, reason string) error {
	return &core.Error{Code: core.CodeUnauthorized, Cause: core.ErrNeedsLogin,
		Message: fmt.Sprintf("server %q: %s", id, reason),
		Hint:    "Use the web UI to sign in, or run: drawbridge login " + id + ".",
		Remedy:  core.SignIn(id)}
}

// requireStepUp handles an insufficient_scope response (RFC 6750, section 3.1). After maxStepUps
// sign-ins for the same scopes it stops asking the user, because a server may keep refusing.
func (a *account) requireStepUp(c challenge) error {
	a.mu.Lock()
	if c.metadata == "" {
		c.metadata = a.lastChallenge.metadata
	}
	a.lastChallenge = c
	key := strings.Join(slices.Sorted(slices.Values(c.scopes)), " ")
	if a.rec == nil || a.stepUps[key] >= maxStepUps {
		had := a.state == core.LoginMorePermissions
		notify := func() {}
		if had {
			notify = a.setState(core.LoginDone, "")
		}
		a.mu.Unlock()
		notify()
		return newError(core.CodeUnauthorized, "Ask the operator of the server which permission is missing.", nil,
			"server %q rejected the request although you granted the permissions that it requires (%s)", a.id, sanitize(key, 200))
	}
	a.missingScopes = c.scopes
	reason := "it requires another permission: " + sanitize(key, 200)
	if len(c.scopes) != 1 {
		reason = "it requires more permissions: " + sanitize(key, 200)
	}
	notify := a.setState(core.LoginMorePermissions, reason)
	a.mu.Unlock()
	notify()
	return NeedsLogin(a.id, reason)
}

// tokenAccepted records that the server accepted the token.
func (a *account) tokenAccepted(token string) {
	a.mu.Lock()
	if a.state == core.LoginDone || a.state == core.LoginMorePermissions || a.rec == nil || a.rec.Access != token {
		a.mu.Unlock()
		return
	}
	notify := a.setState(core.LoginDone, "")
	a.mu.Unlock()
	notify()
}

// setState changes the state and returns the notification, which the caller must call after
// unlocking a.mu. The caller must hold a.mu.
func (a *account) setState(state core.LoginState, reason string) (notify func()) {
	if a.state == state && a.reason == reason {
		return func() {}
	}
	a.state, a.reason = state, reason
	close(a.changed)
	a.changed = make(chan struct{})
	return func() { a.keeper.changed(a.id) }
}

// refresh replaces the access token stale and returns the new one. Concurrent callers share one
// refresh. If the authorization server refuses the refresh token, the error wraps
// core.ErrNeedsLogin.
func (a *account) refresh(ctx context.Context, stale string) (string, error) {
	a.mu.Lock()
	switch {
	case a.rec == nil || a.rec.Refresh == "":
		a.mu.Unlock()
		return "", NeedsLogin(a.id, "its sign-in has expired or was revoked")
	case a.rec.Access != stale && a.rec.Access != "":
		defer a.mu.Unlock()
		return a.rec.Access, nil
	}
	r := a.refreshing
	if r == nil && a.keeper.ctx.Err() == nil {
		r = &inFlightRefresh{done: make(chan struct{})}
		a.refreshing = r
		rec, s := *a.rec, a.server
		a.keeper.work.Go(func() {
			r.token, r.err = a.requestRefresh(rec, s)
			a.mu.Lock()
			a.refreshing = nil
			a.mu.Unlock()
			close(r.done)
		})
	}
	a.mu.Unlock()
	if r == nil {
		return "", a.keeper.ctx.Err()
	}
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (a *account) requestRefresh(rec record, s Server) (string, error) {
	ctx, cancel := context.WithTimeout(a.keeper.ctx, refreshTimeout)
	defer cancel()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {rec.Refresh}}
	if rec.Resource != "" {
		form.Set("resource", rec.Resource)
	}
	if rec.Client.Source == sourceConfig {
		rec.Client.Secret = s.ClientSecret
	}
	got, err := a.guard.requestToken(ctx, rec.TokenEndpoint, rec.Client, form)
	if err != nil {
		return "", a.refreshFailed(ctx, &rec, err)
	}
	before := rec.Refresh
	rec.Access, rec.Expires = got.access, got.expires
	if got.refresh != "" {
		rec.Refresh = got.refresh
	}
	if got.scopes != nil {
		rec.Scopes = got.scopes
	}
	a.keeper.addKnownSecrets(rec.Access, rec.Refresh)
	a.mu.Lock()
	if a.rec == nil || a.rec.Refresh != before {
		a.mu.Unlock() // signed out or signed in again in the meantime
		return "", NeedsLogin(s.ID, "its sign-in has expired or was revoked")
	}
	a.rec = &rec
	a.mu.Unlock()
	// The token is already in use. If it cannot be stored, the user has to sign in again after a
	// restart.
	if err := a.keeper.saveRecord(ctx, s.ID, &rec); err != nil {
		a.keeper.opts.Log.Warn("Cannot store a refreshed token", "server", s.ID, "error", err)
	}
	return rec.Access, nil
}

// refreshFailed returns the error for the caller of a failed refresh. If the refusal is final, it
// also deletes the refresh token.
func (a *account) refreshFailed(ctx context.Context, rec *record, err error) error {
	a.keeper.opts.Log.Info("Cannot refresh a token", "server", a.id, "error", err)
	if !requiresLogin(err) {
		return &core.Error{Code: core.CodeUnavailable, Retriable: true, Cause: err,
			Message: fmt.Sprintf("server %q: cannot refresh its token: %s", a.id, err)}
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
		if err := a.keeper.saveRecord(ctx, a.id, keep); err != nil {
			a.keeper.opts.Log.Warn("Cannot delete a refresh token", "server", a.id, "error", err)
		}
	}
	return NeedsLogin(a.id, "its sign-in has expired or was revoked")
}

// grant is a successful response of a token endpoint.
type grant struct {
	access, refresh string
	expires         time.Time // zero if not specified
	scopes          []string  // nil if not specified: the requested scopes are granted
}

// tokenError is a refusal by a token endpoint that a retry does not change.
type tokenError struct {
	code        string // OAuth error code, "" if the response has none
	description string // description for the user, already shortened by cut
}

func (e *tokenError) Error() string {
	switch {
	case e.description != "" && e.code != "":
		return e.code + " (" + e.description + ")"
	case e.description != "":
		return e.description
	}
	return e.code
}

// temporaryError is a temporary failure of a token endpoint: status 429 or 5xx.
type temporaryError struct{ status int }

func (e *temporaryError) Error() string {
	return fmt.Sprintf("its token endpoint responded with HTTP status %d", e.status)
}

// Unreachable reports true, so that a server that needs a new token is retried like a server that
// cannot be reached.
func (e *temporaryError) Unreachable() bool { return true }

// Limits of a token. It is sent in a header.
const (
	maxToken    = 16 << 10
	maxLifetime = 366 * 24 * time.Hour
)

// requestToken sends a token request and parses the response.
func (g *guard) requestToken(ctx context.Context, endpoint string, c clientIdentity, form url.Values) (*grant, error) {
	resp, err := g.postForm(ctx, endpoint, c, form)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := readLimited(resp.Body)
	if err != nil {
		return nil, stripURL(err)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, &temporaryError{resp.StatusCode}
	case resp.StatusCode != http.StatusOK:
		return nil, parseTokenError(resp.StatusCode, body)
	case !strings.HasSuffix(media, "json"):
		return nil, &tokenError{description: "its token endpoint returned " + sanitize(media, 60) + " instead of JSON"}
	}
	return parseGrant(body)
}

// postForm sends a form with the authentication of the client. Redirects are refused.
func (g *guard) postForm(ctx context.Context, endpoint string, c clientIdentity, form url.Values) (*http.Response, error) {
	g.determineZone(ctx)
	if _, err := g.parseURL("token_endpoint", endpoint); err != nil {
		return nil, err
	}
	if c.Method != authBasic {
		form.Set("client_id", c.ID)
	}
	if c.Method == authPost {
		form.Set("client_secret", c.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.Method == authBasic { // RFC 6749, 2.3.1: both are form-encoded first
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, stripURL(err)
	}
	return resp, nil
}

// parseTokenError parses an error response of a token endpoint (RFC 6749, section 5.2). Its text is
// untrusted.
func parseTokenError(status int, body []byte) error {
	var answer struct {
		Code string `json:"error"`
		Said string `json:"error_description"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Code == "" {
		return &tokenError{description: fmt.Sprintf("its token endpoint responded with HTTP status %d", status)}
	}
	return &tokenError{code: sanitize(answer.Code, 60), description: sanitize(answer.Said, 200)}
}

func parseGrant(body []byte) (*grant, error) {
	var answer struct {
		Access  string          `json:"access_token"`
		Refresh string          `json:"refresh_token"`
		Type    string          `json:"token_type"`
		Expires json.RawMessage `json:"expires_in"`
		Scope   *string         `json:"scope"`
		Error   string          `json:"error"`
		Said    string          `json:"error_description"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, &tokenError{description: "the response from its token endpoint is not valid JSON"}
	}
	switch {
	case answer.Error != "": // some servers send errors with status 200
		return nil, &tokenError{code: sanitize(answer.Error, 60), description: sanitize(answer.Said, 200)}
	case !strings.EqualFold(answer.Type, "bearer"):
		return nil, &tokenError{description: fmt.Sprintf("it issues tokens of type %q, but only Bearer is supported", sanitize(answer.Type, 40))}
	case !validToken(answer.Access):
		return nil, &tokenError{description: "it issued a token with invalid characters"}
	case answer.Refresh != "" && len(answer.Refresh) > maxToken:
		return nil, &tokenError{description: "it issued a refresh token that is too large"}
	}
	g := &grant{access: answer.Access, refresh: answer.Refresh, expires: parseExpiry(answer.Expires)}
	if answer.Scope != nil {
		g.scopes = append([]string{}, parseScopes(*answer.Scope)...)
	}
	return g, nil
}

// parseExpiry parses expires_in, which some servers send as a string. It returns the zero time if the
// value is missing or invalid.
func parseExpiry(raw json.RawMessage) time.Time {
	var seconds float64
	if err := json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &seconds); err != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(min(seconds, maxLifetime.Seconds()) * float64(time.Second))).UTC()
}

// validToken reports whether text can be sent in an Authorization header. It accepts all of RFC
// 6750, section 2.1, and any other visible ASCII character.
func validToken(text string) bool {
	if text == "" || len(text) > maxToken {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7F {
			return false
		}
	}
	return true
}

// requiresLogin reports whether err is a refusal that requires the user to sign in again.
func requiresLogin(err error) bool {
	_, ok := errors.AsType[*tokenError](err)
	return ok
}
