package gateway

import (
	"errors"
	"fmt"
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
