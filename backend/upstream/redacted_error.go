package upstream

import (
	"errors"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// redact is d.Redact, which may be nil.
func (d *Dialer) redact(text string) string {
	if d.Redact == nil {
		return text
	}
	return d.Redact(text)
}

// redactedError is an error whose text may contain the value of a variable, such as the path of a command
// that does not exist.
type redactedError struct {
	inner  error
	redact func(string) string
}

func (r *redactedError) Error() string        { return r.redact(r.inner.Error()) }
func (r *redactedError) Is(target error) bool { return errors.Is(r.inner, target) }

func (r *redactedError) As(target any) bool {
	to, ok := target.(**core.Error)
	if !ok {
		return errors.As(r.inner, target)
	}
	e, ok := errors.AsType[*core.Error](r.inner)
	if ok {
		clean := *e
		clean.Message, clean.Hint = r.redact(e.Message), r.redact(e.Hint)
		if e.Cause != nil {
			clean.Cause = &redactedError{e.Cause, r.redact}
		}
		*to = &clean
	}
	return ok
}
