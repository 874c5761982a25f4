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

// stackOf is where a panic happened; "" of any other error.
func stackOf(err error) string {
	if p, ok := errors.AsType[*panicked](err); ok {
		return string(p.stack)
	}
	return ""
}

// report tells the log what the client is not told.
func (g *Gateway) report(call *hub.Call, err error) {
	about := []any{"call", call.ID, "server", call.Server, "method", call.Method, "error", err}
	if stack := stackOf(err); stack != "" {
		about = append(about, "stack", stack)
	}
	g.log.Error("A call failed inside Drawbridge", about...)
}
