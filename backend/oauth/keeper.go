package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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
