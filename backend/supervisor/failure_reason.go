package supervisor

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// recordFailure records the reason of a failure, writes it to the logs and shows it in the status.
func (r *runner) recordFailure(err error) {
	was := r.reason
	r.reason = r.displayReason(err)
	r.hint, r.remedy = "", core.Remedy{}
	if e, ok := errors.AsType[*core.Error](err); ok && e.Hint != wire.SeeLog {
		r.hint, r.remedy = e.Hint, e.Remedy
	}
	// If err says only that the connection broke, the exit status says more.
	code := core.CodeOf(err)
	r.reasonIsSpecific = code != core.CodeUnavailable && code != core.CodeInternal || errors.Is(err, upstream.ErrDependencyMissing) || r.npmFailedChecks >= npmFailedLimit
	r.endedByItself = upstream.Exited(err)
	r.recordExit()
	if r.remoteRetry.unreachable && r.reason == was {
		return // retried indefinitely: log the same reason only once
	}
	r.s.o.Log.Warn(fmt.Sprintf("MCP server '%s' connection failed: %s", r.config().Label, r.reason), "server", r.id, "error", err)
	r.s.o.Journal(r.id, slog.LevelError, "connection failed"+r.instanceSuffix()+": "+errorOrClosedText(err))
	if len(r.s.fleet.Load().order) > 1 {
		r.s.o.Log.Info("Continuing with other MCP servers")
	}
}

// recordExit reads the exit status of the process and the last lines of its stderr. It runs a
// second time after the process has been cleaned up, when the exit status is final; a status of 0
// or a signal may then be caused by our own stop.
func (r *runner) recordExit() {
	n := upstream.MaxLines
	if r.state.phase != phaseStarting {
		n = maxStderrLinesAfterRun
	}
	lines := r.s.o.LastLines(r.id, n, r.startedAt)
	r.stderr = lines[max(0, len(lines)-failureStderrLines):]
	exit, ended := r.exitStatus()
	reason, detail, isCause := upstream.Explain(exit.Text, exit.Code < 0, lines)
	r.detail = detail
	if ended {
		r.exitCode = &exit.Code
	}
	if ended && !r.reasonIsSpecific && exit.Explains(r.endedByItself) {
		r.reason, r.hint, r.remedy = reason, "", core.Remedy{}
		if isCause {
			r.hint, r.remedy = upstream.Advice(detail, lines, r.process.Path)
		}
	}
	if hint, remedy := r.process.InputHint(r.config().Args); hint != "" && ended && r.config().Type == core.Stdio {
		r.hint, r.remedy = hint, remedy
	}
	if hint, remedy := r.process.CacheHint(lines); hint != "" {
		r.hint, r.remedy = hint, remedy
	}
}

// maxStderrLinesAfterRun is the number of lines that are searched for the reason if the server had
// been running. Older lines did not cause its exit.
const maxStderrLinesAfterRun = 40

// exitStatus returns how the newest process exited. It returns false if there is none or it is
// running.
func (r *runner) exitStatus() (upstream.Exit, bool) {
	if r.process.Exit == nil {
		return upstream.Exit{}, false
	}
	return r.process.Exit()
}

// displayReason returns err for display beside the server's name, which it omits.
func (r *runner) displayReason(err error) string {
	text := errorOrClosedText(err)
	if e, ok := errors.AsType[*core.Error](err); ok {
		text = e.Message
	}
	for _, prefix := range []string{"cannot connect to", "cannot start", "cannot reach"} {
		text = strings.TrimPrefix(text, fmt.Sprintf("%s server %q: ", prefix, r.id))
	}
	text = strings.TrimPrefix(text, fmt.Sprintf("server %q: ", r.id))
	text = strings.TrimPrefix(text, fmt.Sprintf("server %q: ", r.config().SignInID()))
	text = strings.TrimPrefix(text, fmt.Sprintf("server %q ", r.id))            // "cannot be reached", "responded with"
	return strings.TrimPrefix(text, upstream.ErrDependencyMissing.Error()+": ") // the state says that already
}

func errorOrClosedText(err error) string {
	if err == nil {
		return "the connection was closed"
	}
	return err.Error()
}
