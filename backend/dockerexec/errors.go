package dockerexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Errors of this package wrap one of these if the user can do something about the cause.
var (
	ErrNoDocker = errors.New("the Docker Engine is not responding")
	ErrNoImage  = errors.New("no such image")
	// ErrRefused means that the Engine rejects the configuration of the container.
	ErrRefused     = errors.New("the Docker Engine refused to create the container")
	ErrPermission  = errors.New("this user does not have permission to use the Docker Engine")
	ErrNoContainer = errors.New("no such container")
	ErrNotRunning  = errors.New("the container is not running")
	ErrNoBinary    = errors.New("no such program in the container")
	// ErrNoShell means that a process could not be stopped, because the image has no shell that
	// could send a signal. Restarting the container stops it.
	ErrNoShell = errors.New("cannot stop the process in the container, because the image has no shell; restarting the container stops it")
)

// translateError converts an error of the Engine's client into one of this package.
func translateError(at Engine, container string, err error) error {
	host := at.Host
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errdefs.IsPermissionDenied(err),
		client.IsErrConnectionFailed(err) && strings.Contains(err.Error(), "permission denied"):
		// The client preserves only the text of this error.
		return fmt.Errorf("%w: %s (is this user in the docker group?)", ErrPermission, host)
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%w: %q", ErrNoContainer, container)
	case errdefs.IsConflict(err):
		return fmt.Errorf("%w: %q", ErrNotRunning, container)
	case client.IsErrConnectionFailed(err) && !socketExists(host):
		return fmt.Errorf("%w: %s does not exist", ErrNoDocker, strings.TrimPrefix(host, "unix://"))
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w at %s: %w", ErrNoDocker, host, err)
	}
	return err
}

// socketExists returns false if host is a Unix socket that does not exist.
func socketExists(host string) bool {
	path, local := strings.CutPrefix(host, "unix://")
	if !local {
		return true
	}
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
