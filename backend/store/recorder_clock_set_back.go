package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The id of a call is its start time, except for calls that started after the clock was set back:
// their ids continue from the newest id, so that ids stay unique and ordered. While such calls
// exist, queries by time also compare the start time of each call in their range of ids.

// clockSetBackThreshold is the minimum difference between the id and the start time of a late call.
const clockSetBackThreshold = time.Minute

const lateRangeKey = "late_calls"

// clockSetBackRange is the range of ids of the calls that started after the clock was set back. A
// nil range is empty.
type clockSetBackRange struct{ first, last int64 }

// extend returns the range extended by one call. It returns m itself if the call is not late or
// the range contains it already.
func (m *clockSetBackRange) extend(id, at int64) *clockSetBackRange {
	if id-at < clockSetBackThreshold.Microseconds() || m != nil && m.first <= id && id <= m.last {
		return m
	}
	if m == nil {
		return &clockSetBackRange{id, id}
	}
	return &clockSetBackRange{min(m.first, id), max(m.last, id)}
}

func loadLateRange(ctx context.Context, db queryer) (*clockSetBackRange, error) {
	var value []byte
	err := db.QueryRowContext(ctx, `SELECT value FROM metadata WHERE key = ?`, lateRangeKey).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var m clockSetBackRange
	if _, scanErr := fmt.Sscan(string(value), &m.first, &m.last); err != nil || scanErr != nil {
		return nil, err // an invalid value is overwritten by the next late call
	}
	return &m, nil
}

// save stores the range in the database.
func (m *clockSetBackRange) save(ctx context.Context, tx *transaction, now time.Time) error {
	_, err := tx.ExecContext(ctx, upsertMetadata, lateRangeKey, []byte(fmt.Sprint(m.first, " ", m.last)), now.UnixMicro())
	return err
}

// expired returns at most rows calls of the range that started before at although their ids are not
// less than edge.
func (m *clockSetBackRange) expired(ctx context.Context, tx *transaction, at time.Time, edge int64, rows int) ([]any, error) {
	if m == nil || m.last < edge {
		return nil, nil
	}
	return queryIDs(ctx, tx, `SELECT id FROM call WHERE id BETWEEN ? AND ? AND at < ? ORDER BY id LIMIT ?`, max(m.first, edge), m.last, at.UnixMicro(), rows)
}
