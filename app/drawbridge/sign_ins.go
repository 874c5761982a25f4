package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/oauth"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// logins connects the OAuth sign-ins with the servers and the user. All methods are safe for
// concurrent use.
type logins struct {
	data        string // the data folder
	keeper      *oauth.Keeper
	trialKeeper *oauth.Keeper // for servers that are tried but not configured
	config      atomic.Pointer[config.Config]
}

func newLogins(data string, vault *secret.Store, log *slog.Logger) *logins {
	return &logins{
		data:        data,
		keeper:      oauth.New(oauth.Options{Vault: vault.InternalValues("oauth"), Log: log}),
		trialKeeper: oauth.New(oauth.Options{Vault: emptyVault{}, Log: log}),
	}
}

// Close cancels sign-ins in progress.
func (l *logins) Close(ctx context.Context) error {
	return errors.Join(l.keeper.Close(ctx), l.trialKeeper.Close(ctx))
}

// Client implements upstream.SignIn.
func (l *logins) Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error) {
	return l.keeper.Client(ctx, oauth.Server{
		ID: c.SignInID(), URL: address, ClientID: c.OAuth.ClientID, ClientSecret: clientSecret, ClientDocument: c.OAuth.ClientMetadataURL,
		Scopes: c.OAuth.Scopes, Issuer: c.OAuth.Issuer, Port: c.OAuth.CallbackPort,
	})
}

// apply applies a new configuration and deletes the sign-ins of removed servers.
func (l *logins) apply(c *config.Config) {
	settings := map[string]string{}
	for i := range c.Servers {
		s := &c.Servers[i]
		for _, account := range append(slices.Collect(maps.Keys(s.Accounts)), "") {
			if one, ok := s.WithAccount(account); ok {
				settings[one.SignInID()] = one.LaunchKey()
			}
		}
	}
	l.keeper.Apply(settings)
	l.config.Store(c)
}

func (l *logins) ForgetAll(ctx context.Context) error { return l.keeper.ForgetAll(ctx) }

// Rename moves the sign-ins of a server and of its accounts to another id.
func (l *logins) Rename(ctx context.Context, from, to string) error {
	err := l.keeper.Rename(ctx, from, to)
	c := l.config.Load()
	if c == nil {
		return err
	}
	for _, id := range []string{from, to} { // to: an undone renaming
		s, _ := c.Server(id)
		for name := range s.Accounts {
			err = errors.Join(err, l.keeper.Rename(ctx, from+"@"+name, to+"@"+name))
		}
	}
	return err
}

// trialLogins reports whether a tried server requires a sign-in, but never starts one.
type trialLogins struct{ *logins }

func (g trialLogins) Client(ctx context.Context, _ *config.Server, address, _ string) (*http.Client, error) {
	return g.trialKeeper.Client(ctx, oauth.Server{ID: "guest", URL: address})
}

type emptyVault struct{}

func (emptyVault) Get(context.Context, string) (string, error) {
	return "", core.Errorf(core.CodeNotFound, "no tokens are stored")
}
func (emptyVault) Set(context.Context, string, string) error       { return nil }
func (emptyVault) Remove(context.Context, ...string) (bool, error) { return false, nil }
func (emptyVault) Move(context.Context, string, string) error      { return nil }
func (emptyVault) Names(context.Context) ([]string, error)         { return nil, nil }
func (emptyVault) Ready(context.Context) error                     { return nil }

func (l *logins) Await(ctx context.Context, id string) error { return l.keeper.Await(ctx, id) }

func (l *logins) Begin(ctx context.Context, id string) (oauth.Pending, error) {
	return l.keeper.Begin(ctx, id)
}

func (l *logins) Cancel(id string) error { return l.keeper.Cancel(id) }

func (l *logins) Status(ctx context.Context, id string) oauth.Status {
	err := l.load(ctx, id)
	st := l.keeper.Status(id)
	if err != nil {
		st.Reason = "cannot read the stored sign-in tokens: " + err.Error()
	}
	return st
}

func (l *logins) Logout(ctx context.Context, id string) error {
	if err := l.load(ctx, id); err != nil {
		return err
	}
	return l.keeper.Logout(ctx, id)
}

// load loads a stored sign-in that has not been used since the start. With variables in its URL it
// stays unknown until the server is used: only then are secrets read.
func (l *logins) load(ctx context.Context, id string) error {
	c := l.config.Load()
	if c == nil {
		return nil
	}
	server, account := config.SplitSignInID(id)
	own, ok := c.Server(server)
	if !ok || strings.Contains(own.URL, "${") {
		return nil
	}
	s, ok := own.WithAccount(account)
	if !ok {
		return nil
	}
	return l.keeper.Load(ctx, oauth.Server{ID: s.SignInID(), URL: s.URL, ClientID: s.OAuth.ClientID})
}

// Open opens the address of a sign-in in progress in the browser.
func (l *logins) Open(id string) error {
	st := l.keeper.Status(id)
	if st.Pending == nil {
		return core.Errorf(core.CodeNotFound, "no sign-in to server %q is in progress", id)
	}
	return l.browse(st.Pending.URL)
}

// browse opens a web address in the browser. Neither a shell nor another user of the machine can
// see it, because it contains the state of the sign-in.
func (l *logins) browse(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return core.Errorf(core.CodeValidation, "only http and https URLs can be opened")
	}
	if !hasScreen() {
		return errNoBrowser
	}
	err = openBrowser(l.data, u.String())
	if errors.Is(err, errNoOpener) {
		return errNoBrowser
	}
	if err == nil {
		time.AfterFunc(browserFileLife+time.Second, func() { removeExpiredBrowserFiles(l.data, "") })
	}
	return err
}

var errNoBrowser = &core.Error{Code: core.CodeUnavailable, Cause: errors.New("there is no display, or no program that opens URLs"),
	Message: "cannot open a browser", Hint: "Copy the URL and open it in a browser on this machine."}

// loginNotice returns the notice that the environment of the login shell, which servers need to
// find their programs, cannot be read. Its Message is empty if failed is nil.
func loginNotice(failed error) core.Notice {
	n := core.Notice{Subject: "login-shell"}
	if failed != nil {
		n.Message = "Servers get the PATH that Drawbridge was started with, because the environment of the login shell could not be read: " + failed.Error() + ". " +
			"Check what the shell's startup files are waiting for, or increase loginShellTimeoutMs in globalSettings. The startup files are read again when a server is restarted."
	}
	return n
}

// vaultNotices returns notices about where the key of the secrets is stored if that is not a
// keyring, and about servers that wait for a locked keyring.
func vaultNotices(vault *secret.Store) []core.Notice {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if notice := vault.Status(ctx).Notice; notice != "" {
		return []core.Notice{{Subject: "secrets", Message: notice}}
	}
	return nil
}
