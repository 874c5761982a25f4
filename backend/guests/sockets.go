// Package guests is the feature of guests: clients in a container, in a virtual machine or on another
// host, each with a Unix socket of its own, on which only its token is accepted, and nowhere else. A
// guest has the settings of any client: a profile, and whether its calls wait for approval.
package guests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
)

// Feature is the guests and their open sockets.
type Feature struct {
	Folder string // in which each guest has a folder
	Config Editor
	Tokens *loopback.Tokens
	// Handler serves the MCP endpoints. It must not have other resources.
	Handler http.Handler
	// IsClient reports whether a supported client connects under a name, which no guest may have.
	IsClient func(name string) bool
	// End ends the sessions of a guest that is removed.
	End func(name string)
	Log *slog.Logger

	changing sync.Mutex // serializes changes

	mu      sync.Mutex
	open    map[string]*openSocket
	stopped bool
}

// openSocket is the socket of a guest, or the reason why it is not open.
type openSocket struct {
	server *http.Server
	done   chan struct{}
	err    error
}

// Has reports whether a client is a guest.
func (f *Feature) Has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[name] != nil
}

// Run serves the guests until ctx is done.
func (f *Feature) Run(ctx context.Context) error {
	f.listenAll()
	<-ctx.Done()
	f.mu.Lock()
	f.stopped = true
	open := f.open
	f.open = nil
	f.mu.Unlock()
	for _, socket := range open {
		socket.stop()
	}
	return nil
}

// listenAll opens the sockets of the guests, none of which is removed meanwhile.
func (f *Feature) listenAll() {
	f.changing.Lock()
	defer f.changing.Unlock()
	list, err := f.tokens()
	if err != nil {
		f.Log.Error("Cannot open the sockets of guests", "error", err)
	}
	for _, t := range list {
		if err := f.listen(t); err != nil {
			f.Log.Error("Cannot open the socket of a guest", "guest", t.Name, "error", err)
		}
	}
}

// tokens returns the tokens of the guests.
func (f *Feature) tokens() ([]loopback.Token, error) {
	all, err := f.Tokens.ListWithSecrets()
	return slices.DeleteFunc(all, func(t loopback.Token) bool { return !t.Guest }), err
}

// listen opens the socket of a guest.
func (f *Feature) listen(t loopback.Token) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return core.Errorf(core.CodeUnavailable, "Drawbridge is stopping")
	}
	if f.open == nil {
		f.open = map[string]*openSocket{}
	}
	if before := f.open[t.Name]; before != nil && before.server != nil {
		return nil // Run has found a guest that is being added
	}
	listener, err := loopback.ListenGuest(filepath.Join(f.Folder, t.Name), t)
	if err != nil {
		f.open[t.Name] = &openSocket{err: err} // what it reports is still that of a guest
		return err
	}
	server := loopback.NewServer(loopback.Guard(loopback.GuardOptions{Port: 80})(loopback.GuestBearer(f.Tokens, t.Name, f.Log)(f.Handler)))
	socket := &openSocket{server: server, done: make(chan struct{})}
	f.open[t.Name] = socket
	go func() {
		defer close(socket.done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.Log.Error("The socket of a guest was closed", "guest", t.Name, "error", err)
		}
	}()
	return nil
}

// stop closes the socket of a guest with its connections. The shims of the guest connect again when
// there is a new one.
func (s *openSocket) stop() {
	if s != nil && s.server != nil {
		_ = s.server.Close()
		<-s.done
	}
}

// remove ends a guest: its token, its socket with all connections, its sessions, its files and its
// settings. It must be called with f.changing held.
func (f *Feature) remove(ctx context.Context, name string) error {
	if err := f.Tokens.RevokeGuest(name); err != nil {
		return err
	}
	f.mu.Lock()
	socket := f.open[name]
	f.mu.Unlock()
	socket.stop()
	f.End(name)
	f.mu.Lock()
	delete(f.open, name)
	f.mu.Unlock()
	return errors.Join(os.RemoveAll(filepath.Join(f.Folder, name)), f.Config.SetClientAccess(ctx, name, "", ""))
}

// add creates a guest. Its settings are in use before it can connect.
func (f *Feature) add(ctx context.Context, name, profile, approval string, uid int) (t loopback.Token, err error) {
	if _, known, err := f.Tokens.Get(name); err != nil || known {
		return t, cmp.Or(err, error(core.Errorf(core.CodeConflict, "there is already a client or a guest named %q", name)))
	}
	if f.IsClient(name) {
		return t, &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("%q is the name of a client", name), Hint: "Choose another name for the guest."}
	}
	if err = f.save(ctx, name, profile, approval); err == nil {
		t, err = f.Tokens.CreateGuest(name, uid)
	}
	if err != nil {
		return t, errors.Join(err, f.Config.SetClientAccess(ctx, name, "", ""))
	}
	if err := f.listen(t); err != nil {
		return t, errors.Join(err, f.remove(ctx, name))
	}
	return t, nil
}
