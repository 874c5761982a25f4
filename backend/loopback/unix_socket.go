package loopback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SocketFile returns the path of the Unix socket of a data folder, which may not exist.
func SocketFile(dataDir string) string { return filepath.Join(dataDir, "drawbridge.sock") }

// maxSocketPath is the maximum path length of a Unix socket that works on all systems.
const maxSocketPath = 103

// ListenSocket listens on the Unix socket of dataDir, for this user only: its mode is 0600, and
// connections of other users are closed where the system identifies the peer, even if the mode
// has been changed. Requests need the same tokens as over TCP. The caller must hold the lock of
// the folder, so an existing socket is stale and is removed.
func ListenSocket(dataDir string) (net.Listener, error) {
	path := SocketFile(dataDir)
	if !haveSockets {
		return nil, core.Errorf(core.CodeUnavailable, "cannot open a socket: not supported on this system")
	}
	if len(path) > maxSocketPath {
		return nil, &core.Error{
			Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot open a socket: its path is longer than %d characters", maxSocketPath),
			Hint: "Use a data folder with a shorter path, or remove bridge.socket.",
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(path)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot open a socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("cannot restrict the permissions of the socket: %w", err)
	}
	own := &sameUserListener{UnixListener: ln, uid: os.Getuid()}
	return &boundedListener{Listener: own, free: make(chan struct{}, MaxConnections), done: make(chan struct{})}, nil
}

// sameUserListener accepts connections of one user only.
type sameUserListener struct {
	*net.UnixListener
	uid int
}

func (o *sameUserListener) Accept() (net.Conn, error) {
	for {
		c, err := o.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUserOf(c); err == nil && uid == o.uid || errors.Is(err, errors.ErrUnsupported) {
			return c, nil
		}
		_ = c.Close()
	}
}

// Dialer returns a function for http.Transport.DialContext that connects to the daemon of
// dataDir: by its Unix socket if that answers, otherwise to the given address.
func Dialer(dataDir string) func(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	path := SocketFile(dataDir)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, err := os.Lstat(path); err == nil && haveSockets {
			if c, err := d.DialContext(ctx, "unix", path); err == nil {
				return c, nil
			}
		}
		return d.DialContext(ctx, network, address)
	}
}
