package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"modernc.org/sqlite"
)

// Options configures a Store. Path is required.
type Options struct {
	Path string           // the database file; it and its folder are created if they do not exist
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // nil: time.Now
	// Notify is called with one sentence when recording stops or a file was replaced, and with ""
	// when recording has resumed. It must not block. It may be nil.
	Notify func(sentence string)
	Keep   RetentionLimits

	busyTimeout time.Duration // how long SQLite waits for a lock; 0: defaultBusyTimeout
}

const defaultBusyTimeout = 5 * time.Second

// Store is the database. Its methods are safe for concurrent use. Each part owns its state, and
// reaches the file only through database.
type Store struct {
	*database
	*calls
	*search
	*retention
	records
}

// database is the open file: it opens, replaces and closes it, and runs transactions and queries.
type database struct {
	opts          Options
	recorder      *Recorder
	reservedSpace reservedSpace
	timeouts      storeTimeouts
	writes        Timing // writes of batches
	queries       Timing
	// namesGen is incremented when a row of server, client, target, session or workspace may have
	// been deleted, before the transaction that deletes it is committed.
	namesGen atomic.Uint64
	// replaced counts how often the file was replaced by a new or another one.
	replaced  atomic.Uint64
	lateCalls atomic.Pointer[clockSetBackRange] // as stored in the file

	mu      sync.RWMutex // guards the fields below; read-locked while h is in use
	h       *handle      // nil if the file cannot be used; fault is the reason
	fault   fault
	cause   error // cause of fault, for the log
	suspect bool  // the file was found damaged, and is too large to be checked
	closed  bool
	// copyRulesOnOpen means that the next file opened has no recording rules and gets the current
	// ones.
	copyRulesOnOpen bool
}

// calls answers queries about calls, and keeps what users add to them.
type calls struct {
	*database
	search *search
}

// search keeps the full-text index, and packs older payloads.
type search struct {
	*database
	lastBlock atomic.Pointer[decompressedBlock]
}

// retention deletes calls: by age, size and number, and at the user's request.
type retention struct {
	*database
	keep           atomic.Pointer[RetentionLimits]
	heldCalls      atomic.Pointer[HeldCalls]
	clockSkew      clockSkew // accessed only by enforceRetention
	namesCleanedAt time.Time // accessed only by enforceRetention
}

// records keeps what is no call: catalogs, trusted definitions, checks, tasks, destinations.
type records struct{ *database }

// Open opens or creates the database at o.Path. A file that cannot be used is not an error:
// queries then fail with CodeUnavailable, and the Recorder reports the reason and retries. A
// damaged file is renamed and a new one is created.
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
	o.busyTimeout = cmp.Or(o.busyTimeout, defaultBusyTimeout)
	db := &database{opts: o, reservedSpace: reservedSpace{path: o.Path + ".reserved"}, timeouts: defaultTimeouts}
	index := &search{database: db}
	s := &Store{database: db, calls: &calls{db, index}, search: index, retention: &retention{database: db}, records: records{db}}
	s.SetRetentionLimits(o.Keep)
	s.recorder = newRecorder(s)
	if f := s.reopen(ctx); f != faultNone {
		s.recorder.setFault(f)
	} else if err := s.loadRecording(ctx); err != nil {
		o.Log.Error("Cannot read the recording rules", "error", err)
	}
	return s, nil
}

// ReplaceCount returns how often the file was replaced by a new or another one since Open. Data
// that was stored before is then gone.
func (s *database) ReplaceCount() uint64 { return s.replaced.Load() }

// Recorder returns the Store's recorder. Calls are written only while its Run is running.
func (s *database) Recorder() *Recorder { return s.recorder }

// reopen opens the file if it is not open, and replaces a damaged one.
func (s *database) reopen(ctx context.Context) fault {
	s.mu.RLock()
	fine := s.h != nil && s.fault == faultNone
	s.mu.RUnlock()
	if fine {
		return faultNone // without waiting for readers
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
			// SQLite also reports damage after a read that failed, so the file is read again.
			if intact, known := isIntact(ctx, s.opts.Path); !intact && (known || s.suspect) {
				s.replace(nil)
				s.suspect = false
			} else {
				s.suspect = !intact
			}
		}
	}
	return s.open(ctx)
}

// open opens the file, and replaces it by a new one if it is unusable. It must be called with s.mu
// held.
func (s *database) open(ctx context.Context) fault {
	h, err := openFile(ctx, s.opts.Path, s.opts.busyTimeout)
	if unusable(ctx, err) { // as in reopen
		h, err = openFile(ctx, s.opts.Path, s.opts.busyTimeout)
	}
	if unusable(ctx, err) && s.replace(err) {
		h, err = openFile(ctx, s.opts.Path, s.opts.busyTimeout)
	}
	if err == nil {
		var m *clockSetBackRange
		m, err = loadLateRange(ctx, h.read)
		s.lateCalls.Store(m)
	}
	if err == nil && s.copyRulesOnOpen {
		s.copyRecordingRules(ctx, h)
		s.copyRulesOnOpen = false
	}
	s.h, s.fault = h, faultOf(err)
	if err != nil && (s.cause == nil || s.cause.Error() != err.Error()) {
		s.opts.Log.Error("Cannot open history", "path", s.opts.Path, "error", err)
	}
	s.cause = err
	return s.fault
}

// integrityCheckTimeout limits a check during which nothing else can use the file.
const integrityCheckTimeout = 5 * time.Second

// isIntact checks the structure of a database. known is false if that takes too long or fails.
func isIntact(ctx context.Context, path string) (intact, known bool) {
	ctx, cancel := context.WithTimeout(ctx, integrityCheckTimeout)
	defer cancel()
	db, err := sql.Open("sqlite", dsn(path, "deferred", "query_only(on)"))
	if err != nil {
		return false, false
	}
	defer func() { _ = db.Close() }()
	var said string
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said)
	return err == nil && said == "ok", err == nil || faultOf(err) == faultDamaged
}

// broken reports whether the file must be reopened: it is not open, or was found damaged.
func (s *database) broken() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.h == nil || s.fault != faultNone
}

// unusable reports whether the file cannot be opened because of its content: it is damaged, or is
// not a history of this or a newer version.
func unusable(ctx context.Context, err error) bool {
	if errors.Is(err, errForeign) || errors.Is(err, errUnreleased) {
		return true
	}
	f := faultOf(err)
	if _, fromSQLite := errors.AsType[*sqlite.Error](err); f == faultOther && fromSQLite {
		return ctx.Err() == nil
	}
	return f == faultDamaged
}

// replace renames the file, which is damaged or, according to cause, not a history. It must be
// called with s.mu held.
func (s *database) replace(cause error) bool {
	why, sentence := "damaged", "the history file was damaged"
	if errors.Is(cause, errForeign) {
		why, sentence = "foreign", "the history file was not a Drawbridge history"
	} else if errors.Is(cause, errUnreleased) {
		why, sentence = "unreleased", "the history file was written by an unreleased build of Drawbridge"
	}
	aside, err := setAside(s.opts.Path, why, s.opts.Now())
	if err != nil {
		s.opts.Log.Error("Cannot rename the history file", "path", s.opts.Path, "why", why, "error", err)
		return false
	}
	s.opts.Log.Error("Cannot use the history file; created a new one", "why", why, "setAside", aside)
	s.replaced.Add(1)
	s.copyRulesOnOpen = true
	s.recorder.reportReplaced(sentence + "; it was renamed to " + filepath.Base(aside) + ", and a new one was created")
	return true
}

// withHandle calls f with the open file. It reopens the file first if it was deleted, moved or
// replaced, and schedules its replacement if f finds it damaged. It returns a *core.Error with
// CodeUnavailable if the file cannot be used.
func (s *database) withHandle(f func(*handle) error) error {
	s.reopenIfDisplaced()
	s.mu.RLock()
	if s.h == nil || s.fault != faultNone {
		sentence, hint := s.fault.message(), s.fault.hint()
		s.mu.RUnlock()
		if sentence == "" {
			sentence = "it is closed"
		}
		return &core.Error{Code: core.CodeUnavailable, Message: "cannot use the history: " + sentence, Hint: hint}
	}
	err := f(s.h)
	s.mu.RUnlock()
	if faultOf(err) == faultDamaged {
		s.mu.Lock()
		s.fault = faultDamaged
		s.mu.Unlock()
		s.opts.Log.Error("History is damaged", "error", err)
		s.recorder.signal()
	}
	return explainError(err)
}

// storeTimeouts contains the time limits of a Store.
type storeTimeouts struct {
	flush     time.Duration // how long a query waits for calls that were recorded just before
	read      time.Duration // limits every query, so that no reader blocks the checkpoint of the WAL
	retention time.Duration // interval of retention runs; 0: retentionInterval
}

var defaultTimeouts = storeTimeouts{flush: 200 * time.Millisecond, read: 5 * time.Second}

// Timing is the number and total duration of operations of one kind.
type Timing struct{ count, nanoseconds atomic.Int64 }

func (t *Timing) addSince(began time.Time) {
	t.count.Add(1)
	t.nanoseconds.Add(int64(time.Since(began)))
}

// Read returns the number of operations and their total duration.
func (t *Timing) Read() (count uint64, total time.Duration) {
	return uint64(t.count.Load()), time.Duration(t.nanoseconds.Load())
}

// WriteTiming returns the timing of all attempts to write a batch since the start.
func (s *database) WriteTiming() *Timing { return &s.writes }

// QueryTiming returns the timing of all queries since the start.
func (s *database) QueryTiming() *Timing { return &s.queries }

// query calls f with the open file and a context that ends after timeouts.read.
func (s *database) query(ctx context.Context, f func(context.Context, *handle) error) error {
	defer s.queries.addSince(time.Now())
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.read)
	defer cancel()
	return s.withHandle(func(h *handle) error { return f(ctx, h) })
}

// Close checkpoints the WAL and closes the file. Recorder.Run must have returned.
func (s *database) Close() error {
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
