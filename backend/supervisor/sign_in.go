package supervisor

import (
	"fmt"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Logins returns the sign-in state of a server, and a sentence if the user has to act.
type Logins func(server string) (core.Login, string)

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
		r.s.o.Journal(r.id, slog.LevelWarn, "its sign-in is no longer valid")
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
	return &core.Error{Code: core.CodeUnauthorized, Message: fmt.Sprintf("server %q requires the user to sign in", r.id), Cause: core.ErrNeedsLogin,
		Hint: "Sign in on Drawbridge's page, or with: drawbridge login " + r.id + "."}
}
