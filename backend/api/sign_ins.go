package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/oauth"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Logins sign in to remote servers.
type Logins interface {
	// Begin determines where to sign in and waits for the callback. It does not open a browser.
	Begin(ctx context.Context, id string) (oauth.Pending, error)
	Cancel(id string) error
	// Status returns the state of a sign-in, also if it has not been used since the start.
	Status(ctx context.Context, id string) oauth.Status
	Logout(ctx context.Context, id string) error
	// Open opens the URL of a pending sign-in in the browser of the user.
	Open(id string) error
	// ForgetAll deletes the tokens of all servers and revokes them where possible.
	ForgetAll(ctx context.Context) error
	// Rename moves the sign-in of a server to another id.
	Rename(ctx context.Context, from, to string) error
}

// LoginStatus is the sign-in state of a server.
type LoginStatus oauth.Status

// LoginPending is a sign-in that waits for the user.
type LoginPending oauth.Pending

func (a *API) registerLogins(r *web.Router) {
	web.Op(r, "GET", "/api/v1/servers/{id}/login", "Sign-in state of a remote server", a.getLogin)
	web.Op(r, "POST", "/api/v1/servers/{id}/login", "Begin a sign-in and return its URL; nothing is opened", a.beginLogin)
	web.Op(r, "DELETE", "/api/v1/servers/{id}/login", "Cancel a pending sign-in", a.cancelLogin)
	web.Op(r, "POST", "/api/v1/servers/{id}/login/open", "Open the URL of a pending sign-in in the browser of this machine", a.openLogin)
	web.Op(r, "DELETE", "/api/v1/logins", "Delete the tokens of all servers, and revoke them where possible", a.forgetLogins)
	web.Op(r, "POST", "/api/v1/servers/{id}/logout", "Delete the tokens of a server, and revoke them where possible", a.logout)
}

// loginInput names a sign-in: a server, or an account of it.
type loginInput struct {
	ID string `path:"id" maxLength:"256" server:"name" doc:"Server id or name; SERVER@ACCOUNT for an account of the server"`
}

// checkSignInID returns an error unless id is that of a remote server or of one of its accounts.
func (a *API) checkSignInID(id string) error {
	server, account := config.SplitSignInID(id)
	st, ok := a.Servers.Status(server)
	if ok && account != "" {
		s, _ := a.ConfigEditor.Current().Server(server)
		if _, has := s.Accounts[account]; !has {
			return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("server %q has no account %q", server, account),
				Hint: "Add it to the server's 'accounts' in the configuration."}
		}
	}
	switch {
	case !ok:
		return web.ErrNoSuchServer
	case st.Transport != core.HTTP && st.Transport != core.SSE:
		return &core.Error{Code: core.CodeValidation, Message: "server \"" + id + "\" is not a remote server and needs no sign-in"}
	}
	return nil
}

// whySignInIsNotNeeded returns the reason why a server needs no sign-in, or nil.
func (a *API) whySignInIsNotNeeded(id string) error {
	server, account := config.SplitSignInID(id)
	own, ok := a.ConfigEditor.Current().Server(server)
	if !ok {
		return nil
	}
	s, ok := own.WithAccount(account)
	if !ok {
		return nil // checkSignInID has checked it
	}
	if s.OAuth.Off {
		return &core.Error{Code: core.CodeConflict, Message: "sign-in to server \"" + id + "\" is disabled in the configuration",
			Hint: "Remove \"oauth\": {\"enabled\": false} from its entry to sign in."}
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return &core.Error{Code: core.CodeConflict, Message: "server \"" + id + "\" has an Authorization header in the configuration and needs no sign-in",
				Hint: "Remove the header from its entry to sign in instead."}
		}
	}
	return nil
}

func (a *API) getLogin(ctx context.Context, in *loginInput) (*web.Answer[LoginStatus], error) {
	if err := a.checkSignInID(in.ID); err != nil {
		return nil, err
	}
	return web.Reply(LoginStatus(a.Logins.Status(ctx, in.ID)))
}

// signInStartTimeout is the time limit for a stopped server to request a sign-in.
const signInStartTimeout = 30 * time.Second

func (a *API) beginLogin(ctx context.Context, in *loginInput) (*web.Answer[LoginPending], error) {
	if err := a.checkSignInID(in.ID); err != nil {
		return nil, err
	}
	if err := a.whySignInIsNotNeeded(in.ID); err != nil {
		return nil, err
	}
	if server, account := config.SplitSignInID(in.ID); account != "" {
		wake, cancel := context.WithTimeout(ctx, signInStartTimeout)
		err := a.Servers.StartAccount(wake, server, account)
		cancel()
		if err != nil && wake.Err() == nil {
			return nil, err
		}
	} else if st, _ := a.Servers.Status(in.ID); st.State == core.StateStopped || st.State == core.StateStarting || st.State == core.StateFailed {
		if err := a.startForLogin(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	p, err := a.Logins.Begin(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return web.Reply(LoginPending(p))
}

// startForLogin starts a server so that it can request a sign-in.
func (a *API) startForLogin(ctx context.Context, id string) error {
	if st, _ := a.Servers.Status(id); st.State != core.StateStarting {
		if err := a.Servers.Start(ctx, id); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, signInStartTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if st, ok := a.Servers.Status(id); !ok || st.State != core.StateStarting && st.State != core.StateStopped {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // signing in may work nevertheless
		}
	}
}

func (a *API) cancelLogin(_ context.Context, in *loginInput) (*web.None, error) {
	err := a.checkSignInID(in.ID)
	if err == nil {
		err = a.Logins.Cancel(in.ID)
	}
	return &web.None{}, err
}

func (a *API) openLogin(_ context.Context, in *loginInput) (*web.None, error) {
	err := a.checkSignInID(in.ID)
	if err == nil {
		err = a.Logins.Open(in.ID)
	}
	return &web.None{}, err
}

func (a *API) forgetLogins(ctx context.Context, _ *web.None) (*web.None, error) {
	return &web.None{}, a.Logins.ForgetAll(ctx)
}

func (a *API) logout(ctx context.Context, in *loginInput) (*web.None, error) {
	err := a.checkSignInID(in.ID)
	if err == nil {
		err = a.whySignInIsNotNeeded(in.ID)
	}
	if err == nil {
		err = a.Logins.Logout(ctx, in.ID)
	}
	return &web.None{}, err
}
