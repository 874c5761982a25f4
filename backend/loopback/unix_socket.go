package loopback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
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
	return listenUnix(SocketFile(dataDir), "Use a data folder with a shorter path, or remove bridge.socket.", 0o600, os.Getuid())
}

// listenUnix listens on the socket at path, which replaces a stale one, for the users with these ids.
func listenUnix(path, hint string, mode fs.FileMode, users ...int) (net.Listener, error) {
	if !haveSockets {
		return nil, core.Errorf(core.CodeUnavailable, "cannot open a socket: not supported on this system")
	}
	if len(path) > maxSocketPath {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("cannot open a socket: its path is longer than %d characters", maxSocketPath), Hint: hint}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(path)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot open a socket: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("cannot restrict the permissions of the socket: %w", err)
	}
	own := &userListener{UnixListener: ln, users: users}
	return &boundedListener{Listener: own, free: make(chan struct{}, MaxConnections), done: make(chan struct{})}, nil
}

// The files of a guest in its folder.
const (
	GuestSocket = "sock"
	GuestToken  = "token"
)

// ListenGuest makes the folder of a guest, which its sandbox mounts, with its token, and listens on the
// socket in it. Besides this user, root may connect, as which programs in containers often run, and the
// user with the id of the token. Others can neither reach the folder, which must be in a private one, nor
// connect. The guest may have changed what is in the folder: everything is made beside it, and moved over
// what has its name, so that no link is followed.
func ListenGuest(folder string, t Token) (_ net.Listener, err error) {
	private := filepath.Dir(folder)
	folderMode, fileMode, socketMode := fs.FileMode(0o700), fs.FileMode(0o600), fs.FileMode(0o600)
	if t.UID != 0 { // reached only through a mount, because the folder above is private
		folderMode, fileMode, socketMode = 0o711, 0o644, 0o666
	}
	for _, dir := range []string{private, folder} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return nil, core.Errorf(core.CodeUnavailable, "%s is not a folder", dir)
		}
	}
	// Both fail for folders of another user.
	if err := errors.Join(os.Chmod(private, 0o700), os.Chmod(folder, folderMode)); err != nil {
		return nil, fmt.Errorf("cannot restrict the permissions of the guest's folder: %w", err)
	}
	const hint = "Use a shorter name, or a data folder with a shorter path."
	ln, err := listenUnix(folder+"."+GuestSocket, hint, socketMode, os.Getuid(), 0, t.UID)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ln.Close())
		}
	}()
	ln.(*boundedListener).Listener.(*userListener).SetUnlinkOnClose(false)
	if err := osutil.WriteFile(folder+"."+GuestToken, []byte(t.Token+"\n"), fileMode); err != nil {
		return nil, err
	}
	for _, name := range []string{GuestToken, GuestSocket} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
		if err := os.Rename(folder+"."+name, filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	return ln, nil
}

// userListener accepts connections of some users only.
type userListener struct {
	*net.UnixListener
	users []int
}

func (o *userListener) Accept() (net.Conn, error) {
	for {
		c, err := o.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUserOf(c); err == nil && slices.Contains(o.users, uid) || errors.Is(err, errors.ErrUnsupported) {
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
