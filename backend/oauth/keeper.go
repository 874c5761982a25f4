package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Server is the configuration that is needed to sign in to a server.
type Server struct {
	ID  string
	URL string // with all variables expanded

	// ClientID and ClientSecret identify a client that the user registered, "" if there is none.
	ClientID, ClientSecret string
	// ClientDocument is the https URL of the client ID metadata document, for authorization servers
	// that support it; "" if there is none.
	ClientDocument string
	Scopes         []string // scopes to request instead of those that the server names
	Issuer         string   // which of the server's authorization servers to use; "" is the first
	Port           int      // port of the redirect URI; 0 is any free port
}

// Options configure a Keeper. Vault is required.
type Options struct {
	Vault Vault
	Log   *slog.Logger
	// SignInTimeout is how long a sign-in waits for the user; 10 minutes if zero.
	SignInTimeout time.Duration
}

// Keeper manages the sign-ins of all servers. Its methods are safe for concurrent use.
type Keeper struct {
	opts   Options
	ctx    context.Context // for work that outlives a request: refreshes, callbacks, revocations
	cancel context.CancelFunc
	work   sync.WaitGroup

	changed      func(server string)
	onNewSecrets func()

	configChanged chan struct{}

	mu           sync.Mutex
	accounts     map[string]*account
	configured   map[string]bool   // server ids; nil before the first Apply
	settings     map[string]string // as Apply got them
	knownSecrets []string
}

// New returns a Keeper. It starts no goroutines.
func New(o Options) *Keeper {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.SignInTimeout == 0 {
		o.SignInTimeout = defaultSignInTimeout
	}
	k := &Keeper{opts: o, changed: func(string) {}, onNewSecrets: func() {}, accounts: map[string]*account{}, configChanged: make(chan struct{}, 1)}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Observe sets what is called when sign-ins change. It must be called before Client. changed is
// called from any goroutine after the result of LoginState has changed for a server, and must not
// block. learned is called when KnownSecrets has grown, before the new values are used. It must not
// call methods of the Keeper other than KnownSecrets.
func (k *Keeper) Observe(changed func(server string), learned func()) {
	k.changed, k.onNewSecrets = changed, learned
}

// Close cancels all sign-ins and refreshes in progress and waits until they have ended or ctx is
// cancelled.
func (k *Keeper) Close(ctx context.Context) error {
	k.cancel()
	k.mu.Lock()
	for _, a := range k.accounts {
		a.base.CloseIdleConnections()
	}
	k.mu.Unlock()
	done := make(chan struct{})
	go func() { k.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Client returns the HTTP client for requests to a server. It loads the stored sign-in of the
// server, which fails while the keyring is locked.
func (k *Keeper) Client(ctx context.Context, s Server) (*http.Client, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, core.Errorf(core.CodeValidation, "server %q has no http or https url", s.ID)
	}
	k.addKnownSecrets(s.ClientSecret)
	k.mu.Lock()
	a := k.accounts[s.ID]
	if a == nil || a.url != s.URL {
		if a != nil {
			a.cancelLogin(errors.New("the server's URL was changed"))
			a.base.CloseIdleConnections()
		}
		a = newAccount(k, s, u)
		k.accounts[s.ID] = a
	}
	k.mu.Unlock()
	a.mu.Lock()
	a.server = s // settings other than the URL may have changed
	a.mu.Unlock()
	if err := a.ensureLoaded(ctx); err != nil {
		return nil, err
	}
	return &http.Client{Transport: a}, nil
}

// Load loads the stored sign-in of a server for which Client has not been called yet, so that
// Status and Logout know it.
func (k *Keeper) Load(ctx context.Context, s Server) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return core.Errorf(core.CodeValidation, "server %q has no http or https url", s.ID)
	}
	k.mu.Lock()
	a := k.accounts[s.ID]
	if a == nil {
		a = newAccount(k, s, u)
		k.accounts[s.ID] = a
	}
	k.mu.Unlock()
	return a.ensureLoaded(ctx)
}

// account returns the account of a server, or an error with core.CodeConflict if Client has not
// been called for it.
func (k *Keeper) account(id string) (*account, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a := k.accounts[id]; a != nil {
		return a, nil
	}
	return nil, &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("server %q has not been used yet", id),
		Hint: "Start it first. It then reports whether it requires a sign-in."}
}

// LoginState returns the sign-in state of a server, with a reason if the user has to act. It
// returns core.LoginNone if Client has not been called for the server.
func (k *Keeper) LoginState(id string) (state core.LoginState, reason string) {
	a, err := k.account(id)
	if err != nil {
		return core.LoginNone, ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.reason
}

// Await blocks until a server no longer requires a sign-in, ctx is cancelled or the Keeper is
// closed.
func (k *Keeper) Await(ctx context.Context, id string) error {
	for {
		a, err := k.account(id)
		if err != nil {
			return err
		}
		a.mu.Lock()
		state, changed := a.state, a.changed
		a.mu.Unlock()
		if state != core.LoginNeeded && state != core.LoginMorePermissions {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-k.ctx.Done():
			return k.ctx.Err()
		}
	}
}

// Rename moves the sign-in of a server to another id. It cancels a sign-in in progress and waits
// for a refresh in progress. Clients of the old id must be replaced by a call of Client with the
// new one.
func (k *Keeper) Rename(ctx context.Context, from, to string) error {
	k.mu.Lock()
	a := k.accounts[from]
	k.mu.Unlock()
	if a != nil {
		a.cancelLogin(errors.New("the server was renamed"))
		a.mu.Lock()
		r := a.refreshing
		a.mu.Unlock()
		if r != nil {
			select {
			case <-r.done: // its tokens are stored under the old id
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := k.opts.Vault.Move(ctx, recordName(from), recordName(to)); err != nil {
		return err
	}
	k.mu.Lock()
	delete(k.accounts, from)
	delete(k.accounts, to) // account of an earlier server with this id
	k.mu.Unlock()
	if a != nil {
		a.base.CloseIdleConnections()
	}
	return nil
}

const (
	// removalGrace is how long a server must be missing from the configuration before its sign-in
	// is deleted. The user stays signed in when a removal is undone or an entry moves to another
	// file.
	removalGrace        = 10 * time.Minute
	lockedRetryInterval = time.Minute // retry interval while the keyring is locked
)

// Apply sets the configured servers: a hash of the settings of each, by its id. A sign-in in progress
// ends if its server was removed or has other settings: the user has agreed to sign in to another
// one. Apply does not block.
func (k *Keeper) Apply(servers map[string]string) {
	configured := make(map[string]bool, len(servers))
	for id := range servers {
		configured[id] = true
	}
	k.mu.Lock()
	before := k.settings
	k.configured, k.settings = configured, servers
	for id, a := range k.accounts {
		switch {
		case before == nil:
		case !configured[id]:
			a.abortLogin(errors.New("the server was removed"))
		case before[id] != servers[id]:
			a.abortLogin(errors.New("the settings of the server have changed: sign in again"))
		}
	}
	k.mu.Unlock()
	select {
	case k.configChanged <- struct{}{}:
	default:
	}
}

// Run deletes and revokes the sign-ins of servers that are no longer configured, until ctx is
// cancelled. It returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	gone := map[string]time.Time{} // server id to the time when it was first missing
	timer := time.NewTimer(removalGrace)
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.configChanged:
		case <-timer.C:
		}
		if next := k.deleteRemoved(ctx, gone, time.Now()); next > 0 {
			timer.Reset(next)
		} else {
			timer.Stop()
		}
	}
}

// deleteRemoved deletes the sign-ins of servers that have been missing for removalGrace. It returns
// the delay until the next check, 0 if none is needed.
func (k *Keeper) deleteRemoved(ctx context.Context, gone map[string]time.Time, now time.Time) (next time.Duration) {
	k.mu.Lock()
	configured := k.configured
	k.mu.Unlock()
	names, err := k.opts.Vault.Names(ctx)
	if err != nil {
		return lockedRetryInterval
	}
	left := map[string]bool{}
	for _, name := range names {
		id, ok := strings.CutPrefix(name, serverPrefix)
		if !ok || configured[id] {
			continue
		}
		left[id] = true
		since, known := gone[id]
		if !known {
			since, gone[id] = now, now
		}
		wait := removalGrace - now.Sub(since)
		if wait <= 0 {
			if wait = 0; k.deleteSignIn(ctx, id) != nil {
				wait = lockedRetryInterval
			}
		}
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	for id := range gone {
		if !left[id] {
			delete(gone, id) // configured again, or deleted
		}
	}
	return next
}

// deleteSignIn deletes the stored sign-in of a server and revokes its tokens in the background. The
// client registration at the issuer is deleted with the last server that uses it.
func (k *Keeper) deleteSignIn(ctx context.Context, id string) error {
	rec, err := k.readRecord(ctx, id)
	if err != nil {
		return err
	}
	names := []string{recordName(id)}
	if rec != nil && !k.issuerInUse(ctx, id, rec.Issuer) {
		names = append(names, registrationName(rec.Issuer))
	}
	if _, err := k.opts.Vault.Remove(ctx, names...); err != nil {
		return err
	}
	k.mu.Lock()
	a := k.accounts[id]
	delete(k.accounts, id)
	k.mu.Unlock()
	var g *guard
	s := Server{ID: id}
	if a != nil {
		g = a.guard
		a.cancelLogin(errors.New("the server was removed"))
		a.base.CloseIdleConnections()
		a.mu.Lock()
		a.rec, s = nil, a.server
		a.mu.Unlock()
	} else if rec != nil { // not used in this run
		u, _ := url.Parse(rec.URL) // nil if it cannot be read
		g = newGuard(u)
	}
	k.opts.Log.Info("Deleted the tokens of a removed server", "server", id)
	if rec != nil {
		k.work.Go(func() { k.revokeTokens(g, rec, s) })
	}
	return nil
}

// readRecord returns the record stored under a server's id, whatever its URL, or nil if there is
// none.
func (k *Keeper) readRecord(ctx context.Context, id string) (*record, error) {
	text, err := k.opts.Vault.Get(ctx, recordName(id))
	if core.CodeOf(err) == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if json.Unmarshal([]byte(text), r) != nil {
		return nil, nil // unreadable records are deleted like absent ones
	}
	return r, nil
}

// issuerInUse reports whether another server is signed in at the same issuer. It returns true if
// that cannot be determined.
func (k *Keeper) issuerInUse(ctx context.Context, id, issuer string) bool {
	names, err := k.opts.Vault.Names(ctx)
	for _, name := range names {
		other, ok := strings.CutPrefix(name, serverPrefix)
		if !ok || other == id {
			continue
		}
		if r, err := k.readRecord(ctx, other); err != nil || r != nil && r.Issuer == issuer {
			return true
		}
	}
	return err != nil
}

// ForgetAll deletes all stored sign-ins and client registrations, and revokes the tokens in the
// background.
func (k *Keeper) ForgetAll(ctx context.Context) error {
	names, err := k.opts.Vault.Names(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		id, ok := strings.CutPrefix(name, serverPrefix)
		if !ok {
			continue
		}
		if err := k.Logout(ctx, id); core.CodeOf(err) == core.CodeConflict { // not used in this run
			err = k.deleteSignIn(ctx, id)
			failed = errors.Join(failed, err)
		} else if core.CodeOf(err) != core.CodeNotFound {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil || len(names) == 0 {
		return failed
	}
	_, err = k.opts.Vault.Remove(ctx, names...)
	return err
}

// Logout deletes the tokens of a server. If the authorization server supports revocation (RFC
// 7009), they are also revoked there, in the background.
func (k *Keeper) Logout(ctx context.Context, id string) error {
	a, err := k.account(id)
	if err != nil {
		return err
	}
	a.cancelLogin(errors.New("you signed out of the server"))
	a.mu.Lock()
	rec := a.rec
	a.mu.Unlock()
	if _, err := k.opts.Vault.Remove(ctx, recordName(id)); err != nil {
		return err
	}
	a.mu.Lock()
	a.rec, a.missingScopes, a.lastFailure = nil, nil, ""
	a.stepUps = map[string]int{}
	notify := func() {}
	if rec != nil {
		a.lastChallenge = challenge{metadata: rec.Metadata}
		notify = a.setState(core.LoginNeeded, "you signed out")
	}
	s := a.server
	a.mu.Unlock()
	notify()
	if rec == nil {
		return core.Errorf(core.CodeNotFound, "you are not signed in to server %q", id)
	}
	a.base.CloseIdleConnections()
	k.work.Go(func() { k.revokeTokens(a.guard, rec, s) })
	return nil
}

// revokeTokens revokes the tokens of a record at their authorization server. If that fails, they stay
// valid until they expire.
func (k *Keeper) revokeTokens(g *guard, rec *record, s Server) {
	if rec.RevocationEndpoint == "" {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, refreshTimeout)
	defer cancel()
	c := rec.Client
	if c.Source == sourceConfig {
		c.Secret = s.ClientSecret
	}
	for _, one := range [][2]string{{"refresh_token", rec.Refresh}, {"access_token", rec.Access}} {
		if one[1] == "" {
			continue
		}
		resp, err := g.postForm(ctx, rec.RevocationEndpoint, c, url.Values{"token": {one[1]}, "token_type_hint": {one[0]}})
		if err != nil {
			k.opts.Log.Info("Cannot revoke a token", "server", s.ID, "error", err)
			return
		}
		drain(resp)
	}
}
