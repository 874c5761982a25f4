package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	busy := fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())
	pragmas := []string{busy}
	if file.Size() == 0 {
		pragmas = append(pragmas, "auto_vacuum(incremental)") // effective only before the first table is created
	}
	// temp_store(memory): statements that insert many rows write a statement journal, which would
	// be a file. The cache of a writing connection is small: pages that it lacks are read from the
	// page cache of the system, which costs nothing measurable.
	pragmas = append(pragmas, "temp_store(memory)", "journal_mode(wal)", "synchronous(normal)", "secure_delete(fast)", "journal_size_limit(67108864)",
		"cache_size(-1024)", "trusted_schema(off)", "cell_size_check(on)")
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
	h := &handle{write: write, read: read, writeCalls: calls}
	// Read the newest rows: the file may be damaged although its first page is valid.
	var n int
	if err := read.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT c.id, b.reason FROM call c JOIN body b USING (id) ORDER BY c.id DESC LIMIT 20)`).Scan(&n); err != nil {
		_ = h.close()
		return nil, err
	}
	h.files = identify(path, file)
	return h, nil
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
