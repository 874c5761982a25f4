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

// SocketFile is the Unix socket of a data folder, where there is one.
func SocketFile(dataDir string) string { return filepath.Join(dataDir, "drawbridge.sock") }

// maxSocketPath is what fits everywhere into the address of a Unix socket.
const maxSocketPath = 103

// ListenSocket opens the socket of dataDir, for this user alone: its mode is 0600, and
// where the system tells who connects, others are turned away whatever the mode has
// become. Requests over it need the same tokens as over TCP. The caller holds the lock
// of the folder, so that a socket which is there already is left over.
func ListenSocket(dataDir string) (net.Listener, error) {
	path := SocketFile(dataDir)
	if !haveSockets {
		return nil, core.Errorf(core.CodeUnavailable, "cannot open a socket: this system has none that Drawbridge could use")
	}
	if len(path) > maxSocketPath {
		return nil, &core.Error{
			Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot open a socket: its path is longer than %d characters", maxSocketPath),
			Hint: "Use a data folder with a shorter path, or leave bridge.socket out.",
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
		return nil, fmt.Errorf("cannot protect the socket: %w", err)
	}
	own := &sameUserListener{UnixListener: ln, uid: os.Getuid()}
	return &boundedListener{Listener: own, free: make(chan struct{}, MaxConnections), done: make(chan struct{})}, nil
}

// sameUserListener accepts connections of one user.
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
		if uid, err := peerUser(c); err == nil && uid == o.uid || errors.Is(err, errors.ErrUnsupported) {
			return c, nil
		}
		_ = c.Close()
	}
}

// Dialer connects to the daemon of dataDir: by its socket where there is one that
// answers, else as asked. It is for http.Transport.DialContext.
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
