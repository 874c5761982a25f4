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

// Pipe is a running server: a process, or an exec in a container.
type Pipe interface {
	Stdin() io.WriteCloser // may have SetWriteDeadline
	Stdout() io.Reader
	Done() <-chan struct{} // closed when the server has exited
	Stop(ctx context.Context) error
}

// Remote says where a server is reached by streamable HTTP.
type Remote struct {
	URL    string
	Header http.Header  // sent with every request
	HTTP   *http.Client // makes the requests; nil is a client of our own
	// Events says that the server speaks the older HTTP transport, of two addresses.
	Events bool
	// AllowInsecure permits plain http to another machine, where everybody on the way
	// reads and changes what is sent, tokens among it.
	AllowInsecure bool
	// OnMessage sees every message as it travels, and the HTTP around it, until it returns;
	// see wire.RemoteOptions. It must not block. May be nil.
	OnMessage func(sent bool, http string, text []byte)
}

// Options says how to reach a server and what to do with what it says. Server and
// one of Dial and Remote are needed. Callbacks must not block.
type Options struct {
	Server string // id

	// Dial starts the server. It is called again when the server exits on the first
	// message of an era that it does not know.
	Dial func(ctx context.Context) (Pipe, error)
	// Remote is set instead of Dial for a server that is reached by HTTP.
	Remote *Remote

	// Era is tried alone when it is set; "" finds out, legacy first.
	Era core.Era
	// First is the era to try first where Era is ""; the other one follows. "" is legacy.
	First core.Era
	// Guessed says that First is not known to be spoken, so that silence in it is soon given up.
	Guessed bool
	// OneProcess fails where a process exits on the first era that is tried, instead of
	// starting another one for the other era: the next start begins with that one.
	OneProcess bool
	// Unlisted leaves the catalog unread: for a connection that serves one call.
	Unlisted bool
	Framing  wire.Framing
	// MaxMessage is the size of the largest message we take, in bytes; 0 is 16 MiB.
	MaxMessage int
	// WriteTimeout is how long the server may neither read nor speak while something
	// waits for it; 0 is a minute.
	WriteTimeout time.Duration

	// ClientInfo is what we say of ourselves, a raw object; empty is
	// {"name":"drawbridge","version":"0"}.
	ClientInfo json.RawMessage
	// Capabilities is what we say we can do, a raw object; empty is {}. Servers list
	// more tools to a client that can do more.
	Capabilities json.RawMessage

	// OnListChanged is called after Catalog has changed, with the kinds that were
	// read again, from a goroutine of the connection.
	OnListChanged func(core.Kind)
	// OnNotification gets every other notification that belongs to no single call,
	// such as resources/updated and message, and message ones also when they do.
	OnNotification func(method string, params json.RawMessage)
	// OnRequest answers what the server asks when no single call is concerned.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)
	// OnJunk gets what the server printed that is not a message, cut to 512 bytes.
	OnJunk func(line []byte, reason string)

	Log *slog.Logger
}

// transport is what a Conn needs of a connection.
type transport interface {
	Call(ctx context.Context, method string, params []byte, token core.Span, sink core.Sink) (core.Reply, error)
	Notify(ctx context.Context, method string, params []byte) error
	Done() <-chan struct{}
	Err() error
	Stats() wire.Stats
}

// Conn is a connection that has shaken hands and read its catalog. All methods may
// be called from any goroutine.
type Conn struct {
	o    Options
	t    transport
	stop func(ctx context.Context) error // ends the server and every goroutine of t
	id   string
	// remote is t where that is one, for the headers of a single call.
	remote *wire.Remote
	bound  atomic.Pointer[map[string][]binding] // by tool; nil where arguments go into no header

	era       core.Era
	version   string
	handshake handshake
	catalog   atomic.Pointer[core.Catalog]

	cancel  context.CancelFunc // ends the goroutines of running
	running sync.WaitGroup
	stale   [len(listings)]atomic.Bool // the server said that the list changed
	changed chan struct{}              // holds one signal when one of stale is set
	shaken  chan struct{}              // closed when hands are shaken
	// listening is closed once a modern server has said that it announces changes, or
	// will not: what is listed after that cannot change unheard.
	listening chan struct{}
	settle    sync.Once     // closes listening
	ready     chan struct{} // closed when the first catalog is read
	// refresh holds one token while a list is read; it guards warnings.
	refresh  chan struct{}
	warnings map[core.Kind][]string
	relisten chan struct{} // holds one signal when what we listen to has changed

	mu         sync.Mutex
	subscribed []string // URIs of resources
	ending     bool     // Close was called

	closing sync.Once
	closed  chan struct{} // Close has finished
	err     error         // of stop; read after closed
}

// Catalog returns what the server offered when it was last asked. It is never nil.
func (c *Conn) Catalog() *core.Catalog { return c.catalog.Load() }

// Era returns the era that the connection speaks.
func (c *Conn) Era() core.Era { return c.era }

// Version returns the protocol revision that was agreed on.
func (c *Conn) Version() string { return c.version }

// ID names this connection among all connections of this process.
func (c *Conn) ID() string { return c.id }

// Done is closed when the connection can no longer be used.
func (c *Conn) Done() <-chan struct{} { return c.t.Done() }

// Err returns why Done is closed, or nil.
func (c *Conn) Err() error { return c.t.Err() }

// Stats counts oddities of the connection so far.
func (c *Conn) Stats() wire.Stats { return c.t.Stats() }

// Notify sends a notification to the server. params is raw and may be empty.
func (c *Conn) Notify(ctx context.Context, method string, params []byte) error {
	if c.era == core.Modern {
		params = c.withModernMeta(params, nil)
	}
	return c.t.Notify(ctx, method, params)
}

// CloseIdle closes the connections of a remote server that no request uses, because the
// network that they went over is gone.
func (c *Conn) CloseIdle() {
	if c.remote != nil {
		c.remote.CloseIdle()
	}
}

// Close ends the server and waits until nothing of the connection is left, or ctx
// ends. It may be called any number of times.
func (c *Conn) Close(ctx context.Context) error {
	c.closing.Do(func() {
		c.cancel()
		c.mu.Lock()
		c.ending = true
		c.mu.Unlock()
		go func() {
			defer close(c.closed)
			c.err = c.stop(context.WithoutCancel(ctx))
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
