package dockerexec

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// What can be missing, from the outside in. Errors of this package wrap one of
// them where a person has to do something different about each.
var (
	ErrNoDocker    = errors.New("the Docker Engine does not answer")
	ErrPermission  = errors.New("the Docker Engine refuses this user")
	ErrNoContainer = errors.New("no such container")
	ErrNotRunning  = errors.New("the container is not running")
	ErrNoBinary    = errors.New("no such program in the container")
	// ErrNoShell says that a process could not be ended: the image has no shell to
	// do it with. Restarting the container does.
	ErrNoShell = errors.New("the process inside cannot be ended: the image has no shell")
)

// explain turns an error of the Engine's client into one of ours.
func explain(host, container string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errdefs.IsPermissionDenied(err),
		client.IsErrConnectionFailed(err) && strings.Contains(err.Error(), "permission denied"):
		// The client keeps only the text of this error; hence the look at it.
		return fmt.Errorf("%w: %s (is this user in the group docker?)", ErrPermission, host)
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%w: %q", ErrNoContainer, container)
	case errdefs.IsConflict(err):
		return fmt.Errorf("%w: %q", ErrNotRunning, container)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w at %s: %w", ErrNoDocker, host, err)
	}
	return err
}
