package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// The id of a call is its time, except for calls that were made after the clock was set back:
// their ids continue from the newest, so that ids stay unique and ordered. While there are such
// calls, queries by time compare the time of each call in that range.

// movedBy is the difference between id and time from which a call counts as late.
const movedBy = time.Minute

const movedFact = "moved"

// lateRange is the range of ids of the calls that were made after the clock was set back; nil
// means that there are none.
type lateRange struct{ first, last int64 }

// extend returns the range with one more call: the same range if it contains the call.
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
		return nil, nil // not readable: the next late call writes it again
	}
	return &m, nil
}

// save stores the range.
func (m *lateRange) save(ctx context.Context, tx *sql.Tx, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO fact (key, value, saved_at) VALUES (?,?,?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, saved_at = excluded.saved_at`, movedFact, []byte(fmt.Sprint(m.first, " ", m.last)), now.UnixMicro())
	return err
}

// before returns the calls of the range that began before at although their ids are not
// below edge.
func (m *lateRange) before(ctx context.Context, tx *sql.Tx, at time.Time, edge int64, rows int) ([]any, error) {
	if m == nil || m.last < edge {
		return nil, nil
	}
	return ids(ctx, tx, `SELECT id FROM call WHERE id BETWEEN ? AND ? AND at < ? ORDER BY id LIMIT ?`, max(m.first, edge), m.last, at.UnixMicro(), rows)
}
