package gateway

import (
	"errors"
	"fmt"

	"drawbridge/backend/hub"
)

// panicked is a mistake of ours that a call met.
type panicked struct {
	cause any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.cause) }

// report tells the log what the client is not told.
func (g *Gateway) report(call *hub.Call, err error) {
	about := []any{"call", call.ID, "server", call.Server, "method", call.Method, "error", err}
	if p, ok := errors.AsType[*panicked](err); ok {
		about = append(about, "stack", string(p.stack))
	}
	g.log.Error("A call failed inside Drawbridge", about...)
}
