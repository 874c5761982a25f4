package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Trial is the result of a trial start of a server.
type Trial struct {
	Err     error  // why the server cannot be used, or nil
	Reason  string // Err for display, or ""
	Hint    string // what the user can do, or ""
	Reached bool   // it was started or reached; if Err is set, the connection failed
	Command string
	Took    time.Duration
	Era     core.Era
	Version string
	Catalog *core.Catalog    // never nil
	Log     []serverlog.Line // its stderr and lifecycle events
	Warning []string
}

// Limits of a trial.
const (
	maxTrial         = 2 * time.Minute
	maxTrialLogLines = 50
	trialIDPrefix    = "test-"
)

// Try starts or reaches the server of c as Connect does, reads its lists, and stops it before it
// returns. It saves neither a catalog nor a log, and leaves no process and no container. as is
// the id of the configured server whose sign-in it uses, or "" for none. If use is not nil, it is
// called with the connection before the server is stopped; the time limit of the trial does not
// include it.
func (d *Dialer) Try(ctx context.Context, c *config.Server, as string, use func(Connection)) Trial {
	once := *c
	once.ID = TrialID(c.ID)
	logs := serverlog.Open("", d.Redact) // in memory only
	defer logs.Close()
	own := &Dialer{
		Spawner: d.Spawner, Ready: d.Ready, Logs: logs, Log: slog.New(slog.DiscardHandler), Secret: d.Secret,
		ClientInfo: d.ClientInfo, Capabilities: json.RawMessage(`{}`), DockerLedger: d.DockerLedger, DefaultWorkspace: d.DefaultWorkspace,
		SignIn: d.TrialSignIn, PrivatePaths: d.PrivatePaths, Redact: d.Redact, trial: true,
	}
	if as != "" { // the lists must be comparable: servers omit tools for which the client has no capability
		own.Capabilities = d.Capabilities
	}
	if as != "" && d.SignIn != nil {
		own.SignIn = borrowedSignIn{d.SignIn, as}
	}
	limit := min(StartupTimeout(&once), maxTrial)
	ctx, cancel := StartupContext(ctx, limit, func() bool { return own.DownloadingLauncher(once.ID) != "" })
	defer cancel()
	began := time.Now()
	t := Trial{Catalog: &core.Catalog{}}
	session, err := own.Connect(ctx, Request{Server: &once, Changed: func(core.Kind) {}})
	t.Took, t.Command, t.Warning = time.Since(began), session.Process.Command, session.Process.Warnings
	t.Reached = session.Process.Exit != nil || once.URL != "" && once.Command == ""
	if err != nil {
		if t.Err = err; errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Err = &core.Error{Code: core.CodeTimeout, Cause: err, Message: "did not respond within " + limit.String(),
				Hint: "Check its log, or increase startupTimeoutMs.", Remedy: core.EditConfig("startupTimeoutMs")}
			if hint, remedy := HTTPModeAdvice(own.LastLines(once.ID, MaxLines, began)); hint != "" && once.Type == core.Stdio {
				t.Err = &core.Error{Code: core.CodeTimeout, Cause: err, Message: "did not respond within " + limit.String(), Hint: hint, Remedy: remedy}
			}
			t.explainUnusableOutput(err)
		}
	} else {
		t.Era, t.Version, t.Catalog = session.Era(), session.Version(), session.Catalog()
		if use != nil {
			use(session)
		}
		if err := session.Close(context.WithoutCancel(ctx)); err != nil {
			t.Warning = append(t.Warning, "cannot stop it: "+err.Error())
		}
	}
	t.Log = logs.Tail(once.ID, maxTrialLogLines)
	t.explain(session.Process, once.Type == core.Stdio, once.Args, own.LastLines(once.ID, MaxLines, began), once.ID, c.ID)
	if errors.Is(t.Err, core.ErrNeedsLogin) {
		t.Reason, t.Hint = "it requires you to sign in", "Add the server; then sign in on its page, or with: drawbridge login "+c.ID+"."
		if as != "" {
			t.Hint = "Sign in on its page, or with: drawbridge login " + as + "."
		}
	}
	return t
}

// explainUnusableOutput adds to the timeout in t.Err what the server sent instead of a response.
func (t *Trial) explainUnusableOutput(cause error) {
	timeout, ok := errors.AsType[*core.Error](t.Err)
	unusable, sent := errors.AsType[*wire.UnusableOutputError](cause)
	if ok && sent {
		timeout.Message += ": " + unusable.Problem
		timeout.Hint, timeout.Remedy = unusable.Hint, core.Remedy{Kind: core.RemedySeeLog}
	}
}

// TrialID returns the id that a server has in the messages of a trial.
func TrialID(server string) string {
	return strings.TrimRight(trialIDPrefix+server[:min(len(server), core.MaxServerID-len(trialIDPrefix))], "-_")
}

// borrowedSignIn uses the sign-in of a configured server.
type borrowedSignIn struct {
	SignIn
	id string
}

func (l borrowedSignIn) Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error) {
	owner := *c
	owner.ID = l.id
	return l.SignIn.Client(ctx, &owner, address, clientSecret)
}

// explain sets Reason and Hint. It replaces the id of the trial with name, which the user chose.
func (t *Trial) explain(p Process, isStdio bool, args, lines []string, id, name string) {
	if t.Err == nil {
		return
	}
	t.Reason = t.Err.Error()
	if own, ok := errors.AsType[*core.Error](t.Err); ok {
		t.Reason, t.Hint = own.Message, own.Hint
	}
	if code := core.CodeOf(t.Err); p.Exit != nil && (code == core.CodeUnavailable || code == core.CodeInternal) {
		if exit, ok := p.Exit(); ok && exit.Explains(Exited(t.Err)) { // the exit status says more than that the connection broke
			reason, line, isCause := Explain(exit.Text, exit.Code < 0, lines)
			t.Reason, t.Hint = reason, ""
			if isCause {
				t.Hint, _ = Advice(line, lines, p.Path)
			}
		}
	}
	if hint, _ := p.CacheHint(lines); hint != "" {
		t.Hint = hint
	}
	if hint, _ := p.InputHint(args); hint != "" && isStdio {
		t.Hint = hint
	}
	for _, prefix := range []string{fmt.Sprintf("cannot connect to server %q: ", id), ErrDependencyMissing.Error() + ": "} {
		t.Reason = strings.TrimPrefix(t.Reason, prefix)
	}
	t.Reason = strings.ReplaceAll(t.Reason, fmt.Sprintf("%q", id), fmt.Sprintf("%q", name))
}
