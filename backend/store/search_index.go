package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Calls are added to the full-text index in the background, in steps that are short enough not to
// delay a batch. While many calls are written, the indexer pauses most of the time. Queries search
// calls that are not indexed yet by reading them.
const (
	indexRows         = 200       // calls per step
	indexBytes        = 128 << 10 // approximate bytes of text per step
	indexInterval     = 250 * time.Millisecond
	indexRowsPerPause = 8                // calls between two pauses within a step
	idleIndexInterval = 20 * time.Second // interval of looking for pending calls while no new calls are written
	// Pause after a step in multiples of its duration, and the rates of calls and payload bytes
	// per second above which it applies. Without pauses, the indexer would use a whole core while
	// clients wait for their calls.
	quietPause  = 1
	quietCalls  = 100
	quietBytes  = 256 << 10
	normalPause = 3
	busyPause   = 19
	busyCalls   = 1500 // the indexer cannot keep up with more calls anyway
	busyBytes   = 8 << 20
	fullPause   = 99
	fullCalls   = 4000 // the processor is fully used

	maxIndexPause = 4 * time.Second // bounds the pause, so that the indexer notices soon when the load drops
)

// indexPause returns the pause after a step, as a multiple of its duration, for the given numbers
// of calls and payload bytes written per second.
func indexPause(calls, bytes float64) time.Duration {
	switch {
	case calls > fullCalls:
		return fullPause
	case calls > busyCalls || bytes > busyBytes:
		return busyPause
	case calls > quietCalls || bytes > quietBytes:
		return normalPause
	}
	return quietPause
}

// runIndexing adds new calls to the full-text index until ctx is done.
func (s *Store) runIndexing(ctx context.Context) {
	timer := time.NewTimer(indexInterval)
	defer timer.Stop()
	calls, bytes := s.recorder.progress()
	since, resting := time.Now(), time.Duration(normalPause)
	var none struct { // the last step that found no pending calls
		at    time.Time
		calls uint64
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if past := time.Since(since); past > time.Second {
			c, b := s.recorder.progress()
			resting = indexPause(float64(c-calls)/past.Seconds(), float64(b-bytes)/past.Seconds())
			calls, bytes, since = c, b, time.Now()
		}
		if s.recorder.hasFault() { // the recorder handles the error
			timer.Reset(indexInterval)
			continue
		}
		written, _ := s.recorder.progress()
		if written == none.calls && time.Since(none.at) < idleIndexInterval {
			timer.Reset(indexInterval)
			continue
		}
		began := time.Now()
		n, err := s.indexStep(ctx)
		if err != nil && ctx.Err() == nil {
			s.opts.Log.Debug("Cannot index history", "error", err)
			timer.Reset(5 * time.Second)
			continue
		}
		took := time.Since(began)
		if n == 0 {
			none.at, none.calls = began, written
			timer.Reset(indexInterval)
		} else {
			timer.Reset(min(resting*took, maxIndexPause))
		}
	}
}

// indexEntry is a call that is being added to the index.
type indexEntry struct {
	id, target, client, at int64
	outcome                int
	took                   int64
	counted                bool
	words                  []byte
	packed                 *packedWords // set instead of words until the payload has been read
}

const wordColumns = `s.name, t.name, b.public_name, k.name, b.reason, b.arguments, b.arguments_enc, b.reply, b.reply_enc`

const wordTables = ` JOIN target t ON t.id = c.target_id
	JOIN server s ON s.id = t.server_id
	JOIN client k ON k.id = c.client_id
	JOIN body b ON b.id = c.id`

// indexStep adds the oldest pending calls to the index and returns their number.
func (s *Store) indexStep(ctx context.Context) (int, error) {
	var batch []indexEntry
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		rows, err := h.read.QueryContext(ctx, `SELECT c.id, c.target_id, c.client_id, c.at, c.outcome, c.took_ns, p.counted, `+wordColumns+`
			FROM pending p CROSS JOIN call c ON c.id = p.id`+wordTables+` ORDER BY p.id LIMIT ?`, indexRows)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		size := 0
		for size < indexBytes && rows.Next() {
			var u indexEntry
			u.words, u.packed, err = scanWords(rows, &u.id, &u.target, &u.client, &u.at, &u.outcome, &u.took, &u.counted)
			if err != nil {
				return err
			}
			size += len(u.words)
			batch = append(batch, u)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		for i := range batch {
			if u := &batch[i]; u.packed != nil {
				if u.words, err = u.packed.read(ctx, payloadReader{h.read, &s.opened}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return addToIndex(ctx, tx, batch, s.opts.Now(), s.recorder.lightLoad)
	})
	if slices.ContainsFunc(batch, func(u indexEntry) bool { return !u.counted }) {
		s.rollupGen.Add(1)
	}
	return len(batch), err
}

// scanWords scans a row of other columns and wordColumns. A payload that cannot be decompressed
// has no words. If the payload is in a block, words is nil, and late.read must be called after the
// rows are closed.
func scanWords(row scanner, others ...any) (words []byte, packed *packedWords, err error) {
	var c packedWords
	var reply storedPayload
	if err := row.Scan(append(others, &c.server, &c.name, &c.publicName, &c.client, &c.reason, &c.args.data, &c.args.enc, &reply.data, &reply.enc)...); err != nil {
		return nil, nil, err
	}
	if c.args.enc == encBlock {
		return nil, &c, nil
	}
	a, _ := decompress(c.args.data, c.args.enc)
	r, _ := decompress(reply.data, reply.enc)
	return appendCallWords(nil, c.callWords, a, r), nil, nil
}

// packedWords is the text of a call whose payload is in a block and is read later.
type packedWords struct {
	callWords
	args storedPayload
}

func (l *packedWords) read(ctx context.Context, from payloadReader) ([]byte, error) {
	a, r, err := from.read(ctx, l.args, storedPayload{})
	if errors.Is(err, errBadLocation) { // like any other payload that cannot be read
		err = nil
	}
	return appendCallWords(nil, l.callWords, a, r), err
}

func addToIndex(ctx context.Context, tx *sql.Tx, batch []indexEntry, now time.Time, calm func() bool) error {
	add, err := tx.PrepareContext(ctx, `INSERT INTO search (rowid, words) VALUES (?,?)`)
	if err != nil {
		return err
	}
	defer func() { _ = add.Close() }()
	done, err := tx.PrepareContext(ctx, `DELETE FROM pending WHERE id = ?`)
	if err != nil {
		return err
	}
	defer func() { _ = done.Close() }()
	sums := make(rollups)
	breath := writeThrottle{mayPause: calm, remaining: maxPauses / 2}
	began := time.Now()
	for i, u := range batch {
		if i%indexRowsPerPause == indexRowsPerPause-1 {
			breath.pause(time.Since(began))
			began = time.Now()
		}
		res, err := done.ExecContext(ctx, u.id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			continue // deleted in the meantime
		}
		if _, err := add.ExecContext(ctx, u.id, u.words); err != nil {
			return err
		}
		if !u.counted {
			sums.countOutcome(u.target, u.client, u.at, u.outcome, time.Duration(u.took), 1)
		}
	}
	return sums.save(ctx, tx, now)
}

// IndexState is the progress of the full-text index.
type IndexState struct {
	Pending int64     // number of calls that are not indexed yet; queries read the newest of them directly
	UpTo    time.Time // all calls before this time are indexed; zero: all calls are
}

// Index returns the progress of the full-text index.
func (s *Store) Index(ctx context.Context) (IndexState, error) {
	var st IndexState
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		var first sql.NullInt64
		if err := h.read.QueryRowContext(ctx, `SELECT count(*), min(id) FROM pending`).Scan(&st.Pending, &first); err != nil {
			return err
		}
		if first.Valid {
			st.UpTo = time.UnixMicro(first.Int64).UTC()
		}
		return nil
	})
	return st, err
}

// Limits of a full-text search.
const (
	maxHits        = 2000  // hits examined for one page if there are other filters
	maxPendingRows = 1000  // unindexed calls examined for one page
	FacetHits      = 10000 // newest hits from which Facets counts
)

// searchIndex returns the ids of at most limit calls that contain all words, newest first: hits of
// the index, merged with matching calls that are not indexed yet. end is the value of before for
// the next call, or 0 if there is nothing older. tired means that the maximum number of unindexed
// calls was examined.
func (s *Store) searchIndex(ctx context.Context, db *sql.DB, words []word, after, before int64, limit int) (found []int64, end int64, limited bool, err error) {
	if before <= 0 {
		before = 1 << 62
	}
	fresh, oldest, err := s.pendingHits(ctx, db, words, after, before)
	if err != nil {
		return nil, 0, false, err
	}
	rows, err := db.QueryContext(ctx, `SELECT rowid FROM search WHERE search MATCH ? AND rowid < ? AND rowid > ? ORDER BY rowid DESC LIMIT ?`,
		ftsQuery(words), before, max(after, oldest), limit)
	if err != nil {
		return nil, 0, false, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, 0, false, err
		}
		for len(fresh) > 0 && fresh[0] > id {
			found, fresh = append(found, fresh[0]), fresh[1:]
		}
		found = append(found, id)
	}
	if len(found) < limit {
		found = append(found, fresh...)
	}
	if len(found) >= limit {
		return found[:limit], found[limit-1], oldest > 0, rows.Err()
	}
	return found, oldest, oldest > 0, rows.Err()
}

// removeFromIndex removes calls from the full-text index. The caller deletes their rows
// afterwards, in the same transaction.
func removeFromIndex(ctx context.Context, tx *sql.Tx, ids []any) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT c.id, `+wordColumns+` FROM call c`+wordTables+`
		WHERE c.id IN (?`+strings.Repeat(`,?`, len(ids)-1)+`) AND c.id NOT IN (SELECT id FROM pending)`, ids...)
	if err != nil {
		return err
	}
	type old struct {
		id    int64
		words []byte
		late  *packedWords
	}
	var all []old
	for rows.Next() {
		var o old
		if o.words, o.late, err = scanWords(rows, &o.id); err != nil {
			_ = rows.Close()
			return err
		}
		all = append(all, o)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	packed := payloadReader{tx, new(atomic.Pointer[openBlock])}
	for _, o := range all {
		if o.late != nil {
			if o.words, err = o.late.read(ctx, packed); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO search (search, rowid, words) VALUES ('delete', ?, ?)`, o.id, o.words); err != nil {
			return fmt.Errorf("cannot take call %d out of the index: %w", o.id, err)
		}
	}
	return nil
}
