package store

import (
	"context"
	"database/sql"
	_ "embed" // for schema
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

const (
	applicationID = 0x44426467 // "DBdg", stored in the file header
	readers       = 4
	idleReaders   = 2
)

// errNewer means that the schema of the file is newer than this program.
var errNewer = errors.New("the history was written by a newer version of Drawbridge")

// errUnreleased means that a build before the first release wrote the file.
var errUnreleased = errors.New("the history was written by an unreleased build of Drawbridge")

// errForeign means that the file at the path is not a history of Drawbridge.
var errForeign = errors.New("it is not a Drawbridge history file")

// handle is an open database. Its pools are closed together.
type handle struct {
	write, read *sql.DB
	writeCalls  *sql.DB    // for new calls and their index, by the goroutine that holds the connection of write
	prepared    statements // of calls
	insert      inserter   // of calls
	unindexed   keptQuery  // of search.indexStep
	files       fileIdentity
}

func (h *handle) close() error {
	return errors.Join(h.read.Close(), h.writeCalls.Close(), h.write.Close())
}

// openFile opens or creates the database. Its connections wait up to busyTimeout for a lock held by
// another connection.
func openFile(ctx context.Context, path string, busyTimeout time.Duration) (*handle, error) {
	file, err := createPrivate(path)
	if err != nil {
		return nil, err
	}
	if file.Size() == 0 {
		if err := createFile(ctx, path); err != nil {
			return nil, err
		}
	}
	busy := fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())
	// temp_store(memory): statements that insert many rows write a statement journal, which would
	// be a file. The cache of a writing connection is small: pages that it lacks are read from the
	// page cache of the system, which costs nothing measurable.
	pragmas := []string{busy, "temp_store(memory)", "journal_mode(wal)", "synchronous(normal)", "secure_delete(fast)", "journal_size_limit(67108864)",
		"cache_size(-1024)", "trusted_schema(off)", "cell_size_check(on)"}
	write, err := sql.Open("sqlite", dsn(path, "immediate", append(slices.Clone(pragmas), "foreign_keys(on)")...))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	if err := prepareSchema(ctx, write); err != nil {
		_ = write.Close()
		return nil, err
	}
	read, err := sql.Open("sqlite", dsn(path, "deferred",
		busy, "query_only(on)", "cache_size(-4096)", "trusted_schema(off)", "cell_size_check(on)"))
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(idleReaders)
	read.SetConnMaxIdleTime(time.Minute)
	calls, err := sql.Open("sqlite", dsn(path, "immediate", pragmas...)) // connects when the first batch is written
	if err != nil {
		return nil, errors.Join(err, write.Close(), read.Close())
	}
	calls.SetMaxOpenConns(1)
	h := &handle{write: write, read: read, writeCalls: calls, unindexed: keptQuery{text: unindexedCalls}}
	// Read the newest rows: the file may be damaged although its first page is valid.
	var n int
	if err := read.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT c.id, b.reason FROM call c JOIN body b USING (id) ORDER BY c.id DESC LIMIT 20)`).Scan(&n); err != nil {
		_ = h.close()
		return nil, err
	}
	h.files = identify(path, file)
	return h, nil
}

// createFile creates the tables of a new file through a connection of its own, which waits for the disk only
// once. auto_vacuum is effective only before the first table is created.
func createFile(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "immediate", "synchronous(off)", "auto_vacuum(incremental)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := errors.Join(prepareSchema(ctx, db), db.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func dsn(path, lock string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // C:/...
	}
	q := url.Values{"_txlock": {lock}, "_pragma": pragmas}
	u.RawQuery = q.Encode()
	return u.String()
}

// createPrivate creates the database file with mode 0600 before SQLite opens it, because SQLite
// would create it readable for others. SQLite gives the files beside it the same mode. It returns
// the state of the file before it is opened, or errForeign if the path is a folder, a pipe or a
// device.
func createPrivate(path string) (fs.FileInfo, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errForeign
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	return info, err
}

// setAside renames a database and its WAL files, so that a new one can be created and the old one
// can be recovered by hand. The new name contains why and now. It returns the new path.
func setAside(path, why string, now time.Time) (string, error) {
	aside := fmt.Sprintf("%s.%s-%s", path, why, now.UTC().Format("20060102T150405.000Z"))
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	for _, suffix := range databaseSuffixes[1:] {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// schema creates all tables. Nothing has been released with another one: after a release, a change
// needs a step from each schemaVersion to the next.
//
//go:embed schema.sql
var schema string

const schemaVersion = 1

// prepareSchema creates the tables of a new file, in one transaction. It changes nothing and returns
// errForeign for the database of another program, errNewer for that of a newer version and
// errUnreleased for that of a build before the first release.
func prepareSchema(ctx context.Context, db *sql.DB) error {
	var id, version, tables int
	if err := db.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%')
		FROM pragma_application_id(), pragma_user_version()`).Scan(&id, &version, &tables); err != nil {
		return err
	}
	switch {
	case tables > 0 && id != applicationID:
		return errForeign
	case version > schemaVersion:
		return fmt.Errorf("%w (schema %d; this version supports %d)", errNewer, version, schemaVersion)
	case version == schemaVersion:
		return nil
	case tables > 0:
		return errUnreleased
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;\n%s", applicationID, schemaVersion, schema))
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// fileIdentity identifies the files that a handle has open. SQLite continues to write to files
// that were deleted or moved, without an error, and those writes would be lost.
type fileIdentity struct {
	path          string
	database, wal fs.FileInfo // wal is nil if the WAL file did not exist
}

// identify returns the identity of the files at path. It must be called right after the database
// was opened; database is the file that was opened.
func identify(path string, database fs.FileInfo) fileIdentity {
	id := fileIdentity{path: path, database: database}
	if info, err := os.Stat(path + "-wal"); err == nil {
		id.wal = info
	}
	return id
}

// displacement describes what happened to the files of an open database.
type displacement uint8

const (
	inPlace         displacement = iota
	walRemoved                   // the WAL file was deleted or replaced
	removed                      // no file exists at the path
	replacedByOther              // another file exists at the path
)

// compare reports whether the files at the path are still the ones that are open. It returns
// inPlace if it cannot determine that, for example because the folder cannot be read.
func (id fileIdentity) compare() displacement {
	switch compareFile(id.path, id.database) {
	case removed:
		return removed
	case replacedByOther:
		return replacedByOther
	}
	if id.wal != nil && compareFile(id.path+"-wal", id.wal) != inPlace {
		return walRemoved
	}
	return inPlace
}

func compareFile(path string, was fs.FileInfo) displacement {
	info, err := os.Stat(path)
	switch {
	case err == nil && !os.SameFile(was, info):
		return replacedByOther
	case errors.Is(err, fs.ErrNotExist), isNotDir(err):
		return removed
	}
	return inPlace
}

// removeWAL deletes the WAL file that the closed database left at the path. Its content was
// checkpointed, and a new database at the path would apply it to itself.
func (id fileIdentity) removeWAL() {
	if id.wal != nil && compareFile(id.path+"-wal", id.wal) == inPlace {
		_ = os.Remove(id.path + "-wal")
	}
}

// reopenIfDisplaced reopens the database if its file was deleted, moved or replaced, so that no
// calls are written to a file that can no longer be found.
func (s *database) reopenIfDisplaced() {
	s.mu.RLock()
	fine := s.h == nil || s.fault != faultNone || s.h.files.compare() == inPlace
	s.mu.RUnlock()
	if fine {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.h == nil || s.fault != faultNone {
		return
	}
	what := s.h.files.compare()
	if what == inPlace {
		return // another goroutine has reopened it
	}
	s.closeDisplaced()
	s.copyRulesOnOpen = what != walRemoved
	if s.open(ctx) != faultNone {
		s.recorder.signal() // the recorder retries
	}
	if what == walRemoved {
		s.opts.Log.Warn("The write-ahead log of the history was removed; its contents were saved.", "path", s.opts.Path)
		return
	}
	sentence := "the history file was removed while Drawbridge was running; a new one was created"
	if what == replacedByOther {
		sentence = "the history file was replaced while Drawbridge was running; the new one is used"
	}
	s.opts.Log.Error("History file was removed or replaced", "path", s.opts.Path)
	s.replaced.Add(1)
	s.recorder.reportReplaced(sentence)
}

// closeDisplaced closes the files that are no longer at the path, after a checkpoint of the WAL:
// if the database was moved, the moved file is complete. It must be called with s.mu held.
func (s *database) closeDisplaced() {
	_ = s.h.read.Close()
	if _, err := s.h.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		s.opts.Log.Error("Cannot complete the history file that was removed or replaced", "path", s.opts.Path, "error", err)
	}
	_ = s.h.close()
	s.h.files.removeWAL()
	s.h = nil
	s.namesGen.Add(1)
}

// copyRecordingRules copies the recording rules into a newly created database, so that calls
// excluded from recording are still excluded after a restart. It must be called with s.mu held.
func (s *database) copyRecordingRules(ctx context.Context, h *handle) {
	rules := s.Recording()
	if !rules.Paused && len(rules.Rules) == 0 {
		return
	}
	document, err := json.Marshal(rules)
	if err == nil {
		_, err = h.write.ExecContext(ctx, upsertMetadata, recordingKey, document, s.opts.Now().UnixMicro())
	}
	if err != nil {
		s.opts.Log.Error("Cannot save recording rules", "error", err)
	}
}

type transaction struct {
	*sql.Tx
	statements *statements // nil if none are kept
	lock       *sql.Conn   // released by Rollback; nil if the transaction is on the connection of write
}

// PrepareContext returns a statement, which the transaction closes. If the transaction keeps
// statements, text must be one of a few constants.
func (tx *transaction) PrepareContext(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := tx.statements; s != nil {
		if stmt := s.kept[text]; stmt != nil {
			return tx.StmtContext(ctx, stmt), nil
		}
		if !slices.Contains(s.missing, text) {
			s.missing = append(s.missing, text)
		}
	}
	return tx.Tx.PrepareContext(ctx, text)
}

// Rollback must be called at the end, also after Commit.
func (tx *transaction) Rollback() error {
	err := tx.Tx.Rollback()
	if tx.lock != nil {
		_ = tx.lock.Close()
	}
	return err
}

func (h *handle) begin(ctx context.Context) (*transaction, error) {
	tx, err := h.write.BeginTx(ctx, nil)
	return &transaction{Tx: tx}, err
}

// beginCalls begins a transaction for new calls or their index, without foreign key checks and with
// statements that stay prepared: parsing them takes as long as inserting dozens of calls, and
// checking the keys of a call a fifth of the time of inserting it. The transaction must look up or
// insert the rows that its rows refer to.
func (h *handle) beginCalls(ctx context.Context) (*transaction, error) {
	lock, err := h.write.Conn(ctx) // SQLite would let the two connections wait with longer and longer sleeps
	if err != nil {
		return nil, err
	}
	if err = h.prepared.prepareMissing(ctx, h.writeCalls); err == nil {
		var tx *sql.Tx
		if tx, err = h.writeCalls.BeginTx(ctx, nil); err == nil {
			return &transaction{tx, &h.prepared, lock}, nil
		}
	}
	return nil, errors.Join(err, lock.Close())
}

// statements are statements that are kept prepared on a pool with one connection. The connection of
// write guards them.
type statements struct {
	kept    map[string]*sql.Stmt
	missing []string // were used, but could not be kept while a transaction occupied the connection
}

func (s *statements) prepareMissing(ctx context.Context, db *sql.DB) error {
	if s.kept == nil {
		s.kept = make(map[string]*sql.Stmt)
	}
	for len(s.missing) > 0 {
		stmt, err := db.PrepareContext(ctx, s.missing[0])
		if err != nil {
			return err
		}
		s.kept[s.missing[0]], s.missing = stmt, s.missing[1:]
	}
	return nil
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// keptQuery is a query that stays prepared, because parsing it takes longer than its usual rows.
type keptQuery struct {
	text string
	mu   sync.Mutex
	stmt *sql.Stmt // nil before its first use
}

func (k *keptQuery) on(ctx context.Context, db *sql.DB) (preparedQuery, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stmt == nil {
		stmt, err := db.PrepareContext(ctx, k.text)
		if err != nil {
			return preparedQuery{}, err
		}
		k.stmt = stmt
	}
	return preparedQuery{k.stmt}, nil
}

// preparedQuery is a queryer that ignores the text.
type preparedQuery struct{ *sql.Stmt }

func (p preparedQuery) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return p.Stmt.QueryContext(ctx, args...)
}

func (p preparedQuery) QueryRowContext(ctx context.Context, _ string, args ...any) *sql.Row {
	return p.Stmt.QueryRowContext(ctx, args...)
}

type scanner interface{ Scan(...any) error }

// errEnough is returned by a function passed to eachRow to skip the remaining rows.
var errEnough = errors.New("no more rows are needed")

func eachRow(ctx context.Context, db queryer, f func(scanner) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// queryIDs returns the ids that a query selects, for use as arguments of another query.
func queryIDs(ctx context.Context, db queryer, query string, args ...any) (ids []any, err error) {
	err = eachRow(ctx, db, func(row scanner) error {
		var id int64
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, query, args...)
	return ids, err
}

func placeholders(n int) string { return `?` + strings.Repeat(`,?`, n-1) }

func (s *database) queryRows(ctx context.Context, f func(scanner) error, query string, args ...any) error {
	return s.query(ctx, func(ctx context.Context, h *handle) error { return eachRow(ctx, h.read, f, query, args...) })
}

// queryRow scans the first row of a query. found is false if there is none.
func (s *database) queryRow(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, query, args...).Scan(into...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// exec executes one statement as a write transaction of at most writeLimit.
func (s *database) exec(ctx context.Context, stmt string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return s.withHandle(func(h *handle) error {
		_, err := h.write.ExecContext(ctx, stmt, args...)
		return err
	})
}

// transact runs f in one write transaction of at most writeLimit. It commits if f returns nil, and
// rolls back otherwise.
func (s *database) transact(ctx context.Context, f func(context.Context, *transaction) error) error {
	return s.transactOn(ctx, (*handle).begin, f)
}

func (s *database) transactOn(ctx context.Context, begin func(*handle, context.Context) (*transaction, error), f func(context.Context, *transaction) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return s.withHandle(func(h *handle) error {
		tx, err := begin(h, ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := f(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}
