package trust

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Store keeps the records; *store.Store does.
type Store interface {
	Trust(ctx context.Context, server string) ([]store.Trusted, error)
	TrustedDefinition(ctx context.Context, server, kind, name string) ([]byte, error)
	SaveTrust(ctx context.Context, server string, list []store.Trusted, gone [][2]string, happened []store.TrustEvent) error
	TrustEvents(ctx context.Context, server string, before int64, limit int) ([]store.TrustEvent, int64, error)
	// Replaced counts how often the file was set aside and a new one begun.
	Replaced() uint64
}

// Options are what a Book works with. Store is needed.
type Options struct {
	Store Store
	Log   *slog.Logger     // nil: nothing is logged
	Now   func() time.Time // nil: time.Now
	// Rejudge is called after an answer: what the server offers is to be judged anew. It is
	// called without any lock of the Book.
	Rejudge func(server string)
	// Changed tells that what waits, or what is warned of, is no longer what it was. It
	// is called from Run.
	Changed func(server string)
}

// Kinds of what is trusted.
const (
	Tool         = "tool"
	Instructions = "instructions" // what a server says about its use as a whole
	Server       = "server"       // how it is started or reached
)

// What happens when a definition has changed; the words of the configuration.
const (
	Ask    = "ask"
	Accept = "accept"
	Block  = "block"
)

// Bounds.
const (
	maxEarlier    = 8         // definitions that were trusted before
	maxRecords    = 4000      // of one server, of what it no longer lists
	maxDefinition = 256 << 10 // bytes that are kept for people to compare
	maxEvents     = 2000      // that wait for the disk, of one server
	storeLimit    = 5 * time.Second
	lastLimit     = 2 * time.Second    // of the last write of a run
	newFor        = 7 * 24 * time.Hour // how long something counts as new
	perHour       = 20                 // events of one definition
	readAfter     = 100 * time.Millisecond
	lookEvery     = 5 * time.Minute // whether the file that has the records was set aside
)

// Baseline holds what is trusted. All methods may be called from any goroutine.
type Baseline struct {
	o    Options
	wake chan struct{}
	// saving is held while records are written, so that an older state never follows a newer one.
	saving sync.Mutex

	mu      sync.Mutex
	servers map[string]*serverBaseline
	jobs    []job
	told    map[string]bool // warnings that the log has
	touched map[string]bool // servers whose people should look again
}

// job is a definition that is to be read for warnings.
type job struct {
	server string
	key    key
	hash   Hash
	raw    []byte
	fresh  bool // it was seen for the first time just now
}

// New returns a Book. Run must run for it to be written and read.
func New(o Options) *Baseline {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rejudge == nil {
		o.Rejudge = func(string) {}
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	return &Baseline{o: o, wake: make(chan struct{}, 1), servers: map[string]*serverBaseline{}, told: map[string]bool{}, touched: map[string]bool{}}
}

// Rule is what the configuration says of one server.
type Rule struct {
	Server string
	Mode   string // Ask, Accept or Block
	Launch Hash   // of command, arguments, names of variables and address; only the hash is kept
}

// Apply takes over the configuration. Servers that are not named keep their records.
func (b *Baseline) Apply(rules []Rule) {
	var again []string
	b.mu.Lock()
	named := map[string]bool{}
	for _, r := range rules {
		named[r.Server] = true
		s := b.serverBaseline(r.Server)
		if s.configured && s.mode != r.Mode {
			again = append(again, r.Server)
		}
		s.configured, s.retired, s.mode = true, false, r.Mode
		b.launch(s, r.Launch)
	}
	for id, s := range b.servers {
		if !named[id] {
			s.configured, s.retired = false, s.retired || s.configured
		}
	}
	b.mu.Unlock()
	b.wakeWriter()
	for _, id := range again {
		b.o.Rejudge(id)
	}
}

// launch notes that a server is started or reached in another way. Nothing is withheld
// for it here: a new command has its own approval, and the tools are compared anyway.
func (b *Baseline) launch(s *serverBaseline, h Hash) {
	b.load(s)
	k := key{Server, ""}
	it := s.items[k]
	switch {
	case it == nil:
		s.items[k] = &item{firstAt: b.o.Now(), hash: h, version: 1}
	case it.hash != h:
		b.recordEvent(s, k, it, EventChanged, "it is started or reached in another way", &it.hash, &h)
		it.trust(h, nil)
	}
}

func (b *Baseline) serverBaseline(server string) *serverBaseline {
	s := b.servers[server]
	if s == nil {
		s = &serverBaseline{id: server, mode: Ask, items: map[key]*item{}}
		b.servers[server] = s
	}
	return s
}

// Judge compares what a server offers with what is trusted. It returns the names of the
// tools that are to be withheld, each with the reason, and whether the instructions are.
// What is new is trusted from now on.
func (b *Baseline) Judge(server string, tools []core.Item, instructions string) (withheld map[string]string, mute bool) {
	defer b.wakeWriter()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.serverBaseline(server)
	b.load(s)
	first := !s.known
	for _, it := range s.items {
		it.present = false
	}
	for _, tool := range tools {
		if why := b.judgeDefinition(s, key{Tool, tool.Name}, tool.Raw, canonical(tool.Raw), first); why != "" {
			if withheld == nil {
				withheld = map[string]string{}
			}
			withheld[tool.Name] = why
		}
	}
	if instructions != "" {
		mute = b.judgeDefinition(s, key{Instructions, ""}, []byte(instructions), []byte(instructions), first) != ""
	}
	if first && len(tools) > 0 {
		b.event(s, store.TrustEvent{At: b.o.Now(), Server: s.id, Kind: Server, What: EventNew, Detail: fmt.Sprintf("first seen, with %d tools", len(tools))})
	}
	s.known = s.known || len(tools) > 0 || instructions != ""
	b.forget(s)
	b.touched[server] = true
	return withheld, mute
}

// judgeDefinition judges one definition.
func (b *Baseline) judgeDefinition(s *serverBaseline, k key, raw, definition []byte, first bool) (why string) {
	h, now := hashOf(definition), b.o.Now()
	it, fresh := s.items[k], false
	switch {
	case it == nil:
		it, fresh = &item{firstAt: now, late: !first, version: 1}, true
		it.hash, it.definition = h, bounded(definition)
		s.items[k] = it
		if !first {
			b.recordEvent(s, k, it, EventNew, "", nil, &h)
		}
	case it.hash == h:
		if it.lost {
			it.definition, it.lost = bounded(definition), false
			it.version++
		}
		if it.waiting != nil {
			b.recordEvent(s, k, it, EventReturned, "", &it.waiting.hash, &h)
			it.waiting = nil
			it.version++
		}
	case slices.Contains(it.earlier, h):
		b.recordEvent(s, k, it, EventReturned, "a definition that was accepted before", &it.hash, &h)
		it.trust(h, definition)
	case (it.always || s.mode == Accept) && !it.blocked:
		fresh = true
		detail := "the configuration accepts changes of this server"
		if it.always {
			detail = "changes of this tool are always accepted"
		}
		b.recordEvent(s, k, it, EventAccepted, detail, &it.hash, &h)
		it.trust(h, definition)
	case it.waiting == nil || it.waiting.hash != h:
		fresh = true
		b.recordEvent(s, k, it, EventChanged, "", &it.hash, &h)
		it.waiting = &waiting{hash: h, at: now, definition: bounded(definition)}
		it.version++
	}
	it.present = true
	if it.waiting == nil && it.read != h || it.waiting != nil && !it.waiting.read {
		b.jobs = append(b.jobs, job{s.id, k, h, raw, fresh})
	}
	switch {
	case it.blocked:
		return "blocked by the user"
	case it.waiting == nil:
		return ""
	case s.mode == Block:
		return "it has changed since it was trusted, and changes of this server are blocked"
	}
	return "it has changed since it was trusted, and waits for the user to accept it"
}

func (b *Baseline) wakeWriter() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Run writes what changed and reads what is new, until ctx ends.
func (b *Baseline) Run(ctx context.Context) error {
	again := time.NewTimer(lookEvery)
	defer again.Stop()
	// What was offered in an earlier run was read then: a start has more urgent work.
	begin := time.NewTimer(readAfter)
	defer begin.Stop()
	select {
	case <-ctx.Done():
	case <-begin.C:
	}
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLimit)
			defer cancel()
			return ignored(b.Flush(last))
		case <-b.wake:
		case <-again.C:
		}
		b.readAll(ctx)
		again.Reset(lookEvery)
		if err := b.Flush(ctx); err != nil {
			b.o.Log.Warn("Cannot keep which tools are trusted", "error", err)
			again.Reset(10 * time.Second)
		}
		b.mu.Lock()
		touched := sorted(b.touched)
		clear(b.touched)
		b.mu.Unlock()
		for _, server := range touched {
			b.o.Changed(server)
		}
	}
}

// ignored drops an error at the end of a run, when nobody can do anything about it.
func ignored(error) error { return nil }
