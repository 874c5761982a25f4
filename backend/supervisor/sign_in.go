package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// SignIn authorizes requests to remote servers.
type SignIn interface {
	// Client returns the HTTP client for requests to a server at address. clientSecret is the
	// expanded value from its configuration. An error with core.CodeUnavailable makes the server
	// wait.
	Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error)
	// Await blocks until the user has signed in to a server that asked for it, or ctx is done.
	Await(ctx context.Context, id string) error
}

// Logins returns the sign-in state of a server, and a sentence if the user has to act.
type Logins func(server string) (core.Login, string)

// signIn returns the HTTP client for a remote server. It returns nil, for a default client, if
// the configuration contains the server's credentials or turns sign-in off.
func (d *Dialer) signIn(ctx context.Context, c *config.Server, at *upstream.Remote, env environment) (*http.Client, error) {
	if d.SignIn == nil || c.OAuth.Off || at.Header.Get("Authorization") != "" {
		return nil, nil
	}
	secret, err := env.expand("oauth.clientSecret", c.OAuth.ClientSecret)
	if err != nil {
		return nil, err
	}
	own, err := d.SignIn.Client(ctx, c, at.URL, secret)
	if core.CodeOf(err) == core.CodeUnavailable {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err) // the tokens exist, so the server waits for the keyring
	}
	return own, err
}

// waitForLogin turns the error of a server that asks for a sign-in into a missingDependency, so
// that the server waits for the user.
func (d *Dialer) waitForLogin(id string, err error) error {
	if d.SignIn == nil || !errors.Is(err, core.ErrNeedsLogin) {
		return err
	}
	return &missingDependency{error: fmt.Errorf("%w: %w", ErrAbsent, err), wait: func(ctx context.Context) error { return d.SignIn.Await(ctx, id) }}
}

// login returns the sign-in state of this server.
func (r *runner) login() (core.Login, string) {
	if r.s.o.Logins == nil {
		return core.LoginNone, ""
	}
	if c := r.config(); c.Type != core.HTTP && c.Type != core.SSE {
		return core.LoginNone, ""
	}
	return r.s.o.Logins(r.id)
}

// LoginChanged must be called when the result of Logins for a server has changed. It does not
// block.
func (s *Supervisor) LoginChanged(id string) {
	r := s.fleet.Load().byID[id]
	if r == nil {
		return
	}
	for _, one := range append([]*runner{r}, r.instances()...) {
		one.post(one.loginChanged)
	}
}

// loginChanged handles a changed sign-in state. If the sign-in of a running server has expired, it
// restarts the server, which then waits for the user.
func (r *runner) loginChanged() {
	if state, _ := r.login(); state == core.LoginNeeded && r.state.phase == phaseRunning {
		r.s.o.Journal(r.id, slog.LevelWarn, "its sign-in has ended")
		r.step(evRestart)
		return
	}
	r.publish()
}

// justSignedIn reports whether the user has signed in since l was published. The server is about to
// start then.
func (r *runner) justSignedIn(l *snapshot) bool {
	if l.status.State != core.StateNeedsLogin {
		return false
	}
	state, _ := r.login()
	return state == core.LoginDone
}

// loginRequiredError returns the error of a call to a server that waits for the user to sign in.
func (r *runner) loginRequiredError() error {
	return &core.Error{Code: core.CodeUnauthorized, Message: fmt.Sprintf("server %q waits for the user to sign in to it", r.id), Cause: core.ErrNeedsLogin,
		Hint: "Sign in on Drawbridge's page, or with: drawbridge login " + r.id + "."}
}
