package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"
)

// Gateway is the one call path; *gateway.Gateway implements it.
type Gateway interface {
	Call(ctx context.Context, call *core.Call, sink core.Sink) (core.Reply, error)
	// Ask puts a question of a server to sink, and records it. cause made the server ask.
	Ask(ctx context.Context, cause *core.Call, method string, params json.RawMessage, sink core.Sink) (core.Reply, error)
}

// Lister knows when catalogs are complete; *supervisor.Supervisor implements it.
type Lister interface {
	// WaitListed returns once no server (or that server, unless id is "") is still
	// starting without a known catalog, or after the configured patience, or when
	// ctx ends.
	WaitListed(ctx context.Context, id string)
}

// Options is what a Bridge needs. Registry, Gateway and Lister must be set.
type Options struct {
	Registry  *registry.Registry
	Gateway   Gateway
	Lister    Lister
	Approvals Approvals    // nil: no person is asked for a client that cannot be
	Log       *slog.Logger // nil: nothing is logged

	// Self holds the one server that is not configured but our own: always at its own
	// address, and at the one for all servers where SelfTools says so. Nil: there is none.
	Self      *registry.Registry
	SelfTools func() bool // asked for every list; nil: never
	// DescribeServer says where tools name their server at the address for all: "title",
	// "description" or nowhere. It is asked for every list; nil: nowhere.
	DescribeServer func() string

	// NameLimit is how long the names of tools and prompts may be at the address for all
	// servers, for the client with a token of that name. 0, as nil: registry.MaxPublicName.
	NameLimit func(token string) int

	// WantsWorkspace says whether a server depends on the folder that a client works in:
	// then the client is asked for its roots. Nil: none does.
	WantsWorkspace func(server string) bool
	// SessionEnded is told of every legacy session that has ended, and ShimEnded of every
	// stdio shim. Both may be nil and must not block for long.
	SessionEnded func(id string)
	ShimEnded    func(token, shim string)

	Version string           // ours, for serverInfo
	Now     func() time.Time // nil: time.Now

	MaxBody      int64         // largest request body in bytes; 0: 4 MiB
	BodyBudget   int64         // bytes of bodies over 64 KiB that are held at once; 0: 64 MiB
	ResultBudget int64         // bytes of results over 64 KiB that clients have yet to read; 0: 192 MiB
	MaxSessions  int           // legacy sessions of one client; 0: 64
	MaxStreams   int           // streams that one client may hold open without a call; 0: 64
	SessionIdle  time.Duration // a legacy session unused for so long is closed; 0: 30 minutes
	KeepAlive    time.Duration // silence on a stream before a comment is sent; 0: 15 seconds
	// WriteLimit is how long a client may take to read what is written at once; 0: 30
	// seconds. Afterwards its connection is lost, and the call goes on for the record.
	WriteLimit time.Duration
	AskTimeout time.Duration // how long a client may take to answer a server's request; 0: 2 minutes
}

func (o *Options) defaults() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxBody = orDefault(o.MaxBody, 4<<20)
	o.BodyBudget = orDefault(o.BodyBudget, 64<<20)
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

// Bridge is the http.Handler for /mcp, /s/{server}/mcp and /p/{profile}/mcp. It
// expects to stand behind the loopback guard, which names the client in
// [ClientHeader]. All methods may be called from several goroutines.
type Bridge struct {
	Options
	info    []byte // our serverInfo, raw
	suffix  []byte // what a modern list result ends with
	tail    []byte // what another modern result ends with
	nothing *registry.View

	sessions     *sessionTable
	streams      *limiter
	subscribed   subscriptions
	clients      clientInfos
	activity     clientActivities
	suspended    suspendedCalls
	inFlight     inFlightRequests
	bodyBudget   bodyBudget // for bodies of requests
	resultBudget resultBudget

	clientInfoCache clientInfoCache
	listings        toolListings
	listeners       listeners
	changeCounts    changeCounts
	visibility      atomic.Pointer[Visibility] // nil: everybody sees everything
	ended           context.Context            // the parent of what outlives its HTTP request
	end             context.CancelCauseFunc
	closing         sync.WaitGroup // sessions that are being closed

	stateful, stateless *mcp.StreamableHTTPHandler

	mu      sync.Mutex
	servers map[string]*endpointServer // by endpoint path
	closed  bool                       // close waits for the last goroutines

	cold bool // tests set it, so that everything takes the long way

	exchanges sync.Map // string → *exchange, for requests that go-sdk handles
	ticket    atomic.Uint64
	nonce     string // makes our tickets and request ids unlike anybody else's
}

// New makes a Bridge. It serves at once; Run is needed to end it and for sessions
// to expire.
func New(o Options) *Bridge {
	o.defaults()
	b := &Bridge{
		Options:      o,
		nothing:      registry.New(registry.Options{}).All(),
		sessions:     newSessionTable(o.MaxSessions),
		streams:      newLimiter(o.MaxStreams),
		bodyBudget:   bodyBudget{free: semaphore.NewWeighted(o.BodyBudget), wait: bodyWait},
		resultBudget: resultBudget{all: o.ResultBudget, each: o.ResultBudget / 3 * 2, by: make(map[string]int64)},
		servers:      map[string]*endpointServer{},
		nonce:        rand.Text()[:10],
	}
	b.info = serverInfo(o.Version)
	b.suffix, b.tail = listSuffix(b.info), resultSuffix(b.info)
	b.ended, b.end = context.WithCancelCause(context.Background())
	b.stateful, b.stateless = b.handlers()
	return b
}

var errStopped = core.Errorf(core.CodeCancelled, "Drawbridge is stopping")

// Run closes sessions that idle, until ctx ends. Then it ends every session, stream
// and call, and returns when they are gone.
func (b *Bridge) Run(ctx context.Context) error {
	tick := time.NewTicker(min(time.Minute, b.SessionIdle/2))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			b.close()
			return nil
		case <-tick.C:
			b.closeIdleSessions()
		}
	}
}

// closeIdleSessions closes the sessions that nobody used for SessionIdle and forgets the
// endpoints of servers that are gone.
func (b *Bridge) closeIdleSessions() {
	for _, s := range b.sessions.removeIdle(b.Now().Add(-b.SessionIdle)) {
		b.endSession(s, "idle")
	}
	b.mu.Lock()
	var gone []*endpointServer
	for path, e := range b.servers {
		if !b.exists(e.at) {
			gone = append(gone, e)
			delete(b.servers, path)
		}
	}
	b.mu.Unlock()
	for _, e := range gone {
		for _, s := range b.sessions.removeEndpoint(e.at.path) {
			b.endSession(s, "its server is gone")
		}
	}
}

// farewell is how long listeners may take to read that their subscription has ended.
const farewell = 500 * time.Millisecond

func (b *Bridge) close() {
	b.end(errStopped)
	b.inFlight.stop()
	b.streams.waitIdle(farewell)
	for _, s := range b.sessions.removeAll() {
		b.endSession(s, "stopping")
	}
	b.mu.Lock()
	for _, e := range b.servers {
		for ss := range e.sdk.Sessions() {
			b.closing.Go(func() { _ = ss.Close() })
		}
	}
	b.closed = true
	b.mu.Unlock()
	b.closing.Wait()
}

// runTracked runs f beside us; close waits for it, unless it has begun to wait already.
func (b *Bridge) runTracked(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		go f()
		return
	}
	b.closing.Go(f)
}

// endSession ends a session that is no longer in the table. The SDK waits for its own
// handlers when it closes a session, so that happens beside us.
func (b *Bridge) endSession(s *session, why string) {
	b.Log.Debug("Session closed", "session", s.id[:6], "client", s.client.Name, "reason", why)
	s.cancel(errSessionEnded)
	b.runTracked(func() {
		if b.SessionEnded != nil {
			b.SessionEnded(s.id)
		}
		b.endShim(s.token, s.shim)
		b.unsubscribeAll(s.sdk)
		b.listeners.drop(s.sdk)
		_ = s.sdk.Close()
	})
}

// Session is one legacy session, for status pages.
type Session struct {
	Client   core.Client
	Endpoint string
	Version  string // the negotiated protocol version
	Peer     Peer   // era and capabilities, for Features
	LastUsed time.Time
	InFlight int
}

// Sessions lists the legacy sessions, in no order.
func (b *Bridge) Sessions() []Session { return b.sessions.snapshot() }

// ClientOf returns what the client of a session said of itself, the zero Client when
// there is no such session.
func (b *Bridge) ClientOf(session string) core.Client { return b.sessions.client(session) }

// endpoint is one of the addresses we serve.
type endpoint struct {
	path    string
	server  string // "" for the aggregate and for profiles
	profile string

	// What the configuration makes of it for the client: see placed.
	scope string // the profile that bounds what is seen; "" for none
	mode  string // how tools are listed; "" for all of them
}

// parseEndpoint reads /mcp, /s/{server}/mcp and /p/{profile}/mcp.
func parseEndpoint(path string) (endpoint, bool) {
	if path == "/mcp" {
		return endpoint{path: path}, true
	}
	kind, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	name, tail, found := strings.Cut(rest, "/")
	if !ok || !found || tail != "mcp" || name == "" {
		return endpoint{}, false
	}
	switch kind {
	case "s":
		return endpoint{path: path, server: name}, true
	case "p":
		return endpoint{path: path, profile: name}, true
	}
	return endpoint{}, false
}

// resolveServerName is the endpoint of the server whose name, instead of its id, an address holds.
func (b *Bridge) resolveServerName(at endpoint) endpoint {
	if id := b.Registry.Find(at.server); id != "" {
		at.server, at.path = id, "/s/"+id+"/mcp"
	}
	return at
}

// exists reports whether there is anything behind an endpoint.
func (b *Bridge) exists(at endpoint) bool {
	switch {
	case at.profile != "":
		return b.Registry.HasProfile(at.profile)
	case at.server == "":
		return true
	}
	if _, ok := b.Registry.Server(at.server); ok || b.Self == nil {
		return ok
	}
	_, ok := b.Self.Server(at.server)
	return ok
}

// nameLimit is how long names may be for a client, which its token names; 0 as usual.
func (b *Bridge) nameLimit(at endpoint, token string) int {
	if at.server != "" || token == "" || b.NameLimit == nil {
		return 0
	}
	return b.NameLimit(token)
}

// view is what an endpoint offers a client at this moment; never nil.
func (b *Bridge) view(at endpoint, token string) *registry.View {
	return b.viewWithLimit(at, b.nameLimit(at, token))
}

func (b *Bridge) viewWithLimit(at endpoint, limit int) *registry.View {
	if at.scope != "" {
		return b.profileView(at, limit)
	}
	if at.server == "" {
		return b.Registry.Within(limit)
	}
	if v, ok := b.Registry.Server(at.server); ok {
		return v
	}
	if b.Self != nil {
		if v, ok := b.Self.Server(at.server); ok {
			return v
		}
	}
	return b.nothing
}

// ServeHTTP implements http.Handler.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, ok := parseEndpoint(r.URL.Path)
	if ok && !b.exists(at) {
		at = b.resolveServerName(at)
	}
	if !ok || !b.exists(at) {
		b.refuseAddress(w, r, notFoundText(at))
		return
	}
	if b.ended.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, codeRefused, "Drawbridge is stopping")
		return
	}
	from := readOrigin(r.Header)
	at, refusal := b.authorizeEndpoint(at, from)
	if refusal != "" {
		b.refuseAddress(w, r, refusal)
		return
	}
	switch r.Method {
	case http.MethodPost:
		b.post(w, r, at, from)
	case http.MethodGet:
		b.get(w, r, at, from)
	case http.MethodDelete:
		b.delete(w, r, at, from)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "the method is not allowed")
	}
}
