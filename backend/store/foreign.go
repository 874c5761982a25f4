package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Limits of what is read from the database of another program: its rows, the length of a value, and the time.
const (
	maxForeignRows  = 10_000
	maxForeignValue = 4 << 20
	foreignTimeout  = 3 * time.Second
)

// ErrInUse means that another program has locked its database.
var ErrInUse = errors.New("its database is in use")

// ReadForeign returns the rows of a query in the database of another program, by column. The program may be
// running. Nothing is written, not even beside the database.
func ReadForeign(path, query string) (rows []map[string]any, err error) {
	mode := "mode=ro&_pragma=trusted_schema(off)"
	if isIdle, err := hasIdleLog(path); err != nil {
		return nil, err
	} else if isIdle { // else SQLite would create files beside it
		mode += "&immutable=1"
	}
	db, err := sql.Open("sqlite", dsn(path, "deferred", "query_only(on)", fmt.Sprintf("busy_timeout(%d)", time.Second.Milliseconds()))+"&"+mode)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), foreignTimeout)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := sqlite.Limit(conn, lib.SQLITE_LIMIT_LENGTH, maxForeignValue); err != nil {
		return nil, err
	}
	if rows, err = readRows(ctx, conn, query); err != nil {
		if own, ok := errors.AsType[*sqlite.Error](err); ok && own.Code()&0xff == lib.SQLITE_BUSY {
			return nil, ErrInUse
		}
		return nil, err
	}
	return rows, nil
}

// hasIdleLog reports whether the database uses a write-ahead log that nobody has open.
func hasIdleLog(path string) (bool, error) {
	notSQLite := errors.New("it is not an SQLite database")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false, cmp.Or(err, notSQLite)
	}
	f, err := os.Open(path) //nolint:gosec // the caller chooses the path
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 20)
	if _, err := f.ReadAt(head, 0); err != nil || !strings.HasPrefix(string(head), "SQLite format 3") {
		return false, notSQLite
	}
	log, err := os.Stat(path + "-wal")
	return head[18] == 2 && (err != nil || log.Size() == 0), nil
}

func readRows(ctx context.Context, conn *sql.Conn, query string) (all []map[string]any, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		if len(all) == maxForeignRows {
			return nil, fmt.Errorf("it has more than %d rows", maxForeignRows)
		}
		values, targets := make([]any, len(names)), make([]any, len(names))
		for n := range values {
			targets[n] = &values[n]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := map[string]any{}
		for n, name := range names {
			row[name] = values[n]
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
