package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// A call's id is its time, but for calls made after the clock had gone back: ids go on
// from the newest, so that they stay distinct and in the order of the calls. While there
// are such calls, questions about a time look at the time of each call that they concern.

// movedBy is how much later than its time an id must be for its call to count as moved.
const movedBy = time.Minute

const movedFact = "moved"

// lateRange is the range of ids in which calls are that were made after the clock had gone
// back; nil: there are none.
type lateRange struct{ first, last int64 }

// extend returns the range with one call more: itself when it has that already.
func (m *lateRange) extend(id, at int64) *lateRange {
	if id-at < movedBy.Microseconds() || m != nil && m.first <= id && id <= m.last {
		return m
	}
	if m == nil {
		return &lateRange{id, id}
	}
	return &lateRange{min(m.first, id), max(m.last, id)}
}

func loadLateRange(ctx context.Context, db queryer) (*lateRange, error) {
	rows, err := db.QueryContext(ctx, `SELECT cast(value AS TEXT) FROM fact WHERE key = ?`, movedFact)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return nil, rows.Err()
	}
	var text string
	if err := rows.Scan(&text); err != nil {
		return nil, err
	}
	var m lateRange
	if _, err := fmt.Sscan(text, &m.first, &m.last); err != nil {
		return nil, nil // not ours: the next such call writes it anew
	}
	return &m, nil
}

// save keeps the range.
func (m *lateRange) save(ctx context.Context, tx *sql.Tx, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO fact (key, value, saved_at) VALUES (?,?,?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, saved_at = excluded.saved_at`, movedFact, []byte(fmt.Sprint(m.first, " ", m.last)), now.UnixMicro())
	return err
}

// before returns calls of the range that began before a time although their ids are not
// below edge.
func (m *lateRange) before(ctx context.Context, tx *sql.Tx, at time.Time, edge int64, rows int) ([]any, error) {
	if m == nil || m.last < edge {
		return nil, nil
	}
	return ids(ctx, tx, `SELECT id FROM call WHERE id BETWEEN ? AND ? AND at < ? ORDER BY id LIMIT ?`, max(m.first, edge), m.last, at.UnixMicro(), rows)
}
