package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"sync/atomic"

	"drawbridge/backend/hub"
	"drawbridge/backend/oauth"
	"drawbridge/backend/process"
	"drawbridge/backend/secret"
	"drawbridge/backend/supervisor"
	"drawbridge/config"
)

// logins connect the sign-ins with the servers and the person. All methods may be called
// from any goroutine.
type logins struct {
	keeper  *oauth.Keeper
	learned func() // set before the first server starts
	servers atomic.Pointer[supervisor.Supervisor]
}

func newLogins(vault *secret.Store, log *slog.Logger) *logins {
	l := &logins{learned: func() {}}
	l.keeper = oauth.New(oauth.Options{
		Vault: vault.Private("oauth"), Log: log,
		Learned: func() { l.learned() },
		Changed: func(id string) {
			if s := l.servers.Load(); s != nil {
				s.LoginChanged(id)
			}
		},
	})
	return l
}

func (l *logins) serve(s *supervisor.Supervisor) { l.servers.Store(s) }

// Client implements supervisor.SignIn.
func (l *logins) Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error) {
	return l.keeper.Client(ctx, oauth.Server{
		ID: c.ID, URL: address, ClientID: c.OAuth.ClientID, ClientSecret: clientSecret, ClientDocument: c.OAuth.ClientMetadataURL,
		Scopes: c.OAuth.Scopes, Issuer: c.OAuth.Issuer, Port: c.OAuth.CallbackPort,
	})
}

func (l *logins) Await(ctx context.Context, id string) error { return l.keeper.Await(ctx, id) }

func (l *logins) Begin(ctx context.Context, id string) (oauth.Pending, error) {
	return l.keeper.Begin(ctx, id)
}

func (l *logins) Cancel(id string) error { return l.keeper.Cancel(id) }

func (l *logins) Status(id string) oauth.Status { return l.keeper.Status(id) }

func (l *logins) Logout(ctx context.Context, id string) error { return l.keeper.Logout(ctx, id) }

// Open shows the address of a sign-in under way in the browser.
func (l *logins) Open(id string) error {
	st := l.keeper.Status(id)
	if st.Pending == nil {
		return hub.Errorf(hub.CodeNotFound, "no sign-in to server %q is under way", id)
	}
	return browse(st.Pending.URL)
}

// browse opens an address of the web in the browser. It is handed over as one argument, and
// no shell ever sees it.
func browse(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return hub.Errorf(hub.CodeValidation, "only web addresses are opened")
	}
	if !hasScreen() {
		return errNoBrowser
	}
	for _, opener := range openers() {
		if path, err := exec.LookPath(opener[0]); err == nil {
			return process.Launch(nil, path, append(opener[1:], u.String())...)
		}
	}
	return errNoBrowser
}

var errNoBrowser = &hub.Error{Code: hub.CodeUnavailable, Cause: errors.New("no program for it"),
	Message: "no browser can be opened from here", Hint: "Copy the address and open it in a browser on this machine."}
