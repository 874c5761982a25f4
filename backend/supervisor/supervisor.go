package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	events "github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// The pace of things that nobody configures.
const (
	healthyAfter   = time.Minute      // of running forgives earlier failures
	pingTimeout    = 5 * time.Second  // of one heartbeat
	retryCrashed   = 30 * time.Second // between the starts that calls can cause
	waitingDelay   = 3 * time.Second  // between looks at what is outside, such as Docker
	loginDelay     = time.Hour        // the same where the user has to sign in: that is told, not looked for
	storeTimeout   = 5 * time.Second  // of the caches
	parallel       = 4                // starts at once: enough to overlap their waiting, few enough for a small machine
	slotTime       = 5 * time.Second  // then a start is waiting for the network rather than working, and another may begin
	probeTimeout   = 15 * time.Second // to find out whether a server speaks the modern era as well
	watchEvery     = time.Second      // looks at what a start is doing
	crashLines     = 5                // of stderr, kept with a crash
	stopLimit      = 5 * time.Second  // then servers are killed: Drawbridge ends within 6 s
	modernPatience = 3 * time.Second  // how long a modern call waits for a connection in its own era
)

// Conn is an open connection to a server that has been listed. *upstream.Conn is one.
type Conn interface {
	Send(ctx context.Context, call *core.Call, sink core.Sink) (core.Reply, error)
	Catalog() *core.Catalog
	Ping(ctx context.Context) error
	// Refresh reads lists again; see upstream.Conn.
	Refresh(ctx context.Context, kinds ...core.Kind) error
	Era() core.Era
	Version() string
	ID() string
	Done() <-chan struct{}
	Err() error
	// Close returns when nothing of the connection and its process is left.
	Close(ctx context.Context) error
}

// Session is a Conn and what is known of the process behind it.
type Session struct {
	Conn
	Process Process
}

// Process describes what was started. The zero value is "nothing".
type Process struct {
	Command string              // resolved, without environment
	PID     int                 // 0 when there is no local process
	Exit    func() (Exit, bool) // nil, or how it ended; not ok while it runs

	Path        string         // the executable
	Dir         string         // "" is ours
	Environment []string       // names, sorted
	SearchPath  string         // the PATH in which Path was searched
	Warnings    []string       // what the user should know of how it was started
	Frames      func() []Frame // nil, or the last messages
}

// Exit is how a process ended.
type Exit struct {
	Code int    // exit status; -1 when a signal ended it
	Text string // for people: "exited with status 3"
	Away bool   // what it ran in went away, such as its container
	// Ours says that we had sent it a signal before.
	Ours bool
}

// Request asks for a connection.
type Request struct {
	Server *config.Server
	Era    core.Era // the only one to try; "" means whichever the server speaks, legacy first
	// Workspace is the folder that ${workspaceFolder} stands for, "" when unknown.
	Workspace string
	// Unlisted leaves the lists unread: the catalog stays empty.
	Unlisted bool
	// Started is told, from any goroutine, what was started, before it has answered;
	// again when that is started anew. May be nil.
	Started func(Process)
	// Changed is told, from any goroutine, that the lists of a kind were read again.
	Changed func(core.Kind)
}

// Connect starts a server, shakes hands and lists it, within ctx. When it fails,
// nothing of what it started is left; Session.Process then still says what was tried.
// A *core.Error with CodeValidation means that trying again is of no use, one whose
// chain holds ErrAbsent that something outside is missing.
type Connect func(ctx context.Context, r Request) (Session, error)

// Catalogs remembers what servers offered, so that their tools are known before they run.
type Catalogs interface {
	Catalog(ctx context.Context, server, key string) (*core.Catalog, error) // nil when unknown
	SaveCatalog(ctx context.Context, server, key string, c *core.Catalog) error
}

// Eras remembers whether a server that speaks the legacy era speaks the modern one
// as well.
type Eras interface {
	DualEra(ctx context.Context, server, key string) (dual, known bool, err error)
	SaveDualEra(ctx context.Context, server, key string, dual bool) error
}

// Options are what a Supervisor works with. Log, Bus, Registry and Connect are needed.
type Options struct {
	Log      *slog.Logger
	Bus      *events.Bus
	Registry *registry.Registry
	// Impaired tells why calls to a running server are refused, "" while they are not; nil:
	// never. Whoever answers calls Announce when it changes. It must not block.
	Impaired func(server string) (reason string)
	Connect  Connect
	Catalogs Catalogs // nil: nothing is remembered
	Eras     Eras     // nil: found out once for each run
	// Journal writes to a server's own log. May be nil.
	Journal func(server string, level slog.Level, text string)
	// LastLine is the last thing that a server wrote to stderr. May be nil.
	LastLine func(server string) string
	// LastLines are the last n lines that it wrote since a time. May be nil.
	LastLines func(server string, n int, since time.Time) []string
	// Fetching names the launcher that downloads a server which is starting, or "". May be nil.
	Fetching func(server string) string
	// Usage measures the processes of a server. May be nil.
	Usage func(server string) (process.Usage, error)
	// Logins are asked how it stands with signing in to remote servers. May be nil.
	Logins Logins
	// Approvals remembers which commands the user has agreed to; nil: for this run only.
	Approvals Approvals
}

// Supervisor runs the servers. All methods may be called from any goroutine.
type Supervisor struct {
	o     Options
	slots chan struct{}
	quit  chan struct{} // closed when Run is ending
	// expired is closed DrainLimit after quit: calls in flight are not waited for any longer.
	expired chan struct{}
	// closing ends stopLimit after quit, by hurry: servers that still run are killed.
	closing context.Context
	hurry   context.CancelFunc
	// applied is closed by first, once there is a configuration.
	applied chan struct{}
	first   sync.Once

	news     notices
	fleet    atomic.Pointer[fleet]
	listWait atomic.Int64
	paused   atomic.Bool // nothing runs, whatever the configuration wants

	// applying is held by whoever changes the configuration or an approval, also while the
	// store is waited for, which mu never is. It comes before mu.
	applying sync.Mutex

	mu      sync.Mutex // held by whatever changes the fleet
	running bool
	ended   bool
	begun   bool               // a configuration was applied
	all     map[string]*runner // also those that were removed and have not ended yet
	agreed  map[string]string  // by server: the key of the newest command that may run
	spoken  map[string]string  // by server: that command, as it was written
	active  sync.WaitGroup     // goroutines of runners
}

// fleet is one configuration's servers, in its order. It is immutable.
type fleet struct {
	byID   map[string]*runner
	order  []*runner
	broken []core.ServerStatus // servers that the configuration itself forbids
}

// New returns a Supervisor without servers. It starts nothing.
func New(o Options) *Supervisor {
	if o.Log == nil || o.Bus == nil || o.Registry == nil || o.Connect == nil {
		panic("supervisor: incomplete options")
	}
	if o.Journal == nil {
		o.Journal = func(string, slog.Level, string) {}
	}
	if o.LastLine == nil {
		o.LastLine = func(string) string { return "" }
	}
	if o.LastLines == nil {
		o.LastLines = func(server string, _ int, _ time.Time) []string {
			if line := o.LastLine(server); line != "" {
				return []string{line}
			}
			return nil
		}
	}
	if o.Fetching == nil {
		o.Fetching = func(string) string { return "" }
	}
	if o.Usage == nil {
		o.Usage = func(string) (process.Usage, error) { return process.Usage{}, errors.New("nothing measures it") }
	}
	s := &Supervisor{o: o, slots: make(chan struct{}, parallel), quit: make(chan struct{}), expired: make(chan struct{}), applied: make(chan struct{}), all: map[string]*runner{}, agreed: map[string]string{}, spoken: map[string]string{}}
	s.closing, s.hurry = context.WithCancel(context.Background())
	s.fleet.Store(&fleet{byID: map[string]*runner{}})
	s.listWait.Store(int64(config.DefaultListWait))
	o.Registry.OnChange(func(registry.Change) { s.noteConflicts() })
	return s
}

// Run runs what Apply asks for until ctx ends; then it stops all servers, side by
// side, those with calls in flight when these have ended or after DrainLimit, and returns when nothing is left of them. It may be called once.
func (s *Supervisor) Run(ctx context.Context) error {
	s.mu.Lock()
	s.running = true
	for _, r := range s.all {
		s.launch(r)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	close(s.quit)
	defer time.AfterFunc(DrainLimit, func() { close(s.expired) }).Stop()
	defer time.AfterFunc(stopLimit, s.hurry).Stop()
	s.active.Wait()
	return nil
}

// launch must be called with s.mu held.
func (s *Supervisor) launch(r *runner) {
	if s.running && !s.ended {
		s.active.Go(r.run)
	}
}

// Start makes a server run. It returns when the start has begun; a start after a
// crash begins with a clean slate.
func (s *Supervisor) Start(ctx context.Context, id string) error {
	return s.command(ctx, id, func(r *runner) error {
		r.wanted = true
		r.step(evWanted)
		switch r.state.phase {
		case phaseCrashed, phaseBackoff, phaseWaiting:
			r.step(evRenew)
		}
		return nil
	})
}

// Restart ends a server's process, if there is one, and starts a new one, in the
// environment that the login shell tells now. Calls in
// flight end with an error. It returns when that has begun.
func (s *Supervisor) Restart(ctx context.Context, id string) error {
	process.ExpireLoginEnv(loginAgeRestart)
	return s.command(ctx, id, func(r *runner) error {
		r.retireInstances()
		r.wanted = true
		r.step(evRenew)
		return nil
	})
}

// Stop ends a server until somebody starts it, or a client calls it. It returns
// when nothing of it is left, or when ctx ends.
func (s *Supervisor) Stop(ctx context.Context, id string) error {
	if err := s.command(ctx, id, func(r *runner) error {
		r.retireInstances()
		r.wanted = false
		r.step(evWanted)
		return nil
	}); err != nil {
		return err
	}
	r := s.fleet.Load().byID[id]
	if r == nil {
		return nil
	}
	for _, one := range append([]*runner{r}, r.instances()...) {
		if err := one.stopped(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stopped waits until nothing runs, or somebody wants it again.
func (r *runner) stopped(ctx context.Context) error {
	for {
		l := r.live.Load()
		if l.phase == phaseStopped || l.wanted && !r.retired.Load() {
			return nil
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// command runs f in the goroutine of a server.
func (s *Supervisor) command(ctx context.Context, id string, f func(*runner) error) error {
	fl := s.fleet.Load()
	r := fl.byID[id]
	if r == nil {
		return fl.unknown(id)
	}
	if r.config().Disabled {
		e := core.Errorf(core.CodeConflict, "server %q is disabled", id)
		e.Hint = "Enable it first: drawbridge enable " + id + "."
		return e
	}
	if r.held.Load() {
		return r.unapproved()
	}
	if s.paused.Load() {
		return errPaused()
	}
	return r.ask(ctx, func() error { return f(r) })
}

// unknown says why there is no server called id.
func (f *fleet) unknown(id string) error {
	for _, b := range f.broken {
		if b.ID == id {
			return &core.Error{Code: core.CodeUnavailable, Message: "server \"" + id + "\" cannot run: " + b.Reason,
				Hint: "Correct the configuration."}
		}
	}
	return core.Errorf(core.CodeNotFound, "no server is called %q", id)
}

// jitter spreads d by 20 % to both sides, so that servers which fell together do
// not rise together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
