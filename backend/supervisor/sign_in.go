package supervisor

import (
	"context"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Logins returns the state of a sign-in by its id, and a sentence if the user has to act.
type Logins func(id string) (core.LoginState, string)

// login returns the sign-in state of this server.
func (r *shared) login() (core.LoginState, string) {
	if r.s.o.Logins == nil {
		return core.LoginNone, ""
	}
	c := r.config()
	if c.Type != core.HTTP && c.Type != core.SSE {
		return core.LoginNone, ""
	}
	return r.s.o.Logins(c.SignInID())
}

// LoginChanged must be called when the result of Logins for the id of a sign-in has changed. It
// does not block.
func (s *Supervisor) LoginChanged(id string) {
	server, _ := config.SplitSignInID(id)
	r := s.fleet.Load().byID[server]
	if r == nil {
		return
	}
	for _, one := range append([]*runner{r}, r.instances()...) {
		if one.config().SignInID() == id {
			one.post(one.loginChanged)
		}
	}
}

// StartAccount starts the instance of an account, and waits until it runs or cannot. It returns nil
// then, too: its sign-in state says why.
func (s *Supervisor) StartAccount(ctx context.Context, id, account string) error {
	own := s.fleet.Load().byID[id]
	if own == nil {
		return s.fleet.Load().unknownError(id)
	}
	r, err := s.instanceFor(own, &core.Call{Server: id, Account: account})
	if err != nil {
		return err
	}
	if err := r.ask(ctx, r.prepareForCall); err != nil {
		return err
	}
	for {
		l := r.live.Load()
		if l.status.State != core.StateStarting && l.status.State != core.StateStopped {
			return nil
		}
		select {
		case <-l.changed:
		case <-r.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// loginChanged handles a changed sign-in state. If the sign-in of a running server has expired, it
// restarts the server, which then waits for the user.
func (r *runner) loginChanged() {
	if state, _ := r.login(); state == core.LoginNeeded && r.state.phase == phaseRunning {
		r.s.o.Journal(r.id, slog.LevelWarn, "its sign-in has expired or was revoked")
		r.step(evRestart)
		return
	}
	r.publish()
}

// justSignedIn reports whether the user has signed in since l was published. The server is about to
// start then.
func (r *shared) justSignedIn(l *snapshot) bool {
	if l.status.State != core.StateNeedsSignIn {
		return false
	}
	state, _ := r.login()
	return state == core.LoginDone
}

// loginRequiredError returns the error of a call to a server that waits for the user to sign in.
func (r *shared) loginRequiredError() error {
	return &core.Error{Code: core.CodeUnauthorized, Message: r.describe() + " requires the user to sign in", Cause: core.ErrNeedsLogin,
		Hint: "Use the web UI to sign in, or run: drawbridge login " + r.config().SignInID() + ".", Remedy: core.SignIn(r.config().SignInID())}
}
