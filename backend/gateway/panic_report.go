package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// panicError is a panic in our code during a call.
type panicError struct {
	cause any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.cause) }

// stackOf returns the stack of a panicError, and "" for any other error.
func stackOf(err error) string {
	if p, ok := errors.AsType[*panicError](err); ok {
		return string(p.stack)
	}
	return ""
}

// logFailure logs the details that the client does not get.
func (g *Gateway) logFailure(call *core.Call, err error) {
	about := []any{"call", call.ID, "server", call.Server, "method", call.Method, "error", err}
	if stack := stackOf(err); stack != "" {
		about = append(about, "stack", stack)
	}
	g.log.Error("A call failed inside Drawbridge", about...)
}

// logCall logs each call at debug level: what was called, the outcome and the duration, never
// arguments or results. The name is logged only if the call was sent to a server; before that
// it is unverified text from a client.
func (g *Gateway) logCall(call *core.Call, at stage) {
	if !g.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	about := []any{"call", call.ID, "client", call.Client.Name, "server", call.Server, "method", call.Method, "outcome", call.Outcome, "took", call.Took}
	if at == sending && (call.Method == "tools/call" || call.Method == "prompts/get") {
		about = append(about, "name", call.Name)
	}
	if call.Code != "" {
		about = append(about, "code", call.Code)
	}
	if call.Queued > 0 {
		about = append(about, "queued", call.Queued)
	}
	if call.Attempts > 1 {
		about = append(about, "attempts", call.Attempts)
	}
	g.log.Debug("Call ended", about...)
}
