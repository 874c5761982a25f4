package oauth

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is signing in to remote servers, as the API shows it.
type Feature struct {
	Logins  Logins
	Config  func() *config.Config
	Servers Servers
}

// Logins sign in to remote servers.
type Logins interface {
	// Begin determines where to sign in and waits for the callback. It does not open a browser.
	Begin(ctx context.Context, id string) (Pending, error)
	Cancel(id string) error
	// Status returns the state of a sign-in, also if it has not been used since the start.
	Status(ctx context.Context, id string) Status
	Logout(ctx context.Context, id string) error
	// Open opens the URL of a pending sign-in in the browser of the user.
	Open(id string) error
	// ForgetAll deletes the tokens of all servers and revokes them where possible.
	ForgetAll(ctx context.Context) error
}

// Servers starts servers, so that they can request a sign-in; *supervisor.Supervisor implements it.
type Servers interface {
	Status(id string) (core.ServerStatus, bool)
	Start(ctx context.Context, id string) error
	// StartAccount starts the instance of an account, and waits until it runs or cannot.
	StartAccount(ctx context.Context, id, account string) error
}

// LoginStatus is the sign-in state of a server.
type LoginStatus Status

// LoginPending is a sign-in that waits for the user.
type LoginPending Pending

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/servers/{id}/login", "Sign-in state of a remote server", f.getLogin)
	web.Op(r, "POST", "/api/v1/servers/{id}/login", "Begin a sign-in and return its URL; nothing is opened", f.beginLogin)
	web.Op(r, "DELETE", "/api/v1/servers/{id}/login", "Cancel a pending sign-in", f.cancelLogin)
	web.Op(r, "POST", "/api/v1/servers/{id}/login/open", "Open the URL of a pending sign-in in the browser of this machine", f.openLogin)
	web.Op(r, "DELETE", "/api/v1/logins", "Delete the tokens of all servers, and revoke them where possible", f.forgetLogins)
	web.Op(r, "POST", "/api/v1/servers/{id}/logout", "Delete the tokens of a server, and revoke them where possible", f.logout)
}

// loginInput names a sign-in: a server, or an account of it.
type loginInput struct {
	ID string `path:"id" maxLength:"256" server:"name" doc:"Server id or name; SERVER@ACCOUNT for an account of the server"`
}

// checkSignInID returns an error unless id is that of a remote server or of one of its accounts.
func (f *Feature) checkSignInID(id string) error {
	server, account := config.SplitSignInID(id)
	st, ok := f.Servers.Status(server)
	if ok && account != "" {
		s, _ := f.Config().Server(server)
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
func (f *Feature) whySignInIsNotNeeded(id string) error {
	server, account := config.SplitSignInID(id)
	own, ok := f.Config().Server(server)
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

func (f *Feature) getLogin(ctx context.Context, in *loginInput) (*web.Answer[LoginStatus], error) {
	if err := f.checkSignInID(in.ID); err != nil {
		return nil, err
	}
	return web.Reply(LoginStatus(f.Logins.Status(ctx, in.ID)))
}

// signInStartTimeout is the time limit for a stopped server to request a sign-in.
const signInStartTimeout = 30 * time.Second

func (f *Feature) beginLogin(ctx context.Context, in *loginInput) (*web.Answer[LoginPending], error) {
	if err := f.checkSignInID(in.ID); err != nil {
		return nil, err
	}
	if err := f.whySignInIsNotNeeded(in.ID); err != nil {
		return nil, err
	}
	if server, account := config.SplitSignInID(in.ID); account != "" {
		wake, cancel := context.WithTimeout(ctx, signInStartTimeout)
		err := f.Servers.StartAccount(wake, server, account)
		cancel()
		if err != nil && wake.Err() == nil {
			return nil, err
		}
	} else if st, _ := f.Servers.Status(in.ID); st.State == core.StateStopped || st.State == core.StateStarting || st.State == core.StateFailed {
		if err := f.startForLogin(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	p, err := f.Logins.Begin(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return web.Reply(LoginPending(p))
}

// startForLogin starts a server so that it can request a sign-in.
func (f *Feature) startForLogin(ctx context.Context, id string) error {
	if st, _ := f.Servers.Status(id); st.State != core.StateStarting {
		if err := f.Servers.Start(ctx, id); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, signInStartTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if st, ok := f.Servers.Status(id); !ok || st.State != core.StateStarting && st.State != core.StateStopped {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // signing in may work nevertheless
		}
	}
}

func (f *Feature) cancelLogin(_ context.Context, in *loginInput) (*web.None, error) {
	err := f.checkSignInID(in.ID)
	if err == nil {
		err = f.Logins.Cancel(in.ID)
	}
	return &web.None{}, err
}

func (f *Feature) openLogin(_ context.Context, in *loginInput) (*web.None, error) {
	err := f.checkSignInID(in.ID)
	if err == nil {
		err = f.Logins.Open(in.ID)
	}
	return &web.None{}, err
}

func (f *Feature) forgetLogins(ctx context.Context, _ *web.None) (*web.None, error) {
	return &web.None{}, f.Logins.ForgetAll(ctx)
}

func (f *Feature) logout(ctx context.Context, in *loginInput) (*web.None, error) {
	err := f.checkSignInID(in.ID)
	if err == nil {
		err = f.whySignInIsNotNeeded(in.ID)
	}
	if err == nil {
		err = f.Logins.Logout(ctx, in.ID)
	}
	return &web.None{}, err
}
