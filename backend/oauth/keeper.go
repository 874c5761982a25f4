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

// Server is what has to be known of a server to sign in to it. It is comparable but for
// its scopes.
type Server struct {
	ID  string
	URL string // its address, with all variables expanded

	// ClientID and ClientSecret are of a client that the user registered; "" is none.
	ClientID, ClientSecret string
	// ClientDocument is the https address of a document that describes us, for authorization
	// servers that take it for a client id; "" is none.
	ClientDocument string
	Scopes         []string // to ask for instead of what the server names
	Issuer         string   // of the authorization servers that the server names; "" is the first
	Port           int      // of the address that the answer comes to; 0 is any
}

// Options are what a Keeper works with. Vault is needed.
type Options struct {
	Vault Vault
	Log   *slog.Logger
	// Changed is told, from any goroutine, that what Login says of a server has changed.
	// It must not block.
	Changed func(server string)
	// Learned is told that Known has grown, before anybody can use what is new. It must not
	// call the Keeper but for Known.
	Learned func()
	// Patience is how long a sign-in waits for the user; ten minutes when zero.
	Patience time.Duration
}

// Keeper holds the sign-ins of all servers. All methods may be called from any goroutine.
type Keeper struct {
	o      Options
	ctx    context.Context // of what outlives a request: refreshing, and waiting for an answer
	cancel context.CancelFunc
	work   sync.WaitGroup

	applied chan struct{}

	mu         sync.Mutex
	accounts   map[string]*account
	configured map[string]bool // ids; nil before the first Apply
	known      []string
}

// New starts nothing.
func New(o Options) *Keeper {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Patience == 0 {
		o.Patience = loginLife
	}
	k := &Keeper{o: o, accounts: map[string]*account{}, applied: make(chan struct{}, 1)}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Close ends sign-ins and refreshes under way, and waits for them.
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

// Client returns what makes the requests to a server. It reads what is kept of the server's
// sign-in: while the keyring is locked that is an error, and the server has to wait.
func (k *Keeper) Client(ctx context.Context, s Server) (*http.Client, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, core.Errorf(core.CodeValidation, "server %q has no http or https url", s.ID)
	}
	k.remember(s.ClientSecret)
	k.mu.Lock()
	a := k.accounts[s.ID]
	if a == nil || a.url != s.URL {
		if a != nil {
			a.endLogin(errors.New("the server's address was changed"))
			a.base.CloseIdleConnections()
		}
		a = newAccount(k, s, u)
		k.accounts[s.ID] = a
	}
	k.mu.Unlock()
	a.mu.Lock()
	a.server = s // what it was configured to be may have changed
	a.mu.Unlock()
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	return &http.Client{Transport: a}, nil
}

// account finds a server's account.
func (k *Keeper) account(id string) (*account, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a := k.accounts[id]; a != nil {
		return a, nil
	}
	return nil, &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("server %q was not reached yet", id),
		Hint: "Start it first; a server that wants a sign-in says so."}
}

// Login says how it stands with a server, with a sentence where the user has to act. A server
// that nobody has reached is not known.
func (k *Keeper) Login(id string) (state core.Login, reason string) {
	a, err := k.account(id)
	if err != nil {
		return core.LoginNone, ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.reason
}

// Await returns when a server no longer waits for a sign-in, or ctx ends.
func (k *Keeper) Await(ctx context.Context, id string) error {
	for {
		a, err := k.account(id)
		if err != nil {
			return err
		}
		a.mu.Lock()
		state, changed := a.state, a.changed
		a.mu.Unlock()
		if state != core.LoginNeeded && state != core.LoginMore {
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
