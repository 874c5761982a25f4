package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
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

// The bounds of one sign-in.
const (
	loginLife     = 10 * time.Minute // for the user
	discoverLimit = 45 * time.Second
	exchangeLimit = 30 * time.Second
	maxAnswers    = 50 // wrong ones, after which the listener closes
)

// Pending is a sign-in that waits for the user.
type Pending struct {
	URL       string    `json:"url"`  // to open in a browser
	Host      string    `json:"host"` // of URL: who will ask for the password
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Status is how it stands with signing in to a server.
type Status struct {
	State   core.Login `json:"state"`
	Reason  string     `json:"reason"`
	Pending *Pending   `json:"pending,omitempty"` // a sign-in is under way
	Failed  string     `json:"failed,omitempty"`  // why the last one came to nothing
	Issuer  string     `json:"issuer,omitempty"`  // who gave the tokens that are in use
	Scopes  []string   `json:"scopes,omitempty"`
	Since   time.Time  `json:"since,omitzero"`
	Expires time.Time  `json:"expires,omitzero"` // of the token in use; it is refreshed where Renews
	Renews  bool       `json:"renews"`
}

// login is one sign-in under way. What is above mu never changes.
type login struct {
	pending   Pending
	state     string
	verifier  string
	redirect  string
	port      int
	place     *place
	client    client
	until     time.Time // when the client ends, zero for never
	scopes    []string
	metadata  string
	listener  *http.Server
	cancelled context.CancelCauseFunc
	done      chan struct{} // closed when it has ended

	mu    sync.Mutex
	taken bool // the answer was taken: there is one
	wrong int  // answers that were none
}

// Begin finds out where to sign in to a server and waits for the answer. It opens nothing: the
// person is to open the address. A sign-in of the same server that is under way ends.
func (k *Keeper) Begin(ctx context.Context, id string) (Pending, error) {
	a, err := k.account(id)
	if err != nil {
		return Pending{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, discoverLimit)
	defer cancel()
	// What the user signed in for could not be kept otherwise.
	if err := k.o.Vault.Ready(ctx); err != nil {
		return Pending{}, err
	}
	if err := a.open(ctx); err != nil {
		return Pending{}, err
	}
	l, err := a.prepare(ctx)
	if err != nil {
		if _, own := errors.AsType[*core.Error](err); !own {
			err = failure(core.CodeUnavailable, "If the server takes a token of another kind, put it into \"headers\".", err,
				"cannot sign in to server %q: %s", id, sentence(ctx, err))
		}
		return Pending{}, err
	}
	return l.pending, nil
}

// sentence is why something failed, for people.
func sentence(ctx context.Context, err error) string {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return "it did not answer in time"
	}
	return cut(err.Error(), 500)
}

// prepare discovers, registers, and opens the listener.
func (a *account) prepare(ctx context.Context) (*login, error) {
	a.mu.Lock()
	s, c, rec, lacks := a.server, a.last, a.rec, a.lacks
	a.mu.Unlock()
	if c.metadata == "" && rec != nil {
		c.metadata = rec.Metadata
	}
	a.endLogin(errors.New("another sign-in was begun"))
	where, err := a.guard.discover(ctx, a.at, c, s.Issuer)
	if err != nil {
		return nil, err
	}
	l := &login{place: where, state: random(), verifier: random(), metadata: where.metadata, done: make(chan struct{})}
	listener, err := a.register(ctx, s, l)
	if err != nil {
		return nil, err
	}
	l.scopes = scopes(s, c, rec, where, lacks)
	to, err := a.guard.check("authorization_endpoint", where.server.AuthorizationEndpoint)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	sum := sha256.Sum256([]byte(l.verifier))
	q := to.Query()
	q.Set("response_type", "code")
	q.Set("client_id", l.client.ID)
	q.Set("redirect_uri", l.redirect)
	q.Set("state", l.state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	q.Set("resource", where.resource)
	if len(l.scopes) > 0 {
		q.Set("scope", strings.Join(l.scopes, " "))
	}
	if slices.Contains(l.scopes, offline) {
		q.Set("prompt", "consent") // OpenID Connect 11: else a server may leave offline_access out
	}
	to.RawQuery = q.Encode()
	l.pending = Pending{URL: to.String(), Host: to.Host, Issuer: where.server.Issuer, Scopes: l.scopes, ExpiresAt: time.Now().Add(a.k.o.Patience).UTC()}
	a.mu.Lock()
	if a.k.ctx.Err() != nil || a.login != nil {
		a.mu.Unlock()
		_ = listener.Close()
		return nil, core.Errorf(core.CodeConflict, "another sign-in to server %q was begun", s.ID)
	}
	a.login = l
	life, cancel := context.WithCancelCause(a.k.ctx)
	l.cancelled = cancel
	a.mu.Unlock()
	a.k.work.Go(func() { a.wait(life, l, listener) })
	return l, nil
}

const offline = "offline_access"

// scopes are those to ask for: what the configuration says, else what the server's refusal
// named, else what its description names, else none. What was granted before and what is asked
// for now come on top, so that no sign-in takes a permission away.
func scopes(s Server, c challenge, rec *record, where *place, lacks []string) []string {
	list := slices.Clone(s.Scopes)
	if len(list) == 0 && len(lacks) == 0 {
		list = slices.Clone(c.scopes)
		if len(list) == 0 {
			list = slices.Clone(where.scopes)
		}
	}
	if len(lacks) > 0 && rec != nil && rec.Issuer == where.server.Issuer {
		list = append(append(list, rec.Asked...), rec.Scopes...)
	}
	list = append(list, lacks...)
	if slices.Contains(where.server.ScopesSupported, offline) {
		list = append(list, offline)
	}
	seen := list[:0:0]
	for _, one := range list {
		if !slices.Contains(seen, one) && validScope(one) {
			seen = append(seen, one)
		}
	}
	return seen
}

func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// listen opens the address that the answer comes to: on this machine alone.
func listen(ctx context.Context, port int) (net.Listener, int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, 0, err
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}

// wait serves the answer until it has come, or the sign-in ends otherwise.
func (a *account) wait(ctx context.Context, l *login, listener net.Listener) {
	timer := time.NewTimer(time.Until(l.pending.ExpiresAt))
	defer timer.Stop()
	answered := make(chan error, 2) // the one that counts, and that too many came
	l.listener = &http.Server{
		Handler:     l.answer(ctx, a, answered),
		ReadTimeout: 10 * time.Second, WriteTimeout: exchangeLimit + 10*time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(a.k.o.Log.Handler(), slog.LevelDebug),
	}
	l.listener.SetKeepAlivesEnabled(false)
	served := make(chan struct{})
	go func() { defer close(served); _ = l.listener.Serve(listener) }()
	var err error
	select {
	case err = <-answered:
	case <-timer.C:
		err = errors.New("nobody signed in in time")
		a.k.unproven(l)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	// The port is free before anybody hears that this has ended: the next sign-in at the same
	// issuer needs it, or registers us once more.
	_ = listener.Close()
	a.finish(l, err)
	leave, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if l.listener.Shutdown(leave) != nil { // the page gets its answer
		_ = l.listener.Close()
	}
	<-served
}

// finish ends a sign-in, once.
func (a *account) finish(l *login, err error) {
	why := ""
	if err != nil {
		why = cut(err.Error(), 500)
	}
	a.mu.Lock()
	if a.login == l {
		a.login = nil
	}
	a.failed = why
	a.mu.Unlock()
	l.cancelled(err)
	close(l.done)
	if err != nil {
		a.k.o.Log.Info("Sign-in came to nothing", "server", a.id, "reason", why)
	} else {
		a.k.o.Log.Info("Signed in", "server", a.id, "issuer", l.place.server.Issuer)
	}
	a.k.o.Changed(a.id)
}

// endLogin ends a sign-in under way and waits until it has ended.
func (a *account) endLogin(why error) bool {
	a.mu.Lock()
	l := a.login
	a.mu.Unlock()
	if l == nil {
		return false
	}
	l.cancelled(why)
	<-l.done
	return true
}

// Cancel ends the sign-in of a server that is under way.
func (k *Keeper) Cancel(id string) error {
	a, err := k.account(id)
	if err != nil {
		return err
	}
	if !a.endLogin(errors.New("it was cancelled")) {
		return core.Errorf(core.CodeNotFound, "no sign-in to server %q is under way", id)
	}
	return nil
}

// Status says how it stands with signing in to a server.
func (k *Keeper) Status(id string) Status {
	a, err := k.account(id)
	if err != nil {
		return Status{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	st := Status{State: a.state, Reason: a.reason, Failed: a.failed}
	if a.login != nil {
		p := a.login.pending
		st.Pending = &p
	}
	if r := a.rec; r != nil && (r.Access != "" || r.Refresh != "") && a.state != core.LoginNeeded {
		st.Issuer, st.Scopes, st.Since, st.Expires, st.Renews = r.Issuer, r.Scopes, r.Since, r.Expires, r.Refresh != ""
	}
	return st
}

// exchange takes the code to the token endpoint and keeps what that gives.
func (a *account) exchange(ctx context.Context, l *login, code string) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.redirect},
		"code_verifier": {l.verifier}, "resource": {l.place.resource},
	}
	a.mu.Lock()
	s := a.server
	a.mu.Unlock()
	c := l.client
	if c.Source == fromConfig {
		c.Secret = s.ClientSecret
	}
	got, err := a.guard.ask(ctx, l.place.server.TokenEndpoint, c, form)
	if err != nil {
		if final(err) {
			a.k.unproven(l)
		}
		return errors.New("no token was given: " + sentence(ctx, err))
	}
	if l.client.Source == fromConfig {
		l.client.Secret = "" // it is in the configuration
	}
	rec := &record{
		URL: s.URL, Resource: l.place.resource, Issuer: l.place.server.Issuer, Metadata: l.metadata,
		Token: l.place.server.TokenEndpoint, Revocation: l.place.server.RevocationEndpoint, Client: l.client,
		Access: got.access, Refresh: got.refresh, Expires: got.expires, Scopes: got.scopes, Asked: l.scopes, Since: time.Now().UTC().Truncate(time.Second),
	}
	if rec.Scopes == nil {
		rec.Scopes = l.scopes
	}
	if err := a.k.save(ctx, a.id, rec); err != nil {
		return fmt.Errorf("the tokens cannot be kept: %w", err)
	}
	if l.client.Source == fromRegistration {
		a.k.proven(ctx, l)
	}
	a.mu.Lock()
	a.rec = rec
	if len(a.lacks) > 0 {
		a.asked[strings.Join(slices.Sorted(slices.Values(a.lacks)), " ")]++
		a.lacks = nil
	}
	a.last = challenge{metadata: l.metadata}
	told := a.set(core.LoginDone, "")
	a.mu.Unlock()
	told()
	return nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
