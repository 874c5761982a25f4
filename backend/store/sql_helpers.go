package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// queryer is implemented by *sql.DB and *transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

type scanner interface{ Scan(...any) error }

// errEnough is returned by a function passed to eachRow to skip the remaining rows.
var errEnough = errors.New("no more rows are needed")

// eachRow calls f with each row of a query.
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

// placeholders returns n placeholders of an IN list.
func placeholders(n int) string { return `?` + strings.Repeat(`,?`, n-1) }

// queryRows is eachRow on a connection for reading.
func (s *Store) queryRows(ctx context.Context, f func(scanner) error, query string, args ...any) error {
	return s.query(ctx, func(ctx context.Context, h *handle) error { return eachRow(ctx, h.read, f, query, args...) })
}

// queryRow scans the first row of a query. found is false if there is none.
func (s *Store) queryRow(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		return h.read.QueryRowContext(ctx, query, args...).Scan(into...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// exec executes one statement as a write transaction of at most writeLimit.
func (s *Store) exec(ctx context.Context, stmt string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return s.withHandle(func(h *handle) error {
		_, err := h.write.ExecContext(ctx, stmt, args...)
		return err
	})
}

// transact runs f in one write transaction of at most writeLimit. It commits if f returns nil, and
// rolls back otherwise.
func (s *Store) transact(ctx context.Context, f func(context.Context, *transaction) error) error {
	return s.transactOn(ctx, (*handle).begin, f)
}

func (s *Store) transactOn(ctx context.Context, begin func(*handle, context.Context) (*transaction, error), f func(context.Context, *transaction) error) error {
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
