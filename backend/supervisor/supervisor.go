package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Timing and limits that are not configurable.
const (
	healthyAfter           = time.Minute      // of running resets the count of failures
	pingTimeout            = 5 * time.Second  // timeout of a heartbeat ping
	crashedRetryInterval   = 30 * time.Second // minimum time between starts that calls cause
	dependencyRetryDelay   = 3 * time.Second  // delay between starts while an external dependency, such as Docker, is missing
	watchedDependencyDelay = 30 * time.Second // the same while something else notices its return
	loginRetryDelay        = time.Hour        // the same while the user has to sign in; LoginChanged triggers an earlier start
	maxStorePause          = 5 * time.Minute  // between attempts to save a catalog
	storeTimeout           = 5 * time.Second  // timeout of a query of Catalogs, Eras or CommandApprovals
	maxParallelStarts      = 4                // parallel starts: enough to overlap waiting for the network, few enough for a small machine
	startSlotTime          = 5 * time.Second  // after this, a start is probably waiting for the network, so another one may begin
	probeTimeout           = 15 * time.Second // timeout of probing whether a legacy server also speaks the modern era
	progressInterval       = time.Second      // interval of progress checks during a start
	failureStderrLines     = 5                // lines of stderr in the status of a failed server
	stopLimit              = 5 * time.Second  // at shutdown, servers are killed after this; Drawbridge exits within 6 s
	restartLoginEnvAge     = time.Second      // a restart reads the environment of the login shell again if it is older than this
	modernWaitLimit        = 3 * time.Second  // how long a modern call waits for a connection in its own era
)

// Catalogs stores the catalogs of servers, so that their tools are known before they run. key
// changes with the settings that start the server.
type Catalogs interface {
	Catalog(ctx context.Context, server, key string) (*core.Catalog, error) // nil if unknown
	// LastCatalog returns the last saved catalog, whatever its key is; nil if unknown.
	LastCatalog(ctx context.Context, server string) (*core.Catalog, error)
	SaveCatalog(ctx context.Context, server, key string, c *core.Catalog) error
}

// Eras stores whether a server that speaks the legacy era also speaks the modern era.
type Eras interface {
	DualEra(ctx context.Context, server, key string) (dual, known bool, err error)
	SaveDualEra(ctx context.Context, server, key string, dual bool) error
}

// Options are the dependencies of a Supervisor. Log, Bus, Registry and Connect are required.
type Options struct {
	Log      *slog.Logger
	Bus      *core.Bus
	Registry *registry.Registry
	// Impaired returns why calls to a running server are refused, or "" if they are not. Its
	// owner calls Supervisor.PublishStatus when the result changes. It must not block. nil means
	// never.
	Impaired func(server string) (reason string)
	// Connected is called when an account of a server, "" for the default one, has a new process or
	// connection, before calls reach it. It must not block. May be nil.
	Connected func(server, account string)
	Connect   Connect
	Catalogs  Catalogs // nil: catalogs are not saved
	Eras      Eras     // nil: each run probes again
	// Journal writes to a server's own log. May be nil.
	Journal func(server string, level slog.Level, text string)
	// LastLines returns the last n lines that a server wrote to stderr since a time. May be nil.
	LastLines func(server string, n int, since time.Time) []string
	// DownloadingLauncher returns the launcher that is downloading a server during its start, or
	// "". May be nil.
	DownloadingLauncher func(server string) string
	// ExpectedStart returns how long the start of a server took before, or 0 if unknown. May be nil.
	ExpectedStart func(server string) time.Duration
	// Cached reports whether the package of a server has been downloaded before. May be nil.
	Cached func(c *config.Server) bool
	// Usage returns the resource usage of the processes of a server. May be nil.
	Usage func(server string) (process.Usage, error)
	// Logins returns the sign-in state of remote servers. May be nil.
	Logins Logins
	// Confirmed reports whether the user has confirmed the entry of a server, so that its new command
	// needs no notice. May be nil.
	Confirmed func(*config.Server) bool
	// CommandApprovals stores which commands the user has approved. nil: approvals apply to this
	// run only.
	CommandApprovals CommandApprovals
}

// Supervisor runs the servers. All methods are safe for concurrent use.
type Supervisor struct {
	o     Options
	slots startSlots
	quit  chan struct{} // closed when Run shuts down
	// drainExpired is closed DrainLimit after quit: then calls in flight are no longer waited for.
	drainExpired chan struct{}
	// stopCtx is cancelled by killAll, stopLimit after quit: servers that still run are killed.
	stopCtx context.Context
	killAll context.CancelFunc
	// applied is closed, through appliedOnce, when the first configuration has been applied.
	applied     chan struct{}
	appliedOnce sync.Once

	notices  notices
	fleet    atomic.Pointer[fleet]
	listWait atomic.Int64
	pause

	// applying is held while the configuration or an approval changes, including queries of the
	// store, during which mu is never held. Lock order: applying, then mu.
	applying sync.Mutex

	mu           sync.Mutex // held while the fleet changes
	pauseTimer   *time.Timer
	running      bool
	ended        bool
	configured   bool                // a configuration has been applied
	all          map[string]*runner  // by runnerKey, including removed runners that have not ended yet
	approved     map[string]approval // by server: the newest approved command
	lastCommands map[string]string   // by server: commandText of the newest command
	active       sync.WaitGroup      // goroutines of runners and calls
}

// fleet is the set of servers of one configuration, in its order. It is immutable.
type fleet struct {
	byID   map[string]*runner
	order  []*runner
	broken []core.ServerStatus // servers whose configuration is invalid
}

// New returns a Supervisor without servers. It starts nothing. It panics if a required option is
// missing.
func New(o Options) *Supervisor {
	if o.Log == nil || o.Bus == nil || o.Registry == nil || o.Connect == nil {
		panic("supervisor: incomplete options")
	}
	if o.Journal == nil {
		o.Journal = func(string, slog.Level, string) {}
	}
	if o.Connected == nil {
		o.Connected = func(string, string) {}
	}
	if o.LastLines == nil {
		o.LastLines = func(string, int, time.Time) []string { return nil }
	}
	if o.DownloadingLauncher == nil {
		o.DownloadingLauncher = func(string) string { return "" }
	}
	if o.ExpectedStart == nil {
		o.ExpectedStart = func(string) time.Duration { return 0 }
	}
	if o.Cached == nil {
		o.Cached = func(*config.Server) bool { return false }
	}
	if o.Usage == nil {
		o.Usage = func(string) (process.Usage, error) {
			return process.Usage{}, errors.New("resource usage is not available")
		}
	}
	s := &Supervisor{o: o, slots: startSlots{free: maxParallelStarts}, quit: make(chan struct{}), drainExpired: make(chan struct{}), applied: make(chan struct{}), all: map[string]*runner{}, approved: map[string]approval{}, lastCommands: map[string]string{}}
	s.stopCtx, s.killAll = context.WithCancel(context.Background()) //nolint:gosec // killAll is called stopLimit after quit
	s.fleet.Store(&fleet{byID: map[string]*runner{}})
	s.listWait.Store(int64(config.DefaultListWait))
	o.Registry.OnChange(func(registry.Change) { s.publishConflicts() })
	return s
}

// Run runs the servers of the applied configuration until ctx is done. Then it stops all servers
// in parallel, each when its calls in flight have ended or DrainLimit has passed, and returns
// when all have stopped. It must be called at most once.
func (s *Supervisor) Run(ctx context.Context) error {
	s.mu.Lock()
	s.running = true
	for _, r := range s.all {
		s.startRunner(r)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	s.endPauseTimer()
	s.mu.Unlock()
	close(s.quit)
	defer time.AfterFunc(DrainLimit, func() { close(s.drainExpired) }).Stop()
	defer time.AfterFunc(stopLimit, s.killAll).Stop()
	s.active.Wait()
	return nil
}

// startRunner starts the goroutine of r if Run is running. It must be called with s.mu held.
func (s *Supervisor) startRunner(r *runner) {
	if s.running && !s.ended {
		s.active.Go(r.run)
	}
}

// Start starts a server. It returns when the start has begun. The count of failures is reset.
func (s *Supervisor) Start(ctx context.Context, id string) error {
	return s.runCommand(ctx, id, func(r *runner) error {
		r.wanted = true
		r.step(evWanted)
		switch r.state.phase {
		case phaseCrashed, phaseBackoff, phaseWaiting:
			r.step(evRestart)
		}
		return nil
	})
}

// Restart stops a server's process, if there is one, and starts a new one with the current
// environment of the login shell. Calls in flight end with an error. It returns when the restart
// has begun.
func (s *Supervisor) Restart(ctx context.Context, id string) error {
	process.ExpireLoginEnv(restartLoginEnvAge)
	return s.runCommand(ctx, id, func(r *runner) error {
		r.retireInstances()
		r.wanted = true
		r.step(evRestart)
		return nil
	})
}

// Stop stops a server until the user starts it or a client calls it. It returns when the server
// has stopped or ctx is done.
func (s *Supervisor) Stop(ctx context.Context, id string) error {
	if err := s.runCommand(ctx, id, func(r *runner) error {
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
		if err := one.awaitStopped(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitStopped waits until the server has stopped, is wanted again, or ctx is done.
func (r *shared) awaitStopped(ctx context.Context) error {
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

func (s *Supervisor) runCommand(ctx context.Context, id string, f func(*runner) error) error {
	fl := s.fleet.Load()
	r := fl.byID[id]
	if r == nil {
		return fl.unknownError(id)
	}
	if r.config().Disabled {
		e := core.Errorf(core.CodeConflict, "server %q is disabled", id)
		e.Hint = "Enable it first: drawbridge enable " + id + "."
		return e
	}
	if r.needsApproval.Load() {
		return r.unapprovedError()
	}
	if s.paused.Load() {
		return s.errPaused()
	}
	return r.ask(ctx, func() error { return f(r) })
}

// unknownError returns the error for an id that has no server.
func (f *fleet) unknownError(id string) error {
	for _, b := range f.broken {
		if b.ID == id {
			return &core.Error{Code: core.CodeUnavailable, Message: "server \"" + id + "\" cannot run: " + b.Reason,
				Hint: "Correct the configuration.", Remedy: b.Remedy}
		}
	}
	return core.Errorf(core.CodeNotFound, "there is no server named %q", id)
}

// jitter changes d randomly by up to 20 %, so that servers that failed together are not restarted
// together.
func (r *runner) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*core.Jitter(r.id)))
}
