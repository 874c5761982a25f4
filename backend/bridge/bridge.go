package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"
)

// Lister waits for catalogs. It is implemented by *supervisor.Supervisor.
type Lister interface {
	// WaitListed blocks until no server (or only the server id, unless it is "") is starting
	// without a known catalog, until the configured timeout has passed, or until ctx is done.
	WaitListed(ctx context.Context, id string)
}

// Options configures a Bridge. Registry, Gateway and Lister are required.
type Options struct {
	Registry  *registry.Registry
	Gateway   Gateway
	Lister    Lister
	Approvals Approvals    // nil: the user is not asked for a client without elicitation
	Log       *slog.Logger // nil: discard

	// Credential identifies the current token of a client, or none for "". ok is false if requests
	// of the client are not admitted. nil: tokens do not change.
	Credential func(client string) (id [sha256.Size]byte, ok bool)

	// Settle returns when the configuration files as they are now are in use, or when they cannot be or ctx
	// is done. It is called for the first requests, and for an endpoint that does not exist: a server may be
	// written, but not loaded yet. nil: no endpoint is about to appear.
	Settle func(ctx context.Context) error

	// WhyAbsent says why a server has no endpoint although it is in the configuration; "" if it is not. nil:
	// there is none.
	WhyAbsent func(server string) string

	// Builtin holds the built-in server, which is not in the configuration. It always has its own
	// endpoint; BuiltinTools reports whether its tools are also listed at the aggregate endpoint.
	// nil: there is no built-in server.
	Builtin      *registry.Registry
	BuiltinTools func() bool // called for each list request; nil: never
	// DescribeServer returns where the aggregate endpoint adds the name of the server to a tool:
	// "title", "description" or "" (nowhere). It is called for each list request. nil: nowhere.
	DescribeServer func() string

	// StoredResult returns a recorded call and its complete result. nil: results are never
	// truncated.
	StoredResult func(ctx context.Context, id int64) (*core.Call, json.RawMessage, error)

	// Limits returns the limits of the client with the named token; without one for names, they have
	// at most registry.MaxPublicName characters. nil: no limits are known.
	Limits func(token string) ClientLimits
	// Used returns the tools that the client with the named token uses, or nil. The client gets them
	// first. The pointer is the same as long as the tools are. nil: not known.
	Used func(token string) *UsedTools

	// SaveClients stores the clients that were seen, for RestoreClients after a restart. Run calls it
	// within a minute of a new client or capability, and at its end. nil: they are not stored.
	SaveClients func([]ClientInfo)

	// WantsWorkspace reports whether a call depends on the working folder of the client. Clients
	// are asked for their roots only on such calls. nil: no call does.
	WantsWorkspace func(*core.Call) bool
	// Elsewhere reports whether the client with the named token works on another file system. The folders
	// that it reports mean nothing here, and are ignored. nil: no client does.
	Elsewhere func(token string) bool
	// ProcessOf sets the account of a call, and identifies the process or connection of the server
	// that would serve it. nil: each server has one.
	ProcessOf func(*core.Call) (string, error)
	// SessionEnded is called when a legacy session has ended, and ShimEnded when a stdio shim has
	// disconnected. Both may be nil and must return soon.
	SessionEnded func(id string)
	ShimEnded    func(token, shim string)

	Version string           // of Drawbridge, for serverInfo
	Now     func() time.Time // nil: time.Now

	MaxBody      int64         // maximum size of a request body in bytes; 0: 4 MiB
	BodyBudget   int64         // maximum total size in bytes of request bodies over 64 KiB in memory; 0: 32 MiB
	ResultBudget int64         // maximum total size in bytes of results over 64 KiB that clients have not read yet; 0: 192 MiB
	MaxSessions  int           // legacy sessions per client; 0: 64
	MaxStreams   int           // open streams per client that belong to no call; 0: 64
	SessionIdle  time.Duration // idle timeout of a legacy session; 0: 30 minutes
	KeepAlive    time.Duration // interval of comments on a silent stream; 0: 15 seconds
	// WriteLimit is the deadline for the client to read one write; 0: 30 seconds. When it is
	// exceeded the connection is closed; the call continues and is recorded.
	WriteLimit time.Duration
	AskTimeout time.Duration // timeout for a client's answer to a server's request; 0: 2 minutes
}

func (o *Options) setDefaults() {
	if o.SaveClients == nil {
		o.SaveClients = func([]ClientInfo) {}
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxBody = orDefault(o.MaxBody, wire.MaxRequest)
	o.BodyBudget = orDefault(o.BodyBudget, 32<<20)
	o.ResultBudget = orDefault(o.ResultBudget, 192<<20)
	o.MaxSessions = orDefault(o.MaxSessions, 64)
	o.MaxStreams = orDefault(o.MaxStreams, 64)
	o.SessionIdle = orDefault(o.SessionIdle, 30*time.Minute)
	o.KeepAlive = orDefault(o.KeepAlive, 15*time.Second)
	o.WriteLimit = orDefault(o.WriteLimit, 30*time.Second)
	o.AskTimeout = orDefault(o.AskTimeout, 2*time.Minute)
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Bridge is the http.Handler for /mcp, /s/{server}/mcp and /p/{profile}/mcp. It must be served
// behind the loopback guard, which authenticates the client and names its token in [ClientHeader].
// All methods are safe for concurrent use.
type Bridge struct {
	Options
	info  mcp.Implementation // of Drawbridge
	views *views

	sessions      *sessionTable
	modern        *modernSessions
	streams       *streamLimiter
	subscriptions *subscriptions
	clients       clientRecords
	results       modernResults
	calls         *calls
	methods       map[string]*method
	tasks         *tasks
	inFlight      inFlightRequests
	bodyBudget    bodyBudget

	listeners   *listeners
	lifetime    context.Context // cancelled by close; parent of the contexts that outlive their HTTP request
	endLifetime context.CancelCauseFunc
	background  goroutines
	stopping    atomic.Bool // new requests are refused
	settled     atomic.Bool // the first configuration is in use

	nonce string // random prefix of the ids of requests to clients
}

// New returns a Bridge that is ready to serve. Sessions expire, and are closed at shutdown, only
// while Run is running.
func New(o Options) *Bridge {
	o.setDefaults()
	b := &Bridge{
		Options:  o,
		info:     mcp.Implementation{Name: "drawbridge", Title: "Drawbridge", Version: cmp.Or(o.Version, "dev")},
		sessions: newSessionTable(o.MaxSessions),
		modern:   newModernSessions(o.SessionIdle),
		streams:  newStreamLimiter(o.MaxStreams),
		clients: clientRecords{
			now:      o.Now,
			clients:  newRecentTable[clientInfoKey, ClientInfo](maxClientInfos),
			activity: newRecentTable[activityKey, ClientActivity](maxActivities),
		},
		bodyBudget: bodyBudget{semaphore: semaphore.NewWeighted(o.BodyBudget), timeout: bodyBudgetTimeout},
		nonce:      rand.Text()[:10],
	}
	b.views = &views{Options: &b.Options, emptyView: registry.New(registry.Options{}).All()}
	info, _ := json.Marshal(&b.info)
	b.results = newModernResults(info)
	b.lifetime, b.endLifetime = context.WithCancelCause(context.Background())
	b.listeners = &listeners{views: b.views, run: b.background.run, current: map[*listener]struct{}{}}
	b.subscriptions = &subscriptions{Options: &b.Options, views: b.views, lifetime: b.lifetime, subscribers: map[resourceKey]map[*listener]subscriber{}}
	table := new(taskTable)
	b.calls = &calls{
		Options: &b.Options, views: b.views, results: b.results, tasks: table, modern: b.modern, lifetime: b.lifetime, run: b.background.run, nonce: b.nonce,
		resultBudget: resultBudget{total: o.ResultBudget, perClient: o.ResultBudget / 3 * 2, heldBy: make(map[string]int64)},
	}
	b.tasks = &tasks{Options: &b.Options, views: b.views, calls: b.calls, listeners: b.listeners, table: table, lifetime: b.lifetime, run: b.background.run}
	b.methods = b.newMethods()
	return b
}

var errStopped = core.Errorf(core.CodeCancelled, "Drawbridge is stopping")

// Run closes idle sessions until ctx is done. Then it ends every session, stream and call, waits
// for them, and returns nil.
func (b *Bridge) Run(ctx context.Context) error {
	tick := time.NewTicker(min(time.Minute, b.SessionIdle/2))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			b.close()
			b.SaveClients(b.clients.forStorage())
			return nil
		case <-tick.C:
			b.closeIdleSessions()
			if b.clients.unsaved.Swap(false) {
				b.SaveClients(b.clients.forStorage())
			}
		}
	}
}

// closeIdleSessions closes the sessions that have been idle for SessionIdle, and those of servers
// and profiles that no longer exist.
func (b *Bridge) closeIdleSessions() {
	b.tasks.table.removeExpired(b.Now())
	for _, s := range b.sessions.removeIdle(b.Now().Add(-b.SessionIdle)) {
		b.endSession(s, "idle")
	}
	for _, s := range b.sessions.removeWhere(func(s *session) bool { return !b.views.has(s.listener.endpoint) }) {
		b.endSession(s, "its server was removed")
	}
}

// EndClient ends the sessions of a client whose token was revoked, with their calls.
func (b *Bridge) EndClient(token string) {
	for _, s := range b.sessions.removeWhere(func(s *session) bool { return s.token == token }) {
		b.endSession(s, "its client was removed")
	}
}

// RefuseRequests refuses new requests from now on. Notifications and responses, which belong to calls in
// flight, are accepted until Run ends.
func (b *Bridge) RefuseRequests() { b.stopping.Store(true) }

// listenerDrainTimeout is how long close waits for listeners to receive the end of their
// subscription.
const listenerDrainTimeout = 500 * time.Millisecond

func (b *Bridge) close() {
	b.endLifetime(errStopped)
	b.inFlight.cancelAll()
	b.streams.waitIdle(listenerDrainTimeout)
	for _, s := range b.sessions.removeAll() {
		b.endSession(s, "stopping")
	}
	b.background.close()
}

// goroutines runs functions in goroutines that close waits for. The zero value is ready to use.
type goroutines struct {
	mu     sync.Mutex
	group  sync.WaitGroup
	closed bool // close has begun to wait
}

// run runs f in a goroutine. close waits for f, unless close is already waiting.
func (g *goroutines) run(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		go f()
		return
	}
	g.group.Go(f)
}

func (g *goroutines) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.group.Wait()
}

// endSession ends a session that was removed from the table. It does not block.
func (b *Bridge) endSession(s *session, why string) {
	b.Log.Debug("Session closed", "session", s.id[:6], "client", s.client.Name, "reason", why)
	s.cancel(errSessionEnded)
	b.background.run(func() {
		if b.SessionEnded != nil {
			b.SessionEnded(s.id)
		}
		b.notifyShimEnded(s.token, s.shim)
		b.subscriptions.unsubscribeAll(s.listener)
		b.listeners.remove(s.listener)
	})
}

// Session describes a legacy session, for status pages.
type Session struct {
	ID       string
	Client   core.Client
	Endpoint string
	Version  string // the negotiated protocol version
	Peer     Peer   // era and capabilities, for FeatureMatrix
	LastUsed time.Time
	InFlight int
}

// Sessions returns the legacy sessions in unspecified order.
func (b *Bridge) Sessions() []Session { return b.sessions.snapshot() }

// ClientOf returns the client of a legacy session, or the zero Client if there is no such session.
func (b *Bridge) ClientOf(session string) core.Client { return b.sessions.client(session) }

// ClientInfos returns the clients that were seen, newest first: legacy clients after initialize,
// modern clients after server/discover or a list request. Only the 128 newest are kept.
func (b *Bridge) ClientInfos() []ClientInfo { return b.clients.clients.list() }

// RestoreClients adds clients that SaveClients stored before a restart.
func (b *Bridge) RestoreClients(stored []ClientInfo) { b.clients.restore(stored) }

// ClientName returns how the application that last used a token calls itself, or "".
func (b *Bridge) ClientName(token string) string {
	name, _ := b.clients.names.Load(token)
	text, _ := name.(string)
	return text
}

// ClientActivities returns the activity of all clients.
func (b *Bridge) ClientActivities() []ClientActivity { return b.clients.activity.list() }

// ListChanged notifies every client that sees the changed lists, after changeDelay. It does not
// block and does not read the registry, because it is called from the registry's OnChange.
func (b *Bridge) ListChanged(c registry.Change) { b.listeners.changed(c) }

// ResourceUpdated forwards notifications/resources/updated of a process of a server to those that
// subscribed there to the resource, or to one that contains it. params is raw. It does not block. A
// subscriber is notified only if its URI still leads to the resource.
func (b *Bridge) ResourceUpdated(server, process string, params json.RawMessage) {
	b.subscriptions.updated(server, process, params)
}

// LegacyTaskStatusChanged forwards notifications/tasks/status of a process of a server to the
// session that created the task there. params is raw. It does not block.
func (b *Bridge) LegacyTaskStatusChanged(server, process string, params json.RawMessage) {
	b.tasks.legacyStatusChanged(server, process, params)
}

// ModernTaskUpdated forwards notifications/tasks of a process of a server to the modern listeners
// that named the task and belong to the client that created it there. params is raw. It does not
// block.
func (b *Bridge) ModernTaskUpdated(server, process string, params json.RawMessage) {
	b.tasks.updated(server, process, params)
}

// ModernConnectionChanged is called when the modern connection of a server was opened or has ended.
// The server is asked again for the notifications that clients wait for. It does not block.
func (b *Bridge) ModernConnectionChanged(server string) { b.tasks.connectionChanged(server) }

// RestoreTasks adds the tasks of an earlier run, oldest first. It must be called before the bridge
// serves requests.
func (b *Bridge) RestoreTasks(recorded []core.TaskOwner) { b.tasks.restore(recorded) }
