package gateway

import (
	"context"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// logFailure logs the details that the client does not get.
func (g *Gateway) logFailure(call *core.Call, err error) {
	attrs := []any{"call", call.ID, "server", call.Server, "method", call.Method, "error", err}
	what := "Internal error during a call"
	if stack := stackOf(err); stack != "" {
		what, attrs = "Panic during a call", append(attrs, "stack", stack)
	}
	g.log.Error(what, attrs...)
}

// logCall logs each call at debug level: what was called, the outcome and the duration, never
// arguments or results. The name is logged only if the call was sent to a server; before that
// it is unverified text from a client.
func (g *Gateway) logCall(call *core.Call, at callStage) {
	if !g.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := []any{"call", call.ID, "client", call.Client.Name, "server", call.Server, "method", call.Method, "outcome", call.Outcome, "took", call.Took}
	if at == stageSending && (call.Method == "tools/call" || call.Method == "prompts/get") {
		attrs = append(attrs, "name", call.Name)
	}
	if call.Code != "" {
		attrs = append(attrs, "code", call.Code)
	}
	if call.Queued > 0 {
		attrs = append(attrs, "queued", call.Queued)
	}
	if call.Attempts > 1 {
		attrs = append(attrs, "attempts", call.Attempts)
	}
	g.log.Debug("Call ended", attrs...)
}
