package trust

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/store"
)

// Store keeps the records; *store.Store does.
type Store interface {
	Trust(ctx context.Context, server string) ([]store.Trusted, error)
	TrustedDefinition(ctx context.Context, server, kind, name string) ([]byte, error)
	SaveTrust(ctx context.Context, server string, list []store.Trusted, gone [][2]string, happened []store.TrustEvent) error
	TrustEvents(ctx context.Context, server string, before int64, limit int) ([]store.TrustEvent, int64, error)
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

// What an event says.
const (
	EventNew      = "new"      // trusted on first sight
	EventChanged  = "changed"  // no longer what was trusted: withheld
	EventAccepted = "accepted" // the new definition is trusted now
	EventBlocked  = "blocked"  // a person wants it withheld
	EventReturned = "returned" // it reads again as it did when it was trusted
	EventWarned   = "warned"
)

// Bounds.
const (
	maxEarlier    = 8         // definitions that were trusted before
	maxRecords    = 4000      // of one server, beyond which what it no longer lists is forgotten
	maxDefinition = 256 << 10 // bytes that are kept for people to compare
	maxEvents     = 2000      // that wait for the disk, of one server
	storeLimit    = 5 * time.Second
	lastLimit     = 2 * time.Second    // of the last write of a run
	newFor        = 7 * 24 * time.Hour // how long something counts as new
	perHour       = 20                 // events of one definition
)

// Book holds what is trusted. All methods may be called from any goroutine.
type Book struct {
	o    Options
	wake chan struct{}
	// saving is held while records are written, so that an older state never follows a newer one.
	saving sync.Mutex

	mu      sync.Mutex
	servers map[string]*shelf
	jobs    []job
	told    map[string]bool // warnings that the log has
	touched map[string]bool // servers whose people should look again
}

type key struct{ kind, name string }

// shelf is what is known of one server.
type shelf struct {
	id         string
	mode       string
	configured bool
	loaded     bool
	known      bool // it has been listed before
	items      map[key]*item
	gone       [][2]string
	events     []store.TrustEvent
	lost       int // events that found no room
}

// item is what is known of one definition.
type item struct {
	firstAt time.Time
	late    bool
	hash    Hash
	earlier []Hash
	always  bool
	blocked bool
	present bool // the server lists it now
	waiting *waiting

	definition []byte // to be saved with hash; nil: it is on disk
	version    int    // grows with every change
	saved      int    // the version that is on disk
	read       Hash   // the definition that warnings and mentions are of
	warnings   []Warning
	mentions   []string
	shadows    []Warning

	noted int // events in the hour that began at
	since time.Time
}

// waiting is a definition that waits for a person.
type waiting struct {
	hash       Hash
	at         time.Time
	definition []byte
	read       bool
	warnings   []Warning
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
func New(o Options) *Book {
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
	return &Book{o: o, wake: make(chan struct{}, 1), servers: map[string]*shelf{}, told: map[string]bool{}, touched: map[string]bool{}}
}

// Rule is what the configuration says of one server.
type Rule struct {
	Server string
	Mode   string // Ask, Accept or Block
	Launch Hash   // of command, arguments, names of variables and address; only the hash is kept
}

// Apply takes over the configuration. Servers that are not named keep their records.
func (b *Book) Apply(rules []Rule) {
	var again []string
	b.mu.Lock()
	named := map[string]bool{}
	for _, r := range rules {
		named[r.Server] = true
		s := b.shelf(r.Server)
		if s.configured && s.mode != r.Mode {
			again = append(again, r.Server)
		}
		s.configured, s.mode = true, r.Mode
		b.launch(s, r.Launch)
	}
	for id, s := range b.servers {
		if !named[id] {
			s.configured = false
		}
	}
	b.mu.Unlock()
	b.nudge()
	for _, id := range again {
		b.o.Rejudge(id)
	}
}

// launch notes that a server is started or reached in another way. Nothing is withheld
// for it here: a new command has its own approval, and the tools are compared anyway.
func (b *Book) launch(s *shelf, h Hash) {
	b.load(s)
	k := key{Server, ""}
	it := s.items[k]
	switch {
	case it == nil:
		s.items[k] = &item{firstAt: b.o.Now(), hash: h, version: 1}
	case it.hash != h:
		b.note(s, k, it, EventChanged, "it is started or reached in another way", &it.hash, &h)
		it.trust(h, nil)
	}
}

func (b *Book) shelf(server string) *shelf {
	s := b.servers[server]
	if s == nil {
		s = &shelf{id: server, mode: Ask, items: map[key]*item{}}
		b.servers[server] = s
	}
	return s
}

// load reads the records of a server once. While the disk cannot be read, what is seen is
// trusted for this run only, and the records count again as soon as they can be read.
func (b *Book) load(s *shelf) {
	if s.loaded {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	list, err := b.o.Store.Trust(ctx, s.id)
	if err != nil {
		b.o.Log.Warn("Cannot read which tools are trusted", "server", s.id, "error", err)
		return
	}
	s.loaded = true
	for _, t := range list {
		it := &item{firstAt: t.FirstAt, late: t.Late, always: t.Always, blocked: t.Blocked, version: 1, saved: 1}
		copy(it.hash[:], t.Hash)
		for n := 0; n+len(Hash{}) <= len(t.Earlier); n += len(Hash{}) {
			it.earlier = append(it.earlier, Hash(t.Earlier[n:n+len(Hash{})]))
		}
		if !t.WaitingAt.IsZero() {
			it.waiting = &waiting{at: t.WaitingAt, definition: t.Waiting}
			copy(it.waiting.hash[:], t.WaitingHash)
		}
		s.items[key{t.Kind, t.Name}] = it
		s.known = s.known || t.Kind != Server
	}
}

// Judge compares what a server offers with what is trusted. It returns the names of the
// tools that are to be withheld, each with the reason, and whether the instructions are.
// What is new is trusted from now on.
func (b *Book) Judge(server string, tools []hub.Item, instructions string) (withheld map[string]string, mute bool) {
	defer b.nudge()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.shelf(server)
	b.load(s)
	first := !s.known
	for _, it := range s.items {
		it.present = false
	}
	for _, tool := range tools {
		if why := b.see(s, key{Tool, tool.Name}, tool.Raw, canonical(tool.Raw), first); why != "" {
			if withheld == nil {
				withheld = map[string]string{}
			}
			withheld[tool.Name] = why
		}
	}
	if instructions != "" {
		mute = b.see(s, key{Instructions, ""}, []byte(instructions), []byte(instructions), first) != ""
	}
	if first && len(tools) > 0 {
		b.event(s, store.TrustEvent{At: b.o.Now(), Server: s.id, Kind: Server, What: EventNew, Detail: fmt.Sprintf("first seen, with %d tools", len(tools))})
	}
	s.known = s.known || len(tools) > 0 || instructions != ""
	b.forget(s)
	b.touched[server] = true
	return withheld, mute
}

// see judges one definition.
func (b *Book) see(s *shelf, k key, raw, definition []byte, first bool) (why string) {
	h, now := hashOf(definition), b.o.Now()
	it, fresh := s.items[k], false
	switch {
	case it == nil:
		it, fresh = &item{firstAt: now, late: !first, version: 1}, true
		it.hash, it.definition = h, bounded(definition)
		s.items[k] = it
		if !first {
			b.note(s, k, it, EventNew, "", nil, &h)
		}
	case it.hash == h:
		if it.waiting != nil {
			b.note(s, k, it, EventReturned, "", &it.waiting.hash, &h)
			it.waiting = nil
			it.version++
		}
	case slices.Contains(it.earlier, h):
		b.note(s, k, it, EventReturned, "a definition that was accepted before", &it.hash, &h)
		it.trust(h, definition)
	case (it.always || s.mode == Accept) && !it.blocked:
		fresh = true
		detail := "the configuration accepts changes of this server"
		if it.always {
			detail = "changes of this tool are always accepted"
		}
		b.note(s, k, it, EventAccepted, detail, &it.hash, &h)
		it.trust(h, definition)
	case it.waiting == nil || it.waiting.hash != h:
		fresh = true
		b.note(s, k, it, EventChanged, "", &it.hash, &h)
		it.waiting = &waiting{hash: h, at: now, definition: bounded(definition)}
		it.version++
	}
	it.present = true
	if it.waiting == nil && it.read != h || it.waiting != nil && !it.waiting.read {
		b.jobs = append(b.jobs, job{s.id, k, h, raw, fresh})
	}
	switch {
	case it.blocked:
		return "a person has blocked it"
	case it.waiting == nil:
		return ""
	case s.mode == Block:
		return "it has changed since it was trusted, and changes of this server are blocked"
	}
	return "it has changed since it was trusted, and waits for a person to accept it"
}

// trust makes h what is trusted.
func (it *item) trust(h Hash, definition []byte) {
	if it.hash != h {
		it.earlier = slices.DeleteFunc(append(it.earlier, it.hash), func(old Hash) bool { return old == h })
		it.earlier = it.earlier[max(0, len(it.earlier)-maxEarlier):]
	}
	it.hash, it.definition, it.waiting = h, bounded(definition), nil
	it.version++
}

func bounded(definition []byte) []byte {
	return slices.Clone(definition[:min(len(definition), maxDefinition)])
}

// note keeps an event of one definition. One that changes all the time is noted now and then.
func (b *Book) note(s *shelf, k key, it *item, what, detail string, old, new *Hash) {
	now := b.o.Now()
	if now.Sub(it.since) >= time.Hour {
		it.since, it.noted = now, 0
	}
	if it.noted++; it.noted > perHour {
		return
	}
	e := store.TrustEvent{At: now, Server: s.id, Kind: k.kind, Name: k.name, What: what, Detail: detail}
	if old != nil {
		e.OldHash = slices.Clone(old[:])
	}
	if new != nil {
		e.NewHash = slices.Clone(new[:])
	}
	b.event(s, e)
}

func (b *Book) event(s *shelf, e store.TrustEvent) {
	if len(s.events) >= maxEvents {
		s.lost++
		return
	}
	s.events = append(s.events, e)
}

// forget bounds what is kept of a server that lists ever new names.
func (b *Book) forget(s *shelf) {
	if len(s.items) <= maxRecords {
		return
	}
	for k, it := range s.items {
		if !it.present && !it.blocked && k.kind == Tool {
			delete(s.items, k)
			s.gone = append(s.gone, [2]string{k.kind, k.name})
		}
	}
}

func (b *Book) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Run writes what changed and reads what is new, until ctx ends.
func (b *Book) Run(ctx context.Context) error {
	again := time.NewTimer(time.Hour)
	defer again.Stop()
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

// Flush writes what is not on disk.
func (b *Book) Flush(ctx context.Context) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	ids := sorted(b.servers)
	b.mu.Unlock()
	var failed error
	for _, id := range ids {
		if err := b.flush(ctx, id); err != nil {
			failed = err
		}
	}
	return failed
}

func (b *Book) flush(ctx context.Context, id string) error {
	type written struct {
		item    *item
		version int
	}
	b.mu.Lock()
	s := b.servers[id]
	if !s.loaded { // its records are not known: nothing may take their place
		b.load(s)
	}
	if !s.loaded {
		b.mu.Unlock()
		return nil
	}
	var list []store.Trusted
	var marks []written
	for k, it := range s.items {
		if it.version == it.saved {
			continue
		}
		list = append(list, it.stored(k))
		marks = append(marks, written{it, it.version})
	}
	gone, events := slices.Clone(s.gone), slices.Clone(s.events)
	b.mu.Unlock()
	if len(list) == 0 && len(gone) == 0 && len(events) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	if err := b.o.Store.SaveTrust(ctx, id, list, gone, events); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range marks {
		w.item.saved = w.version
		if w.item.version == w.version {
			w.item.definition = nil
		}
	}
	s.gone, s.events = s.gone[len(gone):], s.events[len(events):]
	return nil
}

func (it *item) stored(k key) store.Trusted {
	t := store.Trusted{
		Kind: k.kind, Name: k.name, FirstAt: it.firstAt, Late: it.late, Hash: slices.Clone(it.hash[:]),
		Always: it.always, Blocked: it.blocked, Definition: it.definition,
	}
	for _, h := range it.earlier {
		t.Earlier = append(t.Earlier, h[:]...)
	}
	if w := it.waiting; w != nil {
		t.WaitingAt, t.WaitingHash, t.Waiting = w.at, slices.Clone(w.hash[:]), w.definition
	}
	return t
}
