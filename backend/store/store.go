package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"modernc.org/sqlite"
)

// Options are what a Store works with. Path is needed.
type Options struct {
	Path string           // the database file; its folder is made when it is not there
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // nil: time.Now
	// Notify is told one sentence whenever recording stops or a file was set aside,
	// and "" when all is well again. It must not block. May be nil.
	Notify func(sentence string)
	Keep   RetentionLimits

	busyTimeout time.Duration // how long SQLite waits for the lock of the file; 0: usualBusyTimeout
}

const usualBusyTimeout = 5 * time.Second

// Store is the database. All methods may be called from any goroutine.
type Store struct {
	o             Options
	recorder      *Recorder
	keep          atomic.Pointer[RetentionLimits]
	reservedSpace reservedSpace
	timeouts      storeTimeouts
	writes        Timing // batches of calls
	queries       Timing
	// renamed grows whenever a row of server, client, target, session or workspace may
	// have gone: before the transaction that deletes it ends.
	renamed atomic.Uint64
	// replaced counts how often the file was set aside and a new one begun.
	replaced atomic.Uint64
	// past grows whenever sums of spans that are over may have changed: after the
	// transaction that does it has ended.
	past      atomic.Uint64
	opened    atomic.Pointer[openBlock]
	late      atomic.Pointer[lateRange] // as the file has it
	unindexed unindexedWords
	usage     resultCache[usageSums]
	counts    resultCache[counts]
	clockSkew clockSkew // only tidy uses it

	namesTidied time.Time // only tidy uses it

	held atomic.Pointer[Held]

	mu     sync.RWMutex // guards the fields below; held for reading while h is in use
	h      *handle      // nil: cannot be used, for the reason in fault
	fault  fault
	cause  error // behind fault, for the log
	closed bool
	// displaced says that the next file that is opened begins without the recording rules.
	displaced bool
}

// Open opens the database at o.Path, or makes it. A file that cannot be used is no
// error: the Store then has nothing to show, the Recorder says why and tries again. A
// damaged file is set aside under another name and a new one begun.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("store: no path")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	o.Path = path
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	o.busyTimeout = cmp.Or(o.busyTimeout, usualBusyTimeout)
	s := &Store{o: o, reservedSpace: reservedSpace{path: o.Path + ".ballast"}, timeouts: usualPatience}
	s.SetKeep(o.Keep)
	s.recorder = newRecorder(s)
	if f := s.reopen(ctx); f != faultNone {
		s.recorder.setFault(f)
	} else if err := s.loadRecording(ctx); err != nil {
		o.Log.Error("Cannot read what is to be recorded", "error", err)
	}
	return s, nil
}

// Replaced counts how often the file was set aside and a new one begun since Open: what anybody
// has kept there before is gone.
func (s *Store) Replaced() uint64 { return s.replaced.Load() }

// Recorder returns the Store's recorder. Its Run must be running for calls to be kept.
func (s *Store) Recorder() *Recorder { return s.recorder }

// reopen opens the file if it is not open, and sets a damaged one aside.
func (s *Store) reopen(ctx context.Context) fault {
	s.mu.RLock()
	fine := s.h != nil && s.fault == faultNone
	s.mu.RUnlock()
	if fine {
		return faultNone // without waiting for those who read
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return faultOther
	}
	if s.h != nil && s.fault == faultNone {
		return faultNone
	}
	if s.h != nil {
		_ = s.h.close()
		s.h = nil
		if s.fault == faultDamaged {
			s.replace(nil)
		}
	}
	return s.open(ctx)
}

// open opens the file, and begins a new one in place of one that is unusable. It must be called with s.mu held.
func (s *Store) open(ctx context.Context) fault {
	h, err := openFile(ctx, s.o.Path, s.o.busyTimeout)
	if unusable(ctx, err) && s.replace(err) {
		h, err = openFile(ctx, s.o.Path, s.o.busyTimeout)
	}
	if err == nil {
		var m *lateRange
		m, err = loadLateRange(ctx, h.read)
		s.late.Store(m)
	}
	if err == nil && s.displaced {
		s.keepRecording(ctx, h)
		s.displaced = false
	}
	s.h, s.fault = h, faultOf(err)
	if err != nil && (s.cause == nil || s.cause.Error() != err.Error()) {
		s.o.Log.Error("Cannot open history", "path", s.o.Path, "error", err)
	}
	s.cause = err
	return s.fault
}

// broken reports whether the file needs care: it is not open, or was found damaged.
func (s *Store) broken() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.h == nil || s.fault != faultNone
}

// unusable reports whether the file itself is why it cannot be opened: it is damaged,
// or something else of the same name.
func unusable(ctx context.Context, err error) bool {
	if errors.Is(err, errForeign) {
		return true
	}
	f := faultOf(err)
	if _, fromSQLite := errors.AsType[*sqlite.Error](err); f == faultOther && fromSQLite {
		return ctx.Err() == nil
	}
	return f == faultDamaged
}

// replace sets the file aside that is damaged, or as cause says no history. It must be called with s.mu held.
func (s *Store) replace(cause error) bool {
	why, sentence := "damaged", "the history file was damaged"
	if errors.Is(cause, errForeign) {
		why, sentence = "foreign", "what stood in the place of the history was none of Drawbridge's"
	}
	aside, err := setAside(s.o.Path, why, s.o.Now())
	if err != nil {
		s.o.Log.Error("Cannot set history aside", "path", s.o.Path, "why", why, "error", err)
		return false
	}
	s.o.Log.Error("History cannot be used, a new one begins", "why", why, "setAside", aside)
	s.replaced.Add(1)
	s.displaced = true
	s.recorder.noteReplaced(sentence + "; it was set aside as " + filepath.Base(aside) + " and a new one begun")
	return true
}

// withHandle runs f with the open file. A damaged file is noticed here, whoever meets it, and so is
// one that was removed or replaced: f then gets what is at the path now.
func (s *Store) withHandle(f func(*handle) error) error {
	s.followPath()
	s.mu.RLock()
	if s.h == nil || s.fault != faultNone {
		sentence := s.fault.sentence()
		s.mu.RUnlock()
		if sentence == "" {
			sentence = "it is closed"
		}
		return core.Errorf(core.CodeUnavailable, "the history cannot be used: %s", sentence)
	}
	err := f(s.h)
	s.mu.RUnlock()
	if faultOf(err) == faultDamaged {
		s.mu.Lock()
		s.fault = faultDamaged
		s.mu.Unlock()
		s.o.Log.Error("History is damaged", "error", err)
		s.recorder.wakeUp()
	}
	return explainError(err)
}

// storeTimeouts is how long things may take.
type storeTimeouts struct {
	flush time.Duration // a question waits so long for calls that were recorded just before it
	read  time.Duration // bounds every query, so that no reader keeps the log of changes from being folded back into the file
	tidy  time.Duration // between two looks at the bounds of the history; 0: tidyEvery
}

var usualPatience = storeTimeouts{flush: 200 * time.Millisecond, read: 5 * time.Second}

// Timing counts how often something was done, and how long that took in all.
type Timing struct{ count, nanoseconds atomic.Int64 }

func (t *Timing) since(began time.Time) {
	t.count.Add(1)
	t.nanoseconds.Add(int64(time.Since(began)))
}

// Read returns both.
func (t *Timing) Read() (count uint64, total time.Duration) {
	return uint64(t.count.Load()), time.Duration(t.nanoseconds.Load())
}

// Writes are the batches of calls that were written, or not, since the start.
func (s *Store) Writes() *Timing { return &s.writes }

// Queries are the questions that were asked since the start.
func (s *Store) Queries() *Timing { return &s.queries }

// query is use for one reading question.
func (s *Store) query(ctx context.Context, f func(context.Context, *handle) error) error {
	defer s.queries.since(time.Now())
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.read)
	defer cancel()
	return s.withHandle(func(h *handle) error { return f(ctx, h) })
}

// Close folds the log of changes into the file and closes it. Run of the Recorder
// must have returned.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.h == nil {
		return nil
	}
	h := s.h
	s.h = nil
	if s.fault == faultNone {
		_ = h.read.Close()
		_, _ = h.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	return h.close()
}
