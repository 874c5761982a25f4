package config

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// ReloaderOptions configures a Reloader. Sources is required.
type ReloaderOptions struct {
	Sources Sources
	// LastGood is the path of a copy of the last valid configuration; "" keeps none.
	LastGood string
	// Backups receives the last valid content of a main file that is missing at startup.
	Backups Backups
	Bus     *core.Bus
	Log     *slog.Logger
	// Debounce is how long files must be unchanged before they are read, and how long to wait
	// before a file that does not parse is read again and reported. Zero means 200 ms.
	Debounce time.Duration
	// Polled does without the events of the system: the files are polled. A simulation with a clock of
	// its own needs it, because no such clock advances while something waits for the system.
	Polled bool
}

// Reloader owns the configuration. Create one with NewReloader, then call Load and Run.
type Reloader struct {
	o       ReloaderOptions
	current atomic.Pointer[Config]

	started chan struct{} // closed when Run has applied the first configuration

	mu          sync.Mutex    // serializes reloads and edits; guards the fields below
	apply       func(*Config) // of Run; nil before
	refused     []Problem     // why the files as they were read last are not in use; nil if they are
	held        string        // identifies the change that was held back last; "" if the files are in use since
	mainExisted bool          // whether the main file existed when applied was read
	readStamp   string        // stamp of the files at the last read
	published   string        // value of seen at the last published event
}

// NewReloader returns a Reloader with the default configuration. It starts nothing.
func NewReloader(o ReloaderOptions) *Reloader {
	if o.Debounce == 0 {
		o.Debounce = 200 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Bus == nil {
		o.Bus = new(core.Bus)
	}
	r := &Reloader{o: o, started: make(chan struct{})}
	r.current.Store(Default())
	return r
}

// Current returns the running configuration with the problems that were found last.
func (r *Reloader) Current() *Config { return r.current.Load() }

// Problems returns the problems of the files as they are now, whether or not they were applied.
func (r *Reloader) Problems() []Problem { return r.Current().Problems }

// Load reads the configuration for the first time. If the files are rejected, Current is the last
// valid copy, or a configuration without servers. Its Problems and the returned error give the
// reason, so that the caller may stop instead. Load applies nothing.
func (r *Reloader) Load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readStamp = r.fileStamp()
	r.published = r.readStamp
	c, err := r.o.Sources.Load()
	if err == nil {
		if good := r.readLastGood(); c.FilesIgnored && good != nil {
			c = keepSettings(good, c)
		}
		kept := true
		if r.mainExisted = exists(r.o.Sources.Main()); !r.mainExisted && c.Locked == "" {
			c, kept = r.withMissingFile(c)
		}
		r.current.Store(c)
		if kept {
			r.saveLastGood(c)
		}
		r.logProblems(c.Problems)
		return nil
	}
	problems := problemsOf(err)
	for _, p := range problems {
		r.o.Log.Error("Cannot read configuration", "problem", p.String())
	}
	fallback := r.readLastGood()
	if fallback == nil {
		fallback = Default()
		fallback.VisibilityUnknown = UnknownVisibility(problems)
	} else {
		r.o.Log.Warn("Running with the last valid configuration", "copy", r.o.LastGood)
	}
	r.mainExisted = true // if the file appears, it is a change; if it stays missing, it is not
	r.refused = problems
	r.current.Store(fallback.With(fallback.Servers, problems))
	return err
}

// withMissingFile returns c, whose main file does not exist, with a warning if the file existed when
// the configuration was last valid. Nothing of it is in use, because its user may have deleted the
// file to start anew. Its content becomes a backup: the next edit creates another file. kept is
// false if that failed, so that the last valid copy is the only one.
func (r *Reloader) withMissingFile(c *Config) (_ *Config, kept bool) {
	main := r.o.Sources.Main()
	good := r.readLastGood()
	if good == nil {
		return c, true
	}
	text, known := good.TextOf(main)
	if !known || bytes.Equal(text, Starter()) {
		return c, true
	}
	lost := 0
	for _, s := range good.Servers {
		if s.Source.File == main {
			lost++
		}
	}
	warning := Problem{File: main, Warning: true, Message: "file is missing, so its settings are not in use"}
	if lost > 0 {
		warning.Message = "file is missing, so " + core.Plural(lost, "server") + " did not start"
	}
	if kept = r.backUp(main, text); kept {
		warning.Suggestion = "restore its last valid content: drawbridge backup restore"
	} else {
		warning.Suggestion = "its last valid content is in " + r.o.LastGood
	}
	return c.With(c.Servers, append(c.Problems, warning)), kept
}

// backUp makes text the newest backup of file, if it is not, and reports whether it succeeded.
func (r *Reloader) backUp(file string, text []byte) bool {
	if all, err := r.o.Backups.List(); err == nil && len(all) > 0 {
		if newest, err := r.o.Backups.Read(all[0].Name); err == nil && bytes.Equal(newest, text) {
			return true
		}
	}
	if _, err := r.o.Backups.Create(file, text, time.Now()); err != nil {
		r.o.Log.Warn("Cannot back up the last valid configuration", "error", err)
		return false
	}
	return true
}

func (r *Reloader) readLastGood() *Config {
	if r.o.LastGood == "" {
		return nil
	}
	data, err := osutil.ReadFile(r.o.LastGood)
	if err != nil {
		return nil
	}
	c, err := FromSourceTexts(data)
	if err != nil {
		r.o.Log.Warn("Cannot read the last valid configuration", "error", err)
		return nil
	}
	return c
}

// Run applies the current configuration and then each new one, and follows the files until ctx is
// done. apply cannot fail and is never called concurrently.
func (r *Reloader) Run(ctx context.Context, apply func(*Config)) error {
	r.mu.Lock()
	r.apply = apply
	apply(r.Current())
	r.mu.Unlock()
	close(r.started)
	for {
		// The files are not read once more at the end: reading many servers may take too long.
		if err := r.waitForChange(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		r.Reload(ctx)
	}
}

// Reload reads the files now, as after a change.
func (r *Reloader) Reload(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reload(ctx, "")
}

// Started blocks until Run has applied the first configuration, or until ctx ends.
func (r *Reloader) Started(ctx context.Context) error {
	select {
	case <-r.started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sync returns when the files as they are now run. Otherwise its error says why they do not: they have
// errors, a change of them is held back, or ctx ended first. confirm is the change that the user wants
// although it stops all servers: its Problem.Held, AnyETag for any, or "" for none.
func (r *Reloader) Sync(ctx context.Context, confirm string) error {
	if err := r.Started(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fileStamp() != r.readStamp || r.held != "" && confirm != "" {
		r.reload(ctx, confirm)
	}
	switch {
	case len(r.refused) == 0:
		return ctx.Err()
	case r.refused[0].Held != "":
		return r.heldError()
	}
	err := validationError(r.refused)
	err.Message, err.Hint = "the configuration file is not in use", "Drawbridge runs the last valid one. See: drawbridge validate"
	return err
}

// reload must be called with r.mu held.
func (r *Reloader) reload(ctx context.Context, confirm string) {
	c, problems := r.load(confirm)
	if HasErrors(problems) {
		// The file may have been read in the middle of a write.
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.o.Debounce):
		}
		c, problems = r.load(confirm)
	}
	r.commit(c, problems)
}

// load reads the sources. A change that stops all servers, or removes the main file, is more often a
// mistake than a wish: it is held back, as an error, unless it is the one to confirm.
func (r *Reloader) load(confirm string) (*Config, []Problem) {
	r.readStamp = r.fileStamp()
	c, err := r.o.Sources.Load()
	if err != nil {
		return nil, problemsOf(err)
	}
	main, message := r.o.Sources.Main(), ""
	if r.mainExisted && !exists(main) && c.Locked == "" {
		message = "file was removed, so nothing was changed"
	} else if n := r.stopped(c); n > 0 {
		message = "the changed file would stop " + core.Plural(n, "server") + ", all that are enabled, so nothing was changed"
	}
	id := ETag(append(c.SourceTexts(), message...))
	if message == "" || confirm == AnyETag || confirm == id {
		r.held = ""
		return c, c.Problems
	}
	r.held = id
	return nil, []Problem{{File: main, Message: message, Held: id,
		Suggestion: "correct it, or restore it with: drawbridge backup restore. If this is what you want: drawbridge validate --apply"}}
}

// stopped returns the number of enabled servers if c leaves none of them: no server at all, or while a
// change is held back, only others.
func (r *Reloader) stopped(c *Config) int {
	was := r.Current()
	next := keepBrokenServers(was, c)
	running := 0
	for _, s := range next.Servers {
		if old, known := was.Server(s.ID); !s.Disabled && (r.held == "" || known && !old.Disabled) {
			return 0
		}
	}
	for _, s := range was.Servers {
		if !s.Disabled {
			running++
		}
	}
	return running
}

// heldError is the error of what depends on files whose change is held back, as r.refused says.
func (r *Reloader) heldError() error {
	return &core.Error{Code: core.CodeRejected, Message: "a change of the configuration file is held back: " + r.refused[0].Message, Hint: "In the file, " + r.refused[0].Suggestion + "."}
}

// commit makes c the running configuration, or only reports problems if c is nil. It must be
// called with r.mu held. A change without effect, such as one in a comment, is published too, so
// that clients that display the text can reload it.
func (r *Reloader) commit(c *Config, problems []Problem) {
	defer func() {
		if r.published != r.readStamp {
			r.published = r.readStamp
			r.o.Bus.Publish(core.ConfigEvent, core.ConfigChange{Applied: c != nil})
		}
	}()
	was := r.Current()
	r.refused = nil
	defer r.noticeHeld(was)
	if c == nil {
		r.refused = problems
		if equalProblems(was.Problems, problems) {
			return
		}
		if text, known := was.TextOf(r.o.Sources.Main()); known && r.held != "" {
			r.backUp(r.o.Sources.Main(), text) // the file has another content, or none
		}
		r.current.Store(was.With(was.Servers, problems))
		r.publish(false, nil, problems)
		return
	}
	if c.FilesIgnored {
		c = keepSettings(was, c)
	}
	good := c // without servers kept from the previous configuration
	c = keepBrokenServers(was, c)
	existed := r.mainExisted
	r.mainExisted = exists(r.o.Sources.Main())
	r.current.Store(c)
	if existed && !r.mainExisted && len(c.Files) == 0 {
		_ = os.Remove(r.o.LastGood) // the removal was confirmed, so the next start must not report it
	}
	r.saveLastGood(good)
	if Same(was, c) {
		if !equalProblems(was.Problems, c.Problems) {
			r.publish(true, nil, c.Problems)
		}
		return
	}
	added, changed, removed := Diff(was, c)
	r.o.Log.Info("Configuration changed", "added", len(added), "changed", len(changed), "removed", len(removed))
	if r.apply != nil { // otherwise Run applies it
		r.apply(c)
	}
	r.publish(true, append(append(added, changed...), removed...), c.Problems)
}

// noticeHeld publishes a notice when a change begins or ends to be held back. was is the configuration
// before.
func (r *Reloader) noticeHeld(was *Config) {
	held := func(c *Config) (message string) {
		for _, p := range c.Problems {
			if p.Held != "" {
				message = "The configuration: " + p.Message + "."
			}
		}
		return message
	}
	if now := held(r.Current()); now != held(was) {
		r.o.Bus.Publish(core.NoticeEvent, core.Notice{Subject: core.HeldConfigSubject, Message: now})
	}
}

func (r *Reloader) publish(applied bool, changed []string, problems []Problem) {
	r.logProblems(problems)
	lines := make([]string, 0, len(problems))
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	r.published = r.readStamp
	r.o.Bus.Publish(core.ConfigEvent, core.ConfigChange{Applied: applied, Problems: lines, Changed: changed})
}

func (r *Reloader) logProblems(problems []Problem) {
	for _, p := range problems {
		level := slog.LevelError
		if p.Warning {
			level = slog.LevelWarn
		}
		r.o.Log.Log(context.Background(), level, "Configuration", "problem", p.String())
	}
}

// saveLastGood saves the last valid configuration.
func (r *Reloader) saveLastGood(c *Config) {
	if r.o.LastGood == "" || c.Broken() || c.FilesIgnored || len(c.Files) == 0 {
		return
	}
	data := c.SourceTexts()
	if old, err := osutil.ReadFile(r.o.LastGood); err == nil && string(old) == string(data) {
		return
	}
	if err := osutil.ReplaceFile(r.o.LastGood, data, 0o600); err != nil {
		r.o.Log.Warn("Cannot save the last valid configuration", "error", err)
	}
}

// keepSettings returns now, some of whose files are invalid, with all settings of was except the
// servers. A mistake in a file must not lift access restrictions.
func keepSettings(was, now *Config) *Config {
	c := was.With(now.Servers, now.Problems)
	c.Locked, c.FilesIgnored, c.VisibilityUnknown = now.Locked, true, ""
	if was.FilesIgnored && len(was.Files) == 0 { // was did not read the files either
		c.VisibilityUnknown = now.VisibilityUnknown
	}
	return c
}

// keepBrokenServers returns now, in which servers that were omitted because of an error keep their
// previous configuration.
func keepBrokenServers(was, now *Config) *Config {
	servers, problems := now.Servers, append([]Problem(nil), now.Problems...)
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
				problems[i].Suggestion = joinSuggestions(p.Suggestion, "it keeps its previous configuration")
			}
		}
	}
	return now.With(servers, problems)
}

func joinSuggestions(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func equalProblems(a, b []Problem) bool {
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

func problemsOf(err error) []Problem {
	if problems, ok := errors.AsType[Problems](err); ok {
		return problems
	}
	return []Problem{{Message: err.Error()}}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
