package upstream

import (
	"context"
	"errors"
)

// ErrDependencyMissing is wrapped by errors of Connect that are caused by a missing external
// dependency, such as Docker or a container. The server waits for it.
var ErrDependencyMissing = errors.New("waiting")

// MissingDependency is the error of Connect if something external, such as a Docker Engine or a
// container, is missing. Wait blocks until another start may succeed; it returns an error if it
// cannot detect that.
type MissingDependency struct {
	Cause error // wraps ErrDependencyMissing
	Wait  func(ctx context.Context) error
}

func (m *MissingDependency) Error() string { return m.Cause.Error() }
func (m *MissingDependency) Unwrap() error { return m.Cause }
