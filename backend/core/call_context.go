package core

import "context"

// Life is the context of one call. Whoever makes the call owns it and ends it; the gateway
// ends it as well when the time of the call is over, instead of a context of its own.
type Life struct {
	context.Context
	End context.CancelCauseFunc
}

// NewLife returns a Life that ends with parent. End must be called.
func NewLife(parent context.Context) *Life {
	ctx, end := context.WithCancelCause(parent)
	return &Life{ctx, end}
}
