package bridge

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// rootsTimeout is how long a client may take to list its roots. After that the folder is unknown.
const rootsTimeout = 10 * time.Second

var errNoRoots = errors.New("the client did not list its roots")

// clientRoots caches the roots of a session's client. The client is asked once, and again
// after it reports that its roots changed.
type clientRoots struct {
	mu      sync.Mutex
	all     []string
	known   bool
	changes int
	asking  chan struct{} // closed when the request in progress has ended; nil if there is none
}

func (r *clientRoots) get() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return firstOf(r.all)
}

func firstOf(roots []string) string {
	if len(roots) == 0 {
		return ""
	}
	return roots[0]
}

// resolve returns the roots. If they are unknown, one caller asks, and the others wait for the
// answer. fresh reports that this caller has asked.
func (r *clientRoots) resolve(ctx context.Context, ask func(context.Context) ([]string, error)) (roots []string, fresh bool) {
	r.mu.Lock()
	for !r.known && r.asking != nil {
		asking := r.asking
		r.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			return nil, false
		}
		r.mu.Lock()
	}
	if r.known {
		defer r.mu.Unlock()
		return r.all, false
	}
	done, at := make(chan struct{}), r.changes
	r.asking = done
	r.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	roots, err := ask(limited)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = nil
	close(done)
	if at == r.changes && (err == nil || ctx.Err() == nil) { // a client that does not answer is not asked again
		r.all, r.known = roots, true
	}
	return roots, true
}

func (r *clientRoots) invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = false
	r.changes++
}

// askRoots asks a client for its roots on the stream of a call.
func askRoots(sink core.ServerMessageHandler) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		reply, err := sink.Ask(ctx, "roots/list", nil)
		if err != nil || len(reply.Result) == 0 {
			return nil, errNoRoots
		}
		return fileRoots(reply.Result), nil
	}
}

// folderSelectsProfile reports whether the folder of a client decides which profile it uses at the
// aggregate endpoint.
func (b *Bridge) folderSelectsProfile(ep endpoint, token string) bool {
	v := b.visibility.Load()
	return ep.server == "" && ep.profile == "" && v != nil && v.Folders && v.Clients[token].Profile == ""
}

// applyFolderProfile limits a request of a legacy session to the profile of the folder that the
// client reports. The client is asked if necessary. refusal is the reason why it may not use the
// endpoint then, or "".
func (b *Bridge) applyFolderProfile(ctx context.Context, x *exchange, sink core.ServerMessageHandler) (refusal string) {
	s := x.session
	if s == nil || !s.parsedCapabilities.roots || !b.folderSelectsProfile(x.endpoint, x.origin.token) {
		return ""
	}
	roots, fresh := s.roots.resolve(ctx, askRoots(sink))
	if l := b.listeners.find(s.sdk); fresh && l != nil {
		b.rootsResolved(l)
	}
	x.origin.workspace = cmp.Or(firstOf(roots), x.origin.workspace)
	x.endpoint, refusal = b.authorizeEndpoint(x.endpoint.unscoped(), x.origin)
	return refusal
}

// rootsResolved announces lists that differ because of the folder of a client. Before the first
// answer the client has seen no list of this endpoint.
func (b *Bridge) rootsResolved(l *listener) {
	l.mu.Lock()
	first := !l.rootsReported
	l.rootsReported = true
	l.mu.Unlock()
	if !first {
		b.runInBackground(func() { b.announceAll(l) })
		return
	}
	seen := map[string]uint64{}
	for method := range listChangedKinds {
		seen[method] = b.listHash(l, method)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.lastSent, seen)
}

// receiveNotification handles a notification of the client of a session, and reports whether go-sdk
// need not see it. When the roots of the client have changed, it asks for them at once if the
// client has a stream open, so that the change of the lists is announced; otherwise the next
// request asks.
func (b *Bridge) receiveNotification(x *exchange, m *message) (handled bool) {
	s := x.session
	handled = s.receiveNotification(m)
	if m.env.Method != "notifications/roots/list_changed" || !s.parsedCapabilities.roots || !b.folderSelectsProfile(x.endpoint, x.origin.token) {
		return handled
	}
	l := b.listeners.find(s.sdk)
	if l == nil || !l.hasStream() {
		return handled
	}
	b.runInBackground(func() {
		if _, fresh := s.roots.resolve(s.ctx, func(ctx context.Context) ([]string, error) { return b.askOnStream(ctx, s, l) }); fresh {
			b.rootsResolved(l)
		}
	})
	return handled
}

// askOnStream asks a client for its roots on the stream for messages that belong to no call.
func (b *Bridge) askOnStream(ctx context.Context, s *session, l *listener) ([]string, error) {
	id, answer := s.registerRequest(b.nonce)
	defer s.forgetRequest(id)
	ask := append(wire.AppendString(append([]byte(nil), messagePrefix...), id), `,"method":"roots/list"}`...)
	l.mu.Lock()
	if l.stream == nil {
		l.mu.Unlock()
		return nil, errNoRoots
	}
	l.enqueueEvent(b, queuedNotification{"roots/list", ask})
	l.mu.Unlock()
	limit := time.NewTimer(b.AskTimeout)
	defer limit.Stop()
	select {
	case reply := <-answer:
		if len(reply.Result) == 0 {
			return nil, errNoRoots
		}
		return fileRoots(reply.Result), nil
	case <-limit.C:
		return nil, errNoRoots
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
