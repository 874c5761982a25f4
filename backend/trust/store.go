package trust

import (
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Store persists the trust records. *store.Store implements it.
type Store interface {
	Trust(ctx context.Context, server string) ([]store.Trusted, error)
	TrustedDefinition(ctx context.Context, server, kind, name string) ([]byte, error)
	SaveTrust(ctx context.Context, server string, list []store.Trusted, gone [][2]string, happened []store.TrustEvent) error
	TrustEvents(ctx context.Context, server string, before int64, limit int) ([]store.TrustEvent, int64, error)
	// ReplaceCount returns how many times the database file was quarantined and replaced by a new
	// one.
	ReplaceCount() uint64
}

type itemKey struct{ kind, name string }

type serverRecords struct {
	id            string
	mode          string
	configured    bool
	loaded        bool
	known         bool   // tools or instructions of the server have been seen
	retired       bool   // no longer configured
	epoch         uint64 // Store.ReplaceCount when the records were last in sync with the file
	items         map[itemKey]*record
	deleted       [][2]string
	events        []store.TrustEvent
	droppedEvents int // events dropped because of maxEvents
}

type record struct {
	firstAt        time.Time
	addedLater     bool
	hash           Hash
	previousHashes []Hash
	always         bool
	blocked        bool
	present        bool // in the server's current list
	pending        *pendingChange

	definition     []byte // trusted definition, nil when saved
	version        int    // incremented by every change
	saved          int    // version on disk
	definitionLost bool   // the definition was in a quarantined file
	scannedHash    Hash   // hash of the definition that warnings and mentions belong to
	warnings       []Warning
	mentions       []string
	shadows        []Warning

	eventsInHour int // events recorded in the hour from since
	hourStart    time.Time
}

type pendingChange struct {
	hash       Hash
	at         time.Time
	definition []byte
	scanned    bool
	warnings   []Warning
}

// load reads the records of a server on first use. While they cannot be read, first-seen
// definitions are trusted in memory only, and the records apply as soon as they can be read. The
// caller must hold b.mu.
func (b *Baseline) load(s *serverRecords) {
	if s.loaded {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	epoch := b.opts.Store.ReplaceCount()
	list, err := b.opts.Store.Trust(ctx, s.id)
	if err != nil {
		b.opts.Log.Warn("Cannot read the trusted tools", "server", s.id, "error", err)
		return
	}
	s.loaded, s.epoch = true, epoch
	for _, t := range list {
		it := &record{firstAt: t.FirstAt, addedLater: t.AddedLater, always: t.Always, blocked: t.Blocked, version: 1, saved: 1}
		copy(it.hash[:], t.Hash)
		for n := 0; n+len(Hash{}) <= len(t.PreviousHashes); n += len(Hash{}) {
			it.previousHashes = append(it.previousHashes, Hash(t.PreviousHashes[n:n+len(Hash{})]))
		}
		if !t.PendingAt.IsZero() {
			it.pending = &pendingChange{at: t.PendingAt, definition: t.PendingDefinition}
			copy(it.pending.hash[:], t.PendingHash)
		}
		s.items[itemKey{t.Kind, t.Name}] = it
		s.known = s.known || t.Kind != Server
	}
}

func (it *record) trust(h Hash, definition []byte) {
	if it.hash != h {
		it.previousHashes = slices.DeleteFunc(append(it.previousHashes, it.hash), func(old Hash) bool { return old == h })
		it.previousHashes = it.previousHashes[max(0, len(it.previousHashes)-maxPreviousHashes):]
	}
	it.hash, it.definition, it.pending, it.definitionLost = h, truncateDefinition(definition), nil, false
	it.version++
}

func truncateDefinition(definition []byte) []byte {
	return slices.Clone(definition[:min(len(definition), maxDefinition)])
}

// trimAbsentRecords limits the records of items that a server no longer lists to maxRecords. The newest
// records are deleted first: a server that lists thousands of names for a moment must not cause the
// deletion of older records, because their tools would then be trusted again on first use.
func (b *Baseline) trimAbsentRecords(s *serverRecords) {
	if len(s.items) <= maxRecords {
		return
	}
	var absent []itemKey
	for k, it := range s.items {
		if !it.present && !it.blocked && k.kind != Server && k.kind != Instructions {
			absent = append(absent, k)
		}
	}
	slices.SortFunc(absent, func(x, y itemKey) int { return s.items[y].firstAt.Compare(s.items[x].firstAt) })
	for _, k := range absent[:max(0, len(absent)-maxRecords)] {
		delete(s.items, k)
		s.deleted = append(s.deleted, [2]string{k.kind, k.name})
	}
}

// Flush saves all unsaved records and events. It returns after storeTimeout at the latest.
func (b *Baseline) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := b.beginSaving(ctx); err != nil {
		return err
	}
	defer b.endSaving()
	b.mu.Lock()
	ids := sortedKeys(b.servers)
	b.mu.Unlock()
	var failed error
	for _, id := range ids {
		if err := b.flushServer(ctx, id); err != nil {
			failed = err
		}
	}
	return failed
}

func (b *Baseline) beginSaving(ctx context.Context) error {
	select {
	case b.saving <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Baseline) endSaving() { <-b.saving }

func (b *Baseline) flushServer(ctx context.Context, id string) error {
	type written struct {
		item    *record
		version int
	}
	b.mu.Lock()
	s := b.servers[id]
	if s == nil {
		b.mu.Unlock()
		return nil
	}
	if !s.loaded { // unknown records must not be overwritten
		b.load(s)
	}
	if !s.loaded {
		b.mu.Unlock()
		return nil
	}
	if epoch := b.opts.Store.ReplaceCount(); s.epoch != epoch {
		s.epoch = epoch
		s.markUnsaved()
	}
	var list []store.Trusted
	var marks []written
	for k, it := range s.items {
		if it.version == it.saved {
			continue
		}
		list = append(list, it.toStore(k))
		marks = append(marks, written{it, it.version})
	}
	gone, events := slices.Clone(s.deleted), slices.Clone(s.events)
	if len(list) == 0 && len(gone) == 0 && len(events) == 0 {
		b.retire(s)
		b.mu.Unlock()
		return nil
	}
	b.mu.Unlock()
	if err := b.opts.Store.SaveTrust(ctx, id, list, gone, events); err != nil {
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
	s.deleted, s.events = s.deleted[len(gone):], s.events[len(events):]
	return nil
}

// markUnsaved marks all records as unsaved after the database file was quarantined, so that they
// are written to the new file. Definitions that are not in memory are missing until the server
// lists them again.
func (s *serverRecords) markUnsaved() {
	for _, it := range s.items {
		it.saved, it.definitionLost = 0, it.definition == nil
	}
}

// retire drops a server from memory that is no longer configured and whose records are all saved.
// If it is configured again, they are loaded from disk, under its name at that time. The caller
// must hold b.mu.
func (b *Baseline) retire(s *serverRecords) {
	if s.retired {
		delete(b.servers, s.id)
	}
}

// Rename calls move, which renames a server's records on disk. No records are written during the
// call, and the records of the new name are loaded from disk afterwards.
func (b *Baseline) Rename(ctx context.Context, from, to string, move func() error) error {
	if err := b.beginSaving(ctx); err != nil {
		return err
	}
	defer b.endSaving()
	for _, id := range []string{from, to} {
		if err := b.flushServer(ctx, id); err != nil {
			return err
		}
	}
	if err := move(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.servers, to) // records of an earlier server of that name
	return nil
}

func (it *record) toStore(k itemKey) store.Trusted {
	t := store.Trusted{
		Kind: k.kind, Name: k.name, FirstAt: it.firstAt, AddedLater: it.addedLater, Hash: slices.Clone(it.hash[:]),
		Always: it.always, Blocked: it.blocked, Definition: it.definition,
	}
	for _, h := range it.previousHashes {
		t.PreviousHashes = append(t.PreviousHashes, h[:]...)
	}
	if w := it.pending; w != nil {
		t.PendingAt, t.PendingHash, t.PendingDefinition = w.at, slices.Clone(w.hash[:]), w.definition
	}
	return t
}
