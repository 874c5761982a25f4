package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Options are the dependencies of a Feature. All but Journal are required.
type Options struct {
	File    string // where it keeps what it learned
	Log     *slog.Logger
	Journal func(server string, level slog.Level, text string) // writes to the log of a server
}

// Restarter restarts a server; *supervisor.Supervisor implements it.
type Restarter interface {
	Restart(ctx context.Context, id string) error
}

// Feature starts the programs of npx packages. Its methods are safe for concurrent use.
type Feature struct {
	Options
	Servers Restarter // set before the API is served
	known   *memory
	tasks   chan func() // reads npm's cache, one folder at a time

	mu       sync.Mutex // guards the rest
	allowed  map[string]bool
	starts   map[string]Start       // newest of each npx server
	replaced map[string]replacement // packages that were replaced
}

// replacement is code in npm's cache that npm did not install.
type replacement struct {
	folder   string
	packages []string
	is       contents
	at       time.Time
}

// Why npx starts a server that it has not started before, and why it did once that start was learned.
const (
	firstStart   = "this is the first start of this package"
	learnedStart = "this was the first start of this package; the next start is direct"
)

// maxTasks is the number of starts from which can be learned at the same time. Others are learned from
// later.
const maxTasks = 256

// New returns a Feature that starts nothing directly before Apply.
func New(o Options) *Feature {
	return &Feature{Options: o, known: openMemory(o.File, o.Log), tasks: make(chan func(), maxTasks),
		starts: map[string]Start{}, replaced: map[string]replacement{}}
}

// ExpectedStart returns how long the start of a server took before, or 0 if unknown.
func (f *Feature) ExpectedStart(server string) time.Duration {
	if known := f.known.of(server).Learned; len(known) > 0 {
		return known[0].DirectStart
	}
	return 0
}

// Apply applies a configuration, and forgets servers that are not in it.
func (f *Feature) Apply(c *config.Config) {
	allowed := Settings(c)
	f.mu.Lock()
	f.allowed = allowed
	for server := range f.starts {
		if _, known := allowed[server]; !known {
			delete(f.starts, server)
			delete(f.replaced, server)
		}
	}
	f.mu.Unlock()
	f.known.retain(func(server string) bool { _, known := allowed[server]; return known })
}

// Run learns from starts until ctx is done.
func (f *Feature) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case learn := <-f.tasks:
			learn()
		}
	}
}

// Direct implements upstream.Launcher: it returns how to start the program that npx would start, or false
// if npx has to.
func (f *Feature) Direct(server string, spec process.Spec) (process.Spec, bool, error) {
	c, why := ParseCommand(spec.Path, spec.Args)
	if why == notLauncher {
		return spec, false, nil
	}
	var l *learned
	var err error
	if why == "" {
		l, why, err = f.choose(server, spec, c)
	}
	s := Start{Server: server, How: ByNpx, Why: why}
	if l != nil {
		s.Package, s.Version = l.names()[0], l.Version
		s.NpxStart, s.NpxMemory = l.NpxStart, l.NpxMemory
	}
	if why == "" && err == nil {
		s.How = Directly
	}
	f.mu.Lock()
	f.starts[server] = s
	f.mu.Unlock()
	if s.How == ByNpx {
		return spec, false, err
	}
	return l.direct(spec, c.Args), true, nil
}

// choose returns what is known about a start, and why npx has to start it, or "". An error means that
// nothing may start.
func (f *Feature) choose(server string, spec process.Spec, c Command) (l *learned, why string, err error) {
	f.mu.Lock()
	allowed := f.allowed[server]
	f.mu.Unlock()
	if !allowed {
		return nil, "its launch is set to npx", nil
	}
	known, key := f.known.of(server), keyOf(spec)
	at := slices.IndexFunc(known.Learned, func(l *learned) bool { return l.Key == key })
	if at < 0 { // the same packages are in the same folder
		at = slices.IndexFunc(known.Learned, func(l *learned) bool { return slices.Equal(l.Packages, c.Packages) })
	}
	if at < 0 {
		return nil, firstStart, nil
	}
	l = known.Learned[at]
	if why, err = f.compareCache(server, l); why != "" || err != nil {
		return l, why, err
	}
	if off := known.Off; off != nil && off.Key == key { // learn removes it with another version
		return l, "it failed when it was started directly: " + off.Reason, nil
	}
	return l, l.differs(spec), nil
}

// compareCache compares the folder in npm's cache with what was learned. It returns why npx has to start
// the server, or an error if files were replaced in a way that is not npm's.
func (f *Feature) compareCache(server string, l *learned) (why string, err error) {
	f.setReplaced(server, nil)
	stamp, _, err := scan(l.Folder)
	if err != nil {
		return "its package is no longer in npm's cache", nil
	}
	if stamp == l.Contents.Stamp {
		return "", nil
	}
	is, err := readContents(l.Folder)
	if err != nil {
		return err.Error(), nil
	}
	replaced, updated := difference(l.Contents.Packages, is.Packages)
	switch {
	case len(replaced) > 0:
		f.setReplaced(server, &replacement{folder: l.Folder, packages: replaced, is: is, at: time.Now()})
		return "", replacedError(l, replaced)
	case len(updated) > 0:
		return "npm changed the package in its cache: " + listed(updated), nil
	}
	f.accept(server, l.Folder, is)
	return "", nil
}

// accept remembers is as the contents of a folder.
func (f *Feature) accept(server, folder string, is contents) {
	f.known.change(server, func(r remembered) remembered {
		all := slices.Clone(r.Learned)
		for i, one := range all {
			if one.Folder == folder {
				same := *one
				same.Contents = is
				all[i] = &same
			}
		}
		r.Learned = all
		return r
	})
}

func (f *Feature) setReplaced(server string, r *replacement) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.replaced, server); r != nil {
		f.replaced[server] = *r
	}
}

func replacedError(l *learned, packages []string) error {
	return &core.Error{Code: core.CodeValidation,
		Message: fmt.Sprintf("files of %s in npm's cache were replaced, and npm did not do it: it was not started", listed(packages)),
		Hint:    fmt.Sprintf("Review the change with: drawbridge approvals. To install the package again instead, delete %s and start the server.", l.Folder),
		Remedy:  core.Remedy{Kind: core.RemedyApprove, Command: "drawbridge approvals"}}
}

// listed lists a few names.
func listed(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Connected implements upstream.Launcher: it learns from a start that succeeded.
func (f *Feature) Connected(s upstream.Launched) {
	f.mu.Lock()
	last, known := f.starts[s.Server]
	last.Took = s.Took
	if s.Failure != nil {
		last.How, last.Why = ByNpx, "it failed when it was started directly: "+reasonOf(s.Failure)
	}
	if known {
		f.starts[s.Server] = last
	}
	allowed := f.allowed[s.Server]
	f.mu.Unlock()
	if s.Direct {
		f.known.started(s.Server, s.Took)
	}
	c, why := ParseCommand(s.Spec.Path, s.Spec.Args)
	if why != "" || s.Direct || !allowed {
		return
	}
	usage, err := s.Usage()
	var l *learned
	if err == nil {
		l, err = observe(s.Spec, c, usage.Tree)
	}
	if err != nil {
		f.cannotLearn(s.Server, err)
		return
	}
	l.At, l.NpxMemory = time.Now().UTC(), memoryOf(usage.Tree, l.Script)
	learn := func() { f.learn(s, l) }
	select {
	case f.tasks <- learn:
	default:
		f.cannotLearn(s.Server, errors.New("too many servers started at the same time"))
	}
}

// learn completes and remembers what a start by npx has shown.
func (f *Feature) learn(s upstream.Launched, l *learned) {
	if err := l.readCache(); err != nil {
		f.cannotLearn(s.Server, err)
		return
	}
	l.NpxStart = startFromCache(s, l)
	var was *learned
	f.known.change(s.Server, func(r remembered) remembered {
		if at := slices.IndexFunc(r.Learned, func(o *learned) bool { return o.Folder == l.Folder }); at >= 0 {
			was = r.Learned[at]
			l.NpxStart = max(l.NpxStart, 0)
			if l.NpxStart == 0 {
				l.NpxStart = was.NpxStart
			}
		}
		switch {
		case s.Failure != nil:
			r.Off = &switchedOff{Key: l.Key, Version: l.Version, Reason: reasonOf(s.Failure), At: l.At}
		case r.Off != nil && (r.Off.Key != l.Key || r.Off.Version != l.Version):
			r.Off = nil
		}
		return r.with(l)
	})
	f.mu.Lock()
	if last, known := f.starts[s.Server]; known {
		last.Package, last.Version, last.NpxStart, last.NpxMemory = l.names()[0], l.Version, l.NpxStart, l.NpxMemory
		if last.Why == firstStart {
			last.Why = learnedStart
		}
		f.starts[s.Server] = last
	}
	f.mu.Unlock()
	switch {
	case s.Failure != nil:
		f.journal(s.Server, slog.LevelWarn, "its direct start failed, and npx started it: "+reasonOf(s.Failure)+"; npx starts it until its entry or its version changes")
	case was != nil && was.Version != l.Version:
		f.journal(s.Server, slog.LevelWarn, fmt.Sprintf("%s is now version %s; before, it was %s", l.names()[0], l.Version, was.Version))
	case was == nil:
		f.journal(s.Server, slog.LevelInfo, fmt.Sprintf("from its next start on, %s %s is started directly, without npx", l.names()[0], l.Version))
	}
}

// startFromCache returns how long npx took, or 0 if it also installed the package.
func startFromCache(s upstream.Launched, l *learned) time.Duration {
	if s.Failure != nil || installedSince(l.Folder, l.At.Add(-s.Took)) {
		return 0
	}
	return s.Took
}

func (f *Feature) cannotLearn(server string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, known := f.starts[server]; known {
		s.Why = err.Error()
		f.starts[server] = s
	}
}

func (f *Feature) journal(server string, level slog.Level, text string) {
	if f.Journal != nil {
		f.Journal(server, level, text)
	}
}

// reasonOf returns the first line of an error.
func reasonOf(err error) string {
	text := err.Error()
	if own, ok := errors.AsType[*core.Error](err); ok {
		text = own.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	return core.CutBytes(text, 300)
}
