package core

import "context"

// CallContext is the cancellable context of one call. The caller creates and cancels it. The
// gateway also cancels it when the call exceeds its deadline, which saves a second context for each
// call.
type CallContext struct {
	context.Context
	Cancel context.CancelCauseFunc
}

// NewCallContext returns a CallContext that ends with parent. The caller must call Cancel.
func NewCallContext(parent context.Context) *CallContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &CallContext{ctx, cancel}
}
