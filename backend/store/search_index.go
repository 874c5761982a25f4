package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

// Calls are added to the full-text index in the background, in steps that are short enough not to
// delay a batch. While many calls are written, the indexer pauses most of the time.
const (
	indexRows     = 200       // calls per step
	indexBytes    = 128 << 10 // approximate bytes of text per step
	indexInterval = 250 * time.Millisecond
	// Interval of looking for pending calls while no new calls are written, for example in a
	// restored file. Each look opens a connection, which maps 5 MB of the program file.
	idleIndexInterval = 5 * time.Minute
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

	searchIndexSteps = 10 // maximum number of steps before a search
)

// indexPauseFactor returns the pause after a step, as a multiple of its duration, for the given
// numbers of calls and payload bytes written per second.
func indexPauseFactor(calls, bytes float64) time.Duration {
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
func (s *search) runIndexing(ctx context.Context) {
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
			resting = indexPauseFactor(float64(c-calls)/past.Seconds(), float64(b-bytes)/past.Seconds())
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
	code                   core.Code
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

// indexPending indexes the calls that were recorded just before, for at most timeouts.flush, so
// that a search finds them. While more calls are recorded than it can index in that time, a search
// does not find the newest ones.
func (s *search) indexPending(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.flush)
	defer cancel()
	for range searchIndexSteps {
		if n, err := s.indexStep(ctx); n == 0 || err != nil {
			return
		}
	}
}

const unindexedCalls = `SELECT c.id, c.target_id, c.client_id, c.at, c.outcome, c.code, c.took_ns - c.queued_ns, p.counted, ` + wordColumns + `
	FROM pending p CROSS JOIN call c ON c.id = p.id` + wordTables + ` ORDER BY p.id LIMIT ?`

// indexStep adds the oldest pending calls to the index and returns their number.
func (s *search) indexStep(ctx context.Context) (int, error) {
	var batch []indexEntry
	err := s.query(ctx, func(ctx context.Context, h *handle) error {
		size := 0
		unindexed, err := h.unindexed.on(ctx, h.read)
		if err != nil {
			return err
		}
		err = eachRow(ctx, unindexed, func(row scanner) (err error) {
			var u indexEntry
			u.words, u.packed, err = scanWords(row, &u.id, &u.target, &u.client, &u.at, &u.outcome, &u.code, &u.took, &u.counted)
			batch = append(batch, u)
			runtime.Gosched() // clients that wait for a reply go first, also on a single processor
			if size += len(u.words); err == nil && size >= indexBytes {
				return errEnough
			}
			return err
		}, "", indexRows)
		if err != nil {
			return err
		}
		return readPacked(ctx, batch, payloadReader{h.read, &s.lastBlock})
	})
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	err = s.transactOn(ctx, (*handle).beginCalls, func(ctx context.Context, tx *transaction) error {
		return addToIndex(ctx, tx, batch, s.opts.Now())
	})
	return len(batch), err
}

// scanWords scans a row of other columns and wordColumns. A payload that cannot be decompressed
// has no words. If the payload is in a block, words is nil, and readPacked must be called after the
// rows are closed.
func scanWords(row scanner, others ...any) (words []byte, packed *packedWords, err error) {
	var c packedWords
	var reply storedPayload
	if err := row.Scan(append(others, &c.server, &c.name, &c.publicName, &c.client, &c.reason, &c.args.data, &c.args.enc, &reply.data, &reply.enc)...); err != nil {
		return nil, nil, err
	}
	if c.args.enc == payload.InBlock {
		return nil, &c, nil
	}
	a, _ := payload.Decompress(c.args.data, c.args.enc)
	r, _ := payload.Decompress(reply.data, reply.enc)
	return appendCallWords(nil, c.callWords, a, r), nil, nil
}

// packedWords is the text of a call whose payload is in a block and is read later.
type packedWords struct {
	callWords
	args storedPayload
}

// readPacked sets the words of the entries whose payloads are in blocks.
func readPacked(ctx context.Context, entries []indexEntry, from payloadReader) error {
	for i := range entries {
		p := entries[i].packed
		if p == nil {
			continue
		}
		args, reply, err := from.read(ctx, p.args, storedPayload{})
		if err != nil && !errors.Is(err, payload.ErrBadLocation) { // a payload that cannot be read has no words
			return err
		}
		entries[i].words = appendCallWords(nil, p.callWords, args, reply)
	}
	return nil
}

func appendCallWords(dst []byte, c callWords, args, reply []byte) []byte {
	for _, s := range []string{c.server, c.name, c.publicName, c.client, c.reason} {
		dst = append(dst, s...)
		dst = append(dst, ' ')
	}
	dst = fulltext.AppendText(dst, args)
	dst = append(dst, ' ')
	return fulltext.AppendText(dst, reply)
}

type callWords struct{ server, name, publicName, client, reason string }

func addToIndex(ctx context.Context, tx *transaction, batch []indexEntry, now time.Time) error {
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
	for _, u := range batch {
		runtime.Gosched()
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
			sums.countOutcome(u.target, u.client, u.at, countedOutcome(u.outcome, u.code), time.Duration(u.took), resultSize{}, 1)
		}
	}
	return sums.save(ctx, tx, now)
}

// IndexState is the progress of the full-text index.
type IndexState struct {
	Pending int64     // number of calls that are not indexed yet
	UpTo    time.Time // all calls before this time are indexed; zero: all calls are
}

// Index returns the progress of the full-text index.
func (s *search) Index(ctx context.Context) (IndexState, error) {
	var st IndexState
	var first sql.NullInt64
	_, err := s.queryRow(ctx, []any{&st.Pending, &first}, `SELECT count(*), min(id) FROM pending`)
	if first.Valid {
		st.UpTo = time.UnixMicro(first.Int64).UTC()
	}
	return st, err
}

// removeFromIndex removes calls from the full-text index. The caller deletes their rows
// afterwards, in the same transaction.
func removeFromIndex(ctx context.Context, tx *transaction, ids []any) error {
	var indexed []indexEntry
	err := eachRow(ctx, tx, func(row scanner) (err error) {
		var u indexEntry
		u.words, u.packed, err = scanWords(row, &u.id)
		indexed = append(indexed, u)
		return err
	}, `SELECT c.id, `+wordColumns+` FROM call c`+wordTables+`
		WHERE c.id IN (`+placeholders(len(ids))+`) AND c.id NOT IN (SELECT id FROM pending)`, ids...)
	if err != nil {
		return err
	}
	if err := readPacked(ctx, indexed, payloadReader{tx, new(atomic.Pointer[decompressedBlock])}); err != nil {
		return err
	}
	for _, u := range indexed {
		if _, err := tx.ExecContext(ctx, `INSERT INTO search (search, rowid, words) VALUES ('delete', ?, ?)`, u.id, u.words); err != nil {
			return fmt.Errorf("cannot remove call %d from the index: %w", u.id, err)
		}
	}
	return nil
}
