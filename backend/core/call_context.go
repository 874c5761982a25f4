package core

import "context"

// Life is the cancellable context of one call. The caller creates and ends it. The gateway also
// ends it when the call exceeds its deadline, which saves a second context for each call.
type Life struct {
	context.Context
	End context.CancelCauseFunc
}

// NewLife returns a Life that ends with parent. The caller must call End.
func NewLife(parent context.Context) *Life {
	ctx, end := context.WithCancelCause(parent)
	return &Life{ctx, end}
}
