package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of one sign-in.
const (
	defaultSignInTimeout = 10 * time.Minute // time for the user to sign in
	discoverTimeout      = 45 * time.Second
	exchangeTimeout      = 30 * time.Second
	maxWrongCallbacks    = 50 // callbacks with a wrong state, after which the sign-in fails
)

// Pending describes a sign-in that waits for the user.
type Pending struct {
	URL       string    `json:"url"`  // to open in a browser
	Host      string    `json:"host"` // host of URL, which asks for the password
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Status is the sign-in status of a server.
type Status struct {
	State   core.LoginState `json:"state"`
	Reason  string          `json:"reason"`
	Pending *Pending        `json:"pending,omitempty"` // the sign-in in progress
	Failed  string          `json:"failed,omitempty"`  // why the last sign-in failed
	Issuer  string          `json:"issuer,omitempty"`  // issuer of the tokens in use
	Scopes  []string        `json:"scopes,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Expires time.Time       `json:"expires,omitzero"` // expiry of the access token; it is refreshed if Renews is set
	Renews  bool            `json:"renews"`
}

type login struct {
	pending       Pending
	state         string
	verifier      string
	redirectURI   string
	port          int
	target        *authTarget
	client        clientIdentity
	clientExpires time.Time // when the client registration expires, zero if never
	scopes        []string
	metadata      string
	httpServer    *http.Server
	cancel        context.CancelCauseFunc
	done          chan struct{} // closed when the sign-in has ended

	mu             sync.Mutex
	received       bool // a callback with the right state has come
	wrongCallbacks int  // number of callbacks with a wrong state
}

// Begin starts a sign-in and returns the URL that the user has to open; it does not open a browser.
// It blocks for discovery and client registration, at most 45 seconds. The callback is then awaited
// in the background. A sign-in of the same server that is in progress is cancelled.
func (k *Keeper) Begin(ctx context.Context, id string) (Pending, error) {
	a, err := k.account(id)
	if err != nil {
		return Pending{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	// Fail before the user signs in if the tokens cannot be stored.
	if err := k.opts.Vault.Ready(ctx); err != nil {
		return Pending{}, err
	}
	if err := a.ensureLoaded(ctx); err != nil {
		return Pending{}, err
	}
	l, err := a.startLogin(ctx)
	if err != nil {
		if _, own := errors.AsType[*core.Error](err); !own {
			err = newError(core.CodeUnavailable, "If the server uses another kind of token, set it in \"headers\".", err,
				"cannot sign in to server %q: %s", id, describeError(ctx, err))
		}
		return Pending{}, err
	}
	return l.pending, nil
}

func describeError(ctx context.Context, err error) string {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return "it did not respond in time"
	}
	return sanitize(err.Error(), 500)
}

// startLogin runs discovery and client registration, opens the callback listener and starts to wait
// for the callback.
func (a *account) startLogin(ctx context.Context) (*login, error) {
	a.mu.Lock()
	s, c, rec, missing := a.server, a.lastChallenge, a.rec, a.missingScopes
	a.mu.Unlock()
	if c.metadata == "" && rec != nil {
		c.metadata = rec.Metadata
	}
	a.cancelLogin(errors.New("another sign-in was started"))
	target, err := a.guard.discover(ctx, a.serverURL, c, s.Issuer)
	if err != nil {
		return nil, err
	}
	l := &login{target: target, state: randomString(), verifier: randomString(), metadata: target.metadata, done: make(chan struct{})}
	listener, err := a.chooseClient(ctx, s, l)
	if err != nil {
		return nil, err
	}
	l.scopes = requestedScopes(s, c, rec, target, missing)
	authURL, err := a.guard.parseURL("authorization_endpoint", target.server.AuthorizationEndpoint)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	sum := sha256.Sum256([]byte(l.verifier))
	q := authURL.Query()
	q.Set("response_type", "code")
	q.Set("client_id", l.client.ID)
	q.Set("redirect_uri", l.redirectURI)
	q.Set("state", l.state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	q.Set("resource", target.resource)
	if len(l.scopes) > 0 {
		q.Set("scope", strings.Join(l.scopes, " "))
	}
	if slices.Contains(l.scopes, offlineScope) {
		q.Set("prompt", "consent") // OpenID Connect Core, section 11: servers may ignore offline_access without it
	}
	authURL.RawQuery = q.Encode()
	l.pending = Pending{URL: authURL.String(), Host: authURL.Host, Issuer: target.server.Issuer, Scopes: l.scopes, ExpiresAt: time.Now().Add(a.keeper.opts.SignInTimeout).UTC()}
	a.mu.Lock()
	if a.keeper.ctx.Err() != nil || a.login != nil {
		a.mu.Unlock()
		_ = listener.Close()
		return nil, core.Errorf(core.CodeConflict, "another sign-in to server %q was started", s.ID)
	}
	loginCtx, cancel := context.WithCancelCause(a.keeper.ctx)
	l.cancel = cancel
	a.login = l
	a.mu.Unlock()
	a.keeper.work.Go(func() { a.awaitCallback(loginCtx, l, listener) })
	return l, nil
}

const offlineScope = "offline_access"

// requestedScopes returns the scopes to request: those of the configuration, otherwise those of the
// challenge, otherwise those of the server's metadata, otherwise none. A step-up for the scopes in
// lacks also requests what was requested and granted before, so that no permission is lost.
// offline_access is added if the authorization server supports it.
func requestedScopes(s Server, c challenge, rec *record, target *authTarget, missing []string) []string {
	list := slices.Clone(s.Scopes)
	if len(list) == 0 && len(missing) == 0 {
		list = slices.Clone(c.scopes)
		if len(list) == 0 {
			list = slices.Clone(target.scopes)
		}
	}
	if len(missing) > 0 && rec != nil && rec.Issuer == target.server.Issuer {
		list = append(append(list, rec.RequestedScopes...), rec.Scopes...)
	}
	list = append(list, missing...)
	if slices.Contains(target.server.ScopesSupported, offlineScope) {
		list = append(list, offlineScope)
	}
	seen := list[:0:0]
	for _, one := range list {
		if !slices.Contains(seen, one) && validScope(one) {
			seen = append(seen, one)
		}
	}
	return seen
}

func randomString() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never returns an error
	return base64.RawURLEncoding.EncodeToString(b)
}

// listenCallback opens the callback listener on 127.0.0.1. Port 0 selects a free port.
func listenCallback(ctx context.Context, port int) (net.Listener, int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, 0, err
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}

// awaitCallback serves the callback until it has come, the sign-in times out or ctx is cancelled.
func (a *account) awaitCallback(ctx context.Context, l *login, listener net.Listener) {
	timer := time.NewTimer(time.Until(l.pending.ExpiresAt))
	defer timer.Stop()
	outcome := make(chan error, 2) // the outcome, and the error after too many wrong callbacks
	l.httpServer = &http.Server{
		Handler:     l.callbackHandler(ctx, a, outcome),
		ReadTimeout: 10 * time.Second, WriteTimeout: exchangeTimeout + 10*time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(a.keeper.opts.Log.Handler(), slog.LevelDebug),
	}
	l.httpServer.SetKeepAlivesEnabled(false)
	served := make(chan struct{})
	go func() { defer close(served); _ = l.httpServer.Serve(listener) }()
	var err error
	select {
	case err = <-outcome:
	case <-timer.C:
		err = errors.New("the sign-in timed out")
		a.keeper.deleteRegistration(l)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	// Release the port before the sign-in is reported as ended. The next sign-in at the same issuer
	// needs the port; otherwise it has to register a new client.
	_ = listener.Close()
	a.finishLogin(l, err)
	shutdownCtx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if l.httpServer.Shutdown(shutdownCtx) != nil { // let the handler finish its response
		_ = l.httpServer.Close()
	}
	<-served
}

// finishLogin records the outcome of a sign-in. It must be called once.
func (a *account) finishLogin(l *login, err error) {
	why := ""
	if err != nil {
		why = sanitize(err.Error(), 500)
	}
	a.mu.Lock()
	if a.login == l {
		a.login = nil
	}
	a.lastFailure = why
	a.mu.Unlock()
	l.cancel(err)
	close(l.done)
	if err != nil {
		a.keeper.opts.Log.Info("Sign-in failed", "server", a.id, "reason", why)
	} else {
		a.keeper.opts.Log.Info("Signed in", "server", a.id, "issuer", l.target.server.Issuer)
	}
	a.keeper.changed(a.id)
}

// abortLogin is cancelLogin without waiting.
func (a *account) abortLogin(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil {
		a.login.cancel(why)
	}
}

// cancelLogin cancels the sign-in in progress and waits until it has ended. It reports whether
// there was one.
func (a *account) cancelLogin(why error) bool {
	a.mu.Lock()
	l := a.login
	a.mu.Unlock()
	if l == nil {
		return false
	}
	l.cancel(why)
	<-l.done
	return true
}

// Cancel cancels the sign-in in progress of a server. It returns an error with core.CodeNotFound if
// there is none.
func (k *Keeper) Cancel(id string) error {
	a, err := k.account(id)
	if err != nil {
		return err
	}
	if !a.cancelLogin(errors.New("the sign-in was cancelled")) {
		return core.Errorf(core.CodeNotFound, "no sign-in to server %q is in progress", id)
	}
	return nil
}

// Status returns the sign-in status of a server. It is the zero value if Client has not been called
// for the server.
func (k *Keeper) Status(id string) Status {
	a, err := k.account(id)
	if err != nil {
		return Status{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	st := Status{State: a.state, Reason: a.reason, Failed: a.lastFailure}
	if a.login != nil {
		p := a.login.pending
		st.Pending = &p
	}
	if r := a.rec; r != nil && a.state != core.LoginNeeded && (r.Refresh != "" || r.Access != "" && (r.Expires.IsZero() || time.Now().Before(r.Expires))) {
		st.Issuer, st.Scopes, st.Since, st.Expires, st.Renews = r.Issuer, r.Scopes, r.Since, r.Expires, r.Refresh != ""
	}
	return st
}

// redeemCode redeems the authorization code at the token endpoint and stores the tokens.
func (a *account) redeemCode(ctx context.Context, l *login, code string) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.redirectURI},
		"code_verifier": {l.verifier}, "resource": {l.target.resource},
	}
	a.mu.Lock()
	s := a.server
	a.mu.Unlock()
	c := l.client
	if c.Source == sourceConfig {
		c.Secret = s.ClientSecret
	}
	got, err := a.guard.requestToken(ctx, l.target.server.TokenEndpoint, c, form)
	if err != nil {
		if requiresLogin(err) {
			a.keeper.deleteRegistration(l)
		}
		return errors.New("cannot obtain a token: " + describeError(ctx, err))
	}
	if l.client.Source == sourceConfig {
		l.client.Secret = "" // kept in the configuration only
	}
	rec := &record{
		URL: s.URL, Resource: l.target.resource, Issuer: l.target.server.Issuer, Metadata: l.metadata,
		TokenEndpoint: l.target.server.TokenEndpoint, RevocationEndpoint: l.target.server.RevocationEndpoint, Client: l.client,
		Access: got.access, Refresh: got.refresh, Expires: got.expires, Scopes: got.scopes, RequestedScopes: l.scopes, Since: time.Now().UTC().Truncate(time.Second),
	}
	if rec.Scopes == nil {
		rec.Scopes = l.scopes
	}
	if err := a.keeper.saveRecord(ctx, a.id, rec); err != nil {
		return fmt.Errorf("cannot store the tokens: %w", err)
	}
	if l.client.Source == sourceRegistration {
		a.keeper.saveRegistration(ctx, l)
	}
	a.mu.Lock()
	a.rec = rec
	if len(a.missingScopes) > 0 {
		a.stepUps[strings.Join(slices.Sorted(slices.Values(a.missingScopes)), " ")]++
		a.missingScopes = nil
	}
	a.lastChallenge = challenge{metadata: l.metadata}
	notify := a.setState(core.LoginDone, "")
	a.mu.Unlock()
	notify()
	return nil
}

func constantTimeEqual(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// callbackHandler returns the handler of the redirect URI. It accepts only the first request with
// the state parameter of this sign-in, and sends the outcome to done.
func (l *login) callbackHandler(ctx context.Context, a *account, done chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		// Any other host name indicates DNS rebinding.
		if host, _, err := net.SplitHostPort(r.Host); err != nil || host != "127.0.0.1" && host != "localhost" || r.Method != http.MethodGet || r.URL.Path != callbackPath {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		code, ours, err := l.acceptCallback(r.URL.Query())
		if !ours {
			writePage(w, http.StatusBadRequest, "Drawbridge did not expect this response.", "Go back to the page where you started to sign in.")
			if err != nil {
				done <- err
			}
			return
		}
		if err == nil {
			err = a.redeemCode(ctx, l, code)
		}
		if err != nil {
			writePage(w, http.StatusOK, "Drawbridge could not sign in to "+a.id+".", capitalize(sanitize(err.Error(), 500))+".")
		} else {
			writePage(w, http.StatusOK, "Drawbridge is signed in to "+a.id+".", "You can close this page.")
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		done <- err
	})
}

// acceptCallback validates the query of a callback request. ours is false if its state is not that
// of this sign-in; err is then non-nil when maxAnswers such requests have come.
func (l *login) acceptCallback(q url.Values) (code string, ours bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := q["state"]; l.received || len(one) != 1 || !constantTimeEqual(one[0], l.state) {
		if l.wrongCallbacks++; l.wrongCallbacks == maxWrongCallbacks {
			return "", false, errors.New("too many invalid callbacks were received")
		}
		return "", false, nil
	}
	l.received = true
	return l.parseCode(q)
}

func (l *login) parseCode(q url.Values) (code string, ours bool, err error) {
	// RFC 9207: iss identifies the issuer, in error responses as well. The comparison is exact.
	issuer := l.target.server.Issuer
	switch iss := q["iss"]; {
	case len(iss) > 1 || len(iss) == 1 && iss[0] != issuer:
		return "", true, fmt.Errorf("the response is from another authorization server, %s", sanitize(strings.Join(iss, ", "), 200))
	case len(iss) == 0 && l.target.server.AuthorizationResponseIssParameterSupported:
		return "", true, errors.New("the response does not identify its issuer")
	}
	if q.Has("error") {
		why := &tokenError{code: sanitize(q.Get("error"), 60), description: sanitize(q.Get("error_description"), 200)}
		if why.code == "access_denied" {
			return "", true, errors.New("the sign-in was declined: " + why.Error())
		}
		return "", true, errors.New("the authorization server rejected the request: " + why.Error())
	}
	if one := q["code"]; len(one) == 1 && one[0] != "" && len(one[0]) <= maxToken {
		return one[0], true, nil
	}
	return "", true, errors.New("the response contains no authorization code")
}

var pageTemplate = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Drawbridge</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1rem}h1{font-size:1.25rem}</style>
</head><body><main><h1>{{.Title}}</h1><p>{{.Text}}</p></main></body></html>
`))

func writePage(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, struct{ Title, Text string }{title, text})
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
