package reload

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Options of a Reloader. Sources and Apply are required.
type Options struct {
	Sources config.Sources
	// LastGood is where a copy of the newest good configuration is kept; "" keeps none.
	LastGood string
	// Apply makes a configuration the running one. It cannot refuse and is never
	// called twice at a time.
	Apply func(*config.Config)
	Bus   *event.Bus
	Log   *slog.Logger
	// Debounce is how long files must be quiet before they are read, and how long a
	// file that does not parse gets before it is read again and reported. 200 ms when zero.
	Debounce time.Duration
}

// Reloader owns the configuration. Make one with New, then call Load and Run.
type Reloader struct {
	o       Options
	current atomic.Pointer[config.Config]

	mu      sync.Mutex // one reload or edit at a time; guards the fields below
	applied *config.Config
	mainWas bool   // the main file existed when applied was read
	seen    string // stamp of the files when they were last read
	told    string // seen, when observers last heard of the files
}

// New starts nothing.
func New(o Options) *Reloader {
	if o.Debounce == 0 {
		o.Debounce = 200 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Bus == nil {
		o.Bus = new(event.Bus)
	}
	r := &Reloader{o: o}
	r.current.Store(config.Default())
	return r
}

// Current is the running configuration with the problems that were found last.
func (r *Reloader) Current() *config.Config { return r.current.Load() }

// Problems are those of the files as they are now, whether or not they were applied.
func (r *Reloader) Problems() []config.Problem { return r.Current().Problems }

// Load reads the configuration for the first time. When the files are refused,
// Current is the last good copy, or one without servers; its Problems say so and
// the error does too, for those who would rather stop. Apply is not called.
func (r *Reloader) Load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = r.stamp()
	r.told = r.seen
	c, err := r.o.Sources.Load()
	if err == nil {
		if good := r.lastGood(); c.FilesIgnored && good != nil {
			c = besides(good, c)
		}
		r.mainWas = exists(r.o.Sources.Main())
		r.current.Store(c)
		r.keep(c)
		r.log(c.Problems)
		return nil
	}
	problems := problemsOf(err)
	for _, p := range problems {
		r.o.Log.Error("Cannot read configuration", "problem", p.String())
	}
	fallback := r.lastGood()
	if fallback == nil {
		fallback = config.Default()
		fallback.ReachUnknown = config.UnknownReach(problems)
	} else {
		r.o.Log.Warn("Running on the last good configuration", "copy", r.o.LastGood)
	}
	r.mainWas = true // a file that comes back is a change, one that stays away is none
	r.current.Store(fallback.With(fallback.Servers, problems))
	return err
}

func (r *Reloader) lastGood() *config.Config {
	if r.o.LastGood == "" {
		return nil
	}
	data, err := os.ReadFile(r.o.LastGood)
	if err != nil {
		return nil
	}
	c, err := config.FromCopy(data)
	if err != nil {
		r.o.Log.Warn("Cannot read the last good configuration", "error", err)
		return nil
	}
	return c
}

// Run applies the current configuration and follows the files until ctx ends.
func (r *Reloader) Run(ctx context.Context) error {
	r.mu.Lock()
	r.applied = r.Current()
	r.o.Apply(r.applied)
	r.mu.Unlock()
	for ctx.Err() == nil {
		if err := r.follow(ctx); err != nil {
			return err
		}
		r.Reload(ctx)
	}
	return nil
}

// Reload reads the files now. It is what a change of a file leads to.
func (r *Reloader) Reload(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, problems := r.load()
	if config.HasErrors(problems) {
		// Perhaps we saw a write half done.
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.o.Debounce):
		}
		c, problems = r.load()
	}
	r.commit(c, problems)
}

// load reads the sources. A main file that is gone is an error: the user who
// means "no servers" writes that.
func (r *Reloader) load() (*config.Config, []config.Problem) {
	r.seen = r.stamp()
	c, err := r.o.Sources.Load()
	if err != nil {
		return nil, problemsOf(err)
	}
	if main := r.o.Sources.Main(); r.mainWas && !exists(main) && c.Locked == "" {
		return nil, []config.Problem{{File: main, Message: "file is gone", Suggestion: `an empty configuration is {"mcpServers": {}}`}}
	}
	return c, c.Problems
}

// commit makes c the running configuration, or only reports problems when c is nil. It must be called with r.mu held.
// Of a change that means nothing, such as one of a comment, observers hear without more:
// who shows the text shows an old one otherwise.
func (r *Reloader) commit(c *config.Config, problems []config.Problem) {
	defer func() {
		if r.told != r.seen {
			r.told = r.seen
			r.o.Bus.Publish(event.Config, event.ConfigChange{Applied: c != nil})
		}
	}()
	was := r.Current()
	if c == nil {
		if samePlaces(was.Problems, problems) {
			return
		}
		r.current.Store(was.With(was.Servers, problems))
		r.report(false, nil, problems)
		return
	}
	if c.FilesIgnored {
		c = besides(was, c)
	}
	good := c // without what is kept from before
	c = keepBroken(was, c)
	r.mainWas = exists(r.o.Sources.Main())
	r.current.Store(c)
	r.keep(good)
	if config.Same(was, c) {
		if !samePlaces(was.Problems, c.Problems) {
			r.report(true, nil, c.Problems)
		}
		return
	}
	added, changed, removed := config.Diff(was, c)
	r.o.Log.Info("Configuration changed", "added", len(added), "changed", len(changed), "removed", len(removed))
	if r.applied != nil { // before Run, Run will apply it
		r.applied = c
		r.o.Apply(c)
	}
	r.report(true, append(append(added, changed...), removed...), c.Problems)
}

func (r *Reloader) report(applied bool, changed []string, problems []config.Problem) {
	r.log(problems)
	lines := make([]string, 0, len(problems))
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	r.told = r.seen
	r.o.Bus.Publish(event.Config, event.ConfigChange{Applied: applied, Problems: lines, Changed: changed})
}

func (r *Reloader) log(problems []config.Problem) {
	for _, p := range problems {
		level := slog.LevelError
		if p.Warning {
			level = slog.LevelWarn
		}
		r.o.Log.Log(context.Background(), level, "Configuration", "problem", p.String())
	}
}

// keep writes the last good copy.
func (r *Reloader) keep(c *config.Config) {
	if r.o.LastGood == "" || c.Broken() || c.FilesIgnored || len(c.Files) == 0 {
		return
	}
	data := c.Copy()
	if old, err := os.ReadFile(r.o.LastGood); err == nil && string(old) == string(data) {
		return
	}
	if err := atomicfile.Replace(r.o.LastGood, data, 0o600); err != nil {
		r.o.Log.Warn("Cannot keep a copy of the configuration", "error", err)
	}
}

// besides is now, whose files hold mistakes, with all that was says besides the servers:
// who may use what does not end with a slip in a file.
func besides(was, now *config.Config) *config.Config {
	c := was.With(now.Servers, now.Problems)
	c.Locked, c.FilesIgnored, c.ReachUnknown = now.Locked, true, ""
	if was.FilesIgnored && len(was.Files) == 0 { // they were never read
		c.ReachUnknown = now.ReachUnknown
	}
	return c
}

// keepBroken gives servers that were left out of now for an error what they were before.
func keepBroken(was, now *config.Config) *config.Config {
	servers, problems := now.Servers, append([]config.Problem(nil), now.Problems...)
	for i, p := range problems {
		if p.Warning || p.Server == "" {
			continue
		}
		for _, s := range was.Servers {
			if s.Label != p.Server {
				continue
			}
			if _, taken := now.With(servers, nil).Server(s.ID); !taken {
				servers = append(servers[:len(servers):len(servers)], s)
				problems[i].Suggestion = join(p.Suggestion, "it goes on as it was configured before")
			}
		}
	}
	return now.With(servers, problems)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func samePlaces(a, b []config.Problem) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func problemsOf(err error) []config.Problem {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problems
	}
	return []config.Problem{{Message: err.Error()}}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
