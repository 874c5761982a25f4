package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeConn is a Conn whose behaviour the test determines.
type fakeConn struct {
	w         *fakeWorld
	id        string
	era       core.Era
	key       string
	workspace string
	ended     chan struct{}
	once      sync.Once
	closed    chan struct{} // closes the process
	shut      sync.Once

	mu           sync.Mutex
	catalog      *core.Catalog
	ignoresPings bool            // pings fail
	pingTimeouts []time.Duration // timeout of each ping
	next         *core.Catalog   // the catalog after Refresh
	refreshed    int
}

func (c *fakeConn) Send(ctx context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	if call.Name == "slow" {
		select {
		case <-time.After(2 * time.Second):
		case <-c.ended:
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "connection lost")
		}
	}
	if call.Name == "hang" {
		select {
		case <-c.ended:
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "connection lost")
		case <-ctx.Done():
			return core.Reply{}, ctx.Err()
		}
	}
	return core.Reply{Result: []byte(`{}`)}, nil
}

func (c *fakeConn) Catalog() *core.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.catalog
}

func (c *fakeConn) Ping(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	c.mu.Lock()
	mute := c.ignoresPings
	c.pingTimeouts = append(c.pingTimeouts, time.Until(deadline))
	c.mu.Unlock()
	if mute {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (c *fakeConn) silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ignoresPings = true
}

// Refresh replaces the catalog by next.
func (c *fakeConn) Refresh(context.Context, ...core.Kind) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refreshed++
	if c.next != nil {
		c.catalog, c.next = c.next, nil
	}
	return nil
}

func (c *fakeConn) Peer() upstream.Peer   { return upstream.Peer{ID: c.id, Era: c.era, Version: "v"} }
func (c *fakeConn) Done() <-chan struct{} { return c.ended }
func (c *fakeConn) Err() error            { return errors.New("the connection broke") }

// die breaks the connection as a crash does. The process is gone after Close.
func (c *fakeConn) die() { c.once.Do(func() { close(c.ended) }) }

// Close takes stopTime. If ctx ends before, the server is killed.
func (c *fakeConn) Close(ctx context.Context) (err error) {
	c.die()
	c.shut.Do(func() {
		if c.w.stopTime > 0 {
			select {
			case <-time.After(c.w.stopTime):
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		c.w.mu.Lock()
		c.w.alive[c.key]--
		c.w.mu.Unlock()
		close(c.closed)
	})
	<-c.closed
	return err
}

// fakeWorld starts fake servers and counts their processes.
type fakeWorld struct {
	t        *testing.T
	stopTime time.Duration
	// start determines the result of the n-th start (from 1) of a server: it may sleep, fail, or
	// return a catalog. nil returns one tool immediately.
	start startFunc

	several bool // a server may have several processes

	mu     sync.Mutex
	serial int
	alive  map[string]int
	starts map[string][]time.Time
	conns  map[string]*fakeConn // the newest
	busy   int                  // starts in progress
	most   int
}

// A startFunc determines the results of starts, as fakeWorld.start.
type startFunc = func(ctx context.Context, r upstream.Request, n int) (*core.Catalog, error)

// starting prepares a rig whose servers start as start determines.
func starting(start startFunc) func(*rig, *Options) {
	return func(g *rig, _ *Options) { g.start = start }
}

// slow makes a start take d.
func slow(d time.Duration) startFunc {
	return func(context.Context, upstream.Request, int) (*core.Catalog, error) {
		time.Sleep(d)
		return nil, nil
	}
}

// hang is a start that does not end by itself.
func hang(ctx context.Context, _ upstream.Request, _ int) (*core.Catalog, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// failing makes the first times starts of a server fail with err.
func failing(times int, err error) startFunc {
	return func(_ context.Context, _ upstream.Request, n int) (*core.Catalog, error) {
		if n <= times {
			return nil, err
		}
		return nil, nil
	}
}

// failingIf makes the starts that bad reports fail with err.
func failingIf(bad func(upstream.Request) bool, err error) startFunc {
	return func(_ context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
		if bad(r) {
			return nil, err
		}
		return nil, nil
	}
}

func (w *fakeWorld) connect(ctx context.Context, r upstream.Request) (upstream.Session, error) {
	key := r.Server.ID + string(r.Era)
	if w.several {
		key = fmt.Sprintf("%s%s %d", r.Server.ID, r.Era, w.number())
	}
	w.mu.Lock()
	w.alive[key]++
	if w.alive[key] > 1 {
		w.t.Errorf("two processes of %s", key)
	}
	w.starts[key] = append(w.starts[key], time.Now())
	n := len(w.starts[key])
	w.busy++
	w.most = max(w.most, w.busy)
	w.mu.Unlock()

	catalog := &core.Catalog{Tools: []core.Item{{Name: "read", Raw: []byte(`{"name":"read","inputSchema":{"type":"object"}}`)}}}
	var err error
	if w.start != nil {
		var own *core.Catalog
		if own, err = w.start(ctx, r, n); own != nil {
			catalog = own
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		w.alive[key]--
		return upstream.Session{Process: upstream.Process{Command: "fake", Exit: func() (upstream.Exit, bool) { return upstream.Exit{Code: 3, Text: "exited with status 3"}, true }}}, err
	}
	c := &fakeConn{w: w, id: fmt.Sprintf("%s#%d", key, n), key: key, workspace: r.Workspace, era: core.Legacy,
		ended: make(chan struct{}), closed: make(chan struct{}), catalog: catalog}
	if r.Era == core.Modern {
		c.era = core.Modern
	}
	w.conns[key] = c
	return upstream.Session{Connection: c, Process: upstream.Process{Command: "fake", PID: 1000 + n}}, nil
}

func (w *fakeWorld) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return w.serial
}

// processes returns the number of processes.
func (w *fakeWorld) processes() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, alive := range w.alive {
		n += alive
	}
	return n
}

func (w *fakeWorld) conn(key string) *fakeConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns[key]
}

func (w *fakeWorld) atOnce() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

func (w *fakeWorld) started(key string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Time(nil), w.starts[key]...)
}

// rig is a Supervisor in a synctest bubble with a fake clock.
type rig struct {
	*Supervisor
	*fakeWorld
	registry *registry.Registry
	bus      *core.Bus
	cfg      *config.Config
	end      func()        // shuts the Supervisor down
	ended    chan struct{} // closed when Run has returned
}

// inBubble runs f with a Supervisor of fake servers, then shuts it down and checks that no
// process is left.
func inBubble(t *testing.T, prepare func(*rig, *Options), f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeWorld{t: t, alive: map[string]int{}, starts: map[string][]time.Time{}, conns: map[string]*fakeConn{}}
		g := &rig{fakeWorld: w, registry: registry.New(registry.Options{}), bus: &core.Bus{}, cfg: config.Default()}
		o := Options{Log: slog.New(slog.DiscardHandler), Bus: g.bus, Registry: g.registry, Connect: w.connect,
			LastLines: func(string, int, time.Time) []string { return []string{"last words"} }}
		if prepare != nil {
			prepare(g, &o)
		}
		g.Supervisor = New(o)
		ctx, cancel := context.WithCancel(context.Background())
		g.end, g.ended = cancel, make(chan struct{})
		go func() {
			defer close(g.ended)
			_ = g.Run(ctx)
		}()
		defer func() {
			cancel()
			<-g.ended
			for key, n := range w.alive {
				assert.Equal(t, 0, n, key)
			}
		}()
		synctest.Wait()
		f(g)
	})
}

func server(id string, more ...func(*config.Server)) config.Server {
	s := config.Server{ID: id, Label: id, Type: core.Stdio, Command: "run-" + id, Start: config.StartAuto,
		StartupTimeout: config.DefaultStartupTimeout, Heartbeat: config.DefaultHeartbeat, Stale: config.DefaultStale,
		Restart: config.Restart{MaxAttempts: config.DefaultMaxAttempts, Backoff: config.DefaultBackoff, MaxBackoff: config.DefaultMaxBackoff}}
	for _, f := range more {
		f(&s)
	}
	return s
}

// apply applies a configuration with servers and waits until everything that needs no time has
// happened.
func (g *rig) apply(servers ...config.Server) {
	c := *g.cfg
	c.Servers = servers
	g.cfg = &c
	g.Apply(g.cfg)
	synctest.Wait()
}

func (g *rig) want(id string, state core.State) core.ServerStatus {
	g.t.Helper()
	st, ok := g.Status(id)
	if !ok || st.State != state {
		g.t.Fatalf("server %s is %q (%s), want %q", id, st.State, st.Reason, state)
	}
	return st
}

// hangingCall sends c to its server, which does not answer, and returns how it ends.
func (g *rig) hangingCall(ctx context.Context, c *core.Call) <-chan error {
	g.t.Helper()
	c.Name = "hang"
	up, err := g.For(ctx, c)
	require.NoError(g.t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := up.Send(ctx, c, nil)
		ended <- err
	}()
	return ended
}

// advance advances the fake clock.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func call(server string) *core.Call {
	return &core.Call{Server: server, Method: "tools/call", Name: "read", Era: core.Legacy}
}
