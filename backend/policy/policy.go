// Package policy decides whether a call may go ahead, and how long it may take.
// Each check is one small file; Admit lists them in the order in which they apply.
package policy

import (
	"context"
	"sync/atomic"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/registry"
)

// Views tells what each server offers. A *registry.Registry does.
type Views interface {
	Server(id string) (*registry.View, bool)
}

// Options are what a Policy works with.
type Options struct {
	Views Views
}

// Policy holds the rules in force. All methods may be called from any goroutine.
type Policy struct {
	views  Views
	limits atomic.Pointer[map[string]Limits]
}

// Plan is what an admitted call is allowed.
type Plan struct {
	Timeout  time.Duration // without an answer or progress
	Ceiling  time.Duration // in all
	Unlisted bool          // the server has not been listed yet: ask Offered once it has
}

// New returns a Policy with the default limits for every server.
func New(o Options) *Policy {
	p := &Policy{views: o.Views}
	p.SetLimits(nil)
	return p
}

// Admit asks each check in turn; the first that refuses decides, with a *hub.Error.
// It does not wait, and it does not change call.
func (p *Policy) Admit(_ context.Context, call *hub.Call) (Plan, error) {
	plan := p.timeouts(call)
	listed, err := p.offered(call)
	if err != nil {
		return plan, err
	}
	plan.Unlisted = !listed
	if err := size(call); err != nil {
		return plan, err
	}
	if err := depth(call); err != nil {
		return plan, err
	}
	return plan, nil
}
