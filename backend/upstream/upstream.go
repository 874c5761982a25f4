package upstream

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Pipe is a running server with stdio: a process, or an exec in a container.
type Pipe interface {
	Stdin() io.WriteCloser // may have SetWriteDeadline
	Stdout() io.Reader
	Done() <-chan struct{} // closed when the server has exited
	Stop(ctx context.Context) error
}

// Remote is the address of a server that is reached by HTTP.
type Remote struct {
	URL    string
	Header http.Header  // sent with every request
	HTTP   *http.Client // nil: a client of this package
	// LegacySSE selects the HTTP+SSE transport of revision 2024-11-05, which has two endpoints.
	LegacySSE bool
	// AllowInsecure permits plain http to another machine, where anyone on the network path can
	// read and modify messages and tokens.
	AllowInsecure bool
	// OnMessage is called with every message and its HTTP details; see wire.RemoteOptions. text is
	// valid until it returns. It must not block. May be nil.
	OnMessage func(sent bool, http string, text []byte)
}

// Options configures a connection. Server and exactly one of Dial and Remote are required.
// Callbacks must not block.
type Options struct {
	Server string // id
	// Account of the server, for messages; may be "".
	Account string

	// Dial starts the server. It is called a second time if the server exits on the first message
	// of an era that it does not know.
	Dial func(ctx context.Context) (Pipe, error)
	// Remote is set instead of Dial for a server that is reached by HTTP.
	Remote *Remote

	// Era is the only era to try; "" detects the era.
	Era core.Era
	// FirstEra is the era to try first if Era is ""; the other one follows. "" is legacy.
	FirstEra core.Era
	// FirstEraIsGuess means that the server is not known to speak FirstEra, so silence in that era
	// has a short timeout.
	FirstEraIsGuess bool
	// OneProcess fails the start if the process exits on the first era that is tried, instead of
	// starting another process for the other era. The caller is expected to begin the next start
	// with the other era.
	OneProcess bool
	// SkipCatalog skips reading the catalog, for a connection that serves one call.
	SkipCatalog bool
	Framing     wire.Framing
	// MaxMessage is the maximum size of a received message in bytes; 0 is 16 MiB.
	MaxMessage int
	// WriteTimeout is how long the server may neither read nor write while a message waits to be
	// sent; 0 is one minute.
	WriteTimeout time.Duration

	// ClientInfo is the raw clientInfo object that Drawbridge sends; empty is
	// {"name":"drawbridge","version":"0"}.
	ClientInfo json.RawMessage
	// Capabilities is the raw client capabilities object that Drawbridge sends; empty is {}.
	// Servers may list more tools for more capabilities.
	Capabilities json.RawMessage

	// OnListChanged is called after Catalog has changed, for each kind that was read again, from a
	// goroutine of the connection.
	OnListChanged func(core.Kind)
	// OnNotification is called for every other notification that belongs to no call, such as
	// resources/updated, and for every notifications/message, whether it belongs to a call or not.
	OnNotification func(method string, params json.RawMessage)
	// OnRequest answers requests of the server that cannot be attributed to a single call.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)
	// OnJunk is called with output of the server that is not a message, truncated to 512 bytes.
	OnJunk func(line []byte, reason string)

	// DefinitionHash returns the hash of a tool's definition for core.ServedBy. May be nil.
	DefinitionHash func(raw []byte) [16]byte

	Log *slog.Logger
}

// transport is the message layer below a Conn.
type transport interface {
	Call(ctx context.Context, method string, params []byte, token core.Span, sink core.ServerMessageHandler) (core.Reply, error)
	Notify(ctx context.Context, method string, params []byte) error
	Done() <-chan struct{}
	Err() error
	Stats() wire.Stats
}

// Conn is an initialized connection with a catalog. All methods are safe for concurrent use.
type Conn struct {
	o    Options
	t    transport
	stop func(ctx context.Context) error // stops the server and all goroutines of t
	id   string
	// remote is t if it is a *wire.Remote, else nil. It is needed for the headers of single calls.
	remote       *wire.Remote
	headerParams atomic.Pointer[map[string][]wire.HeaderParam] // by tool; nil if no arguments are sent as headers

	era       core.Era
	version   string
	handshake handshake
	catalog   atomic.Pointer[core.Catalog]

	packageName string                   // see SetPackage
	served      atomic.Pointer[servedBy] // see servedBy

	cancel        context.CancelFunc // stops the goroutines in running
	running       sync.WaitGroup
	stale         [len(listings)]atomic.Bool // set when the server announces a change of the list
	changed       chan struct{}              // has a buffer of one; signals that one of stale is set
	handshakeDone chan struct{}              // closed after the handshake
	// listening is closed when a modern server has confirmed or refused to announce changes.
	// Changes of lists that are read afterwards are announced, if at all.
	listening     chan struct{}
	listeningOnce sync.Once     // closes listening
	ready         chan struct{} // closed when the first catalog is read
	// refresh is a semaphore of one: it is held while a list is read, and guards warnings.
	refresh  chan struct{}
	warnings map[core.Kind][]string
	relisten chan struct{} // has a buffer of one; signals that the subscriptions have changed
	// acknowledged has a buffer of one. It signals that the server has acknowledged
	// subscriptions/listen.
	acknowledged chan struct{}

	mu         sync.Mutex
	subscribed []string // URIs of resources
	tasks      []string // ids of tasks, in the modern era
	ending     bool     // Close was called

	closing sync.Once
	closed  chan struct{} // Close has finished
	err     error         // result of stop; read after closed
}

// Catalog returns the catalog that was read last. It is never nil.
func (c *Conn) Catalog() *core.Catalog { return c.catalog.Load() }

// Peer returns who is at the other end.
func (c *Conn) Peer() Peer { return Peer{c.id, c.era, c.version} }

// Peer is the other end of one connection.
type Peer struct {
	ID      string // of the connection, unique in this process
	Era     core.Era
	Version string // the negotiated protocol revision
}

// Done is closed when the connection can no longer be used.
func (c *Conn) Done() <-chan struct{} { return c.t.Done() }

// Err returns why Done is closed, or nil.
func (c *Conn) Err() error { return c.t.Err() }

// Stats returns counters of protocol irregularities on this connection.
func (c *Conn) Stats() wire.Stats { return c.t.Stats() }

// Notify sends a notification to the server. params is raw and may be empty.
func (c *Conn) Notify(ctx context.Context, method string, params []byte) error {
	if c.era == core.Modern {
		params = c.addModernMeta(params, nil)
	}
	return c.t.Notify(ctx, method, params)
}

// CloseIdle closes the idle TCP connections to a remote server. It is called when the network has
// changed.
func (c *Conn) CloseIdle() {
	if c.remote != nil {
		c.remote.CloseIdle()
	}
}

// Close stops the server and waits until all goroutines of the connection have ended or ctx is
// done. When ctx of the first call is done, the rest of the server is killed without further
// timeouts, after Close has returned. It may be called several times.
func (c *Conn) Close(ctx context.Context) error {
	c.closing.Do(func() {
		c.cancel()
		c.mu.Lock()
		c.ending = true
		c.mu.Unlock()
		go func() {
			defer close(c.closed)
			c.err = c.stop(ctx)
			c.running.Wait()
		}()
	})
	select {
	case <-c.closed:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
