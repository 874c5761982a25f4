package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

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
	if r.hint == "" && r.config().URL != "" {
		r.hint, r.remedy = upstream.RemoteAdvice(r.reason)
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
func (r *outcome) exitStatus() (upstream.Exit, bool) {
	if r.process.Exit == nil {
		return upstream.Exit{}, false
	}
	return r.process.Exit()
}

// displayReason returns err for display beside the server's name, which it omits.
func (r *shared) displayReason(err error) string {
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

// maxNpmLines is the number of stderr lines that are searched for npm's error. npm prints many
// lines after it, the path of its log last.
const maxNpmLines = 60

// npmFailedLimit is after how many progress checks in a row with an npm error the start is
// aborted. npm usually exits by itself, unless a child process hangs.
const npmFailedLimit = 5

// endWhenNpmFailed aborts a start if npm has printed its error but does not exit.
func (r *runner) endWhenNpmFailed() {
	npmError := ""
	if r.s.o.DownloadingLauncher(r.id) == "npx" {
		npmError = upstream.NpmFailure(r.s.o.LastLines(r.id, maxNpmLines, r.startedAt))
	}
	if npmError == "" {
		r.npmFailedChecks = 0
		return
	}
	if r.npmFailedChecks++; r.npmFailedChecks >= npmFailedLimit {
		r.abortStartWith(&core.Error{Code: core.CodeUnavailable, Message: npmError, Retriable: true})
	}
}

// minRestartInterval is the minimum time between the end of one start and the next one that a
// returning dependency triggers, so that a dependency that comes and goes costs little.
const minRestartInterval = 100 * time.Millisecond

// watchDependency starts the server as soon as the missing dependency is there. The backoff
// timer keeps running meanwhile, and fires earlier if waiting turns out to be useless.
func (r *runner) watchDependency() {
	if r.awaitDependency == nil || r.cancelDependencyWait != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait, n := r.awaitDependency, r.starts
	r.cancelDependencyWait = cancel
	r.helpers.Go(func() {
		defer cancel()
		if !core.Sleep(ctx, minRestartInterval) {
			return
		}
		err := wait(ctx)
		if ctx.Err() != nil {
			return
		}
		r.post(func() {
			switch {
			case r.state.phase != phaseWaiting || r.starts != n:
			case err == nil:
				r.step(evTimer)
			case !r.needsLogin:
				r.retryTimer.Reset(r.jitter(dependencyRetryDelay))
			}
		})
	})
}

func (r *runner) stopWatchingDependency() {
	if r.cancelDependencyWait != nil {
		r.cancelDependencyWait()
		r.cancelDependencyWait = nil
	}
}

// recordMissingDependency remembers what to wait for if err is a upstream.MissingDependency.
func (r *runner) recordMissingDependency(err error) {
	r.awaitDependency = nil
	if a, ok := errors.AsType[*upstream.MissingDependency](err); ok {
		r.awaitDependency = a.Wait
	}
}
