package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

// A call is first written with its payloads compressed one by one, which is fastest. When the call
// is some minutes old and few calls are being written, the payloads of many calls are compressed
// together into a block (a row of payload_block): they are similar, and take half the space. Each
// block is written in one transaction.
const (
	minPackAge      = 15 * time.Minute // longer than the maximum duration of a call
	packRows        = 64               // calls per block
	minPackPayload  = 128              // minimum bytes of a call's payloads; smaller ones stay in their rows
	maxPackPayload  = 1 << 20          // maximum bytes of a call's payloads; larger ones stay in their rows
	packInterval    = 30 * time.Second
	packPauseFactor = 9 // pause after a step, in multiples of its duration
	vacuumPages     = 500
)

// runPacking moves older payloads into blocks and returns unused pages to the file system, until
// ctx is done.
func (s *search) runPacking(ctx context.Context) {
	timer := time.NewTimer(packInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if s.recorder.busy() || s.recorder.hasFault() {
			timer.Reset(packInterval)
			continue
		}
		began := time.Now()
		more, err := s.packStep(ctx)
		if err == nil && !more {
			more, err = s.vacuumStep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.opts.Log.Debug("Cannot compress the payloads of old calls", "error", err)
		}
		if !more || err != nil {
			timer.Reset(packInterval)
			continue
		}
		timer.Reset(max(packPauseFactor*time.Since(began), 20*time.Millisecond))
	}
}

const packedKey = "packed" // id of the last call whose payloads were considered

// errCallDeleted means that a call was deleted while its payloads were being compressed.
var errCallDeleted = errors.New("a call was deleted in the meantime")

// packStep moves the payloads of the oldest calls that were not considered yet into a block, and
// reports whether there may be more.
func (s *search) packStep(ctx context.Context) (more bool, err error) {
	var b blockBuilder
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		var after string
		var unknown int64
		if err := h.read.QueryRowContext(ctx, `SELECT coalesce((SELECT cast(value AS TEXT) FROM metadata WHERE key = ?), ''), coalesce((SELECT min(id) FROM pending), 1 << 62)`,
			packedKey).Scan(&after, &unknown); err != nil {
			return err
		}
		b.upTo, _ = strconv.ParseInt(after, 10, 64)
		edge := min(s.opts.Now().Add(-minPackAge).UnixMicro(), unknown) // excludes calls that are not indexed: the indexer will read their payloads soon
		return eachRow(ctx, h.read, func(row scanner) error {
			more = true
			var id int64
			var args, reply storedPayload
			if err := row.Scan(&id, &args.data, &args.enc, &reply.data, &reply.enc); err != nil {
				return err
			}
			if b.add(id, args, reply); len(b.raw) >= payload.BlockBytes {
				return errEnough
			}
			return nil
		}, `SELECT id, arguments, arguments_enc, reply, reply_enc FROM body WHERE id > ? AND id < ? ORDER BY id LIMIT ?`, b.upTo, edge, packRows)
	})
	if err != nil || !more {
		return false, err
	}
	packed, err := payload.CompressBlock(b.raw)
	if err != nil {
		return false, err
	}
	err = s.transact(ctx, func(ctx context.Context, tx *transaction) error { return b.save(ctx, tx, packed, s.opts.Now()) })
	if errors.Is(err, errCallDeleted) {
		return true, nil
	}
	return true, err
}

type blockBuilder struct {
	raw       []byte
	ids       []int64
	locations []payload.Location
	upTo      int64
}

func (b *blockBuilder) add(id int64, args, reply storedPayload) {
	b.upTo = id
	if args.enc == payload.InBlock {
		return
	}
	a, errA := payload.Decompress(args.data, args.enc)
	r, errR := payload.Decompress(reply.data, reply.enc)
	if n := len(a) + len(r); n < minPackPayload || n > maxPackPayload || errA != nil || errR != nil {
		return
	}
	b.ids = append(b.ids, id)
	b.locations = append(b.locations, payload.Location{From: len(b.raw), Arguments: len(a), Reply: len(r)})
	b.raw = append(append(b.raw, a...), r...)
}

func (b *blockBuilder) save(ctx context.Context, tx *transaction, packed []byte, now time.Time) error {
	if len(b.ids) > 0 {
		res, err := tx.ExecContext(ctx, `INSERT INTO payload_block (calls, data) VALUES (?,?)`, len(b.ids), packed)
		if err != nil {
			return err
		}
		block, err := res.LastInsertId()
		if err != nil {
			return err
		}
		for i := range b.locations {
			b.locations[i].Block = block
		}
		if err := b.replaceRows(ctx, tx); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, upsertMetadata, packedKey, strconv.AppendInt(nil, b.upTo, 10), now.UnixMicro())
	return err
}

// keptBodyColumns are the columns of body that keep their values when a payload is moved into a
// block.
const keptBodyColumns = `id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_size, arguments_hash, reply_size, reply_hash`

// replaceRows replaces the rows of body by rows that refer to the block instead of containing
// payloads. It deletes the old rows first: overwriting a row by a shorter one would leave its page
// mostly empty.
func (b *blockBuilder) replaceRows(ctx context.Context, tx *transaction) error {
	list := make([]any, len(b.ids))
	for i, id := range b.ids {
		list[i] = id
	}
	these := ` FROM body WHERE id IN (` + placeholders(len(list)) + `)`
	columns := strings.Count(keptBodyColumns, ",") + 1
	var kept [][]any
	err := eachRow(ctx, tx, func(row scanner) error {
		values, into := make([]any, columns), make([]any, columns)
		for i := range values {
			into[i] = &values[i]
		}
		kept = append(kept, values)
		return row.Scan(into...)
	}, `SELECT `+keptBodyColumns+these+` ORDER BY id`, list...)
	if err != nil {
		return err
	}
	if len(kept) != len(b.ids) { // a deleted payload must not stay in the block
		return errCallDeleted
	}
	if _, err := tx.ExecContext(ctx, `DELETE`+these, list...); err != nil {
		return err
	}
	put, err := tx.PrepareContext(ctx, `INSERT INTO body (`+keptBodyColumns+`, arguments, arguments_enc, reply_enc) VALUES (`+placeholders(columns)+`,?,?,?)`)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }()
	for i, row := range kept {
		if _, err := put.ExecContext(ctx, append(row, b.locations[i].Encode(), payload.InBlock, payload.InBlock)...); err != nil {
			return err
		}
	}
	return nil
}

// vacuumStep returns some unused pages to the file system, if there are many. It reports whether
// there may be more to return.
func (s *search) vacuumStep(ctx context.Context) (more bool, err error) {
	err = s.withHandle(func(h *handle) error {
		var pages, free int64
		if err := h.read.QueryRowContext(ctx, `SELECT p.page_count, f.freelist_count FROM pragma_page_count() p, pragma_freelist_count() f`).Scan(&pages, &free); err != nil {
			return err
		}
		if more = free > 10*vacuumPages && free > pages/8; !more {
			return nil
		}
		_, err := h.write.ExecContext(ctx, `PRAGMA incremental_vacuum(`+strconv.Itoa(vacuumPages)+`)`)
		return err
	})
	return more, err
}

// decompressedBlock is the block that was decompressed most recently. Consecutive calls are usually
// in the same block.
type decompressedBlock struct {
	id  int64
	raw []byte
}

// payloadReader reads payloads, whether or not they are in a block. No rows of db may be open,
// unless db is a transaction.
type payloadReader struct {
	db   queryer
	last *atomic.Pointer[decompressedBlock]
}

// read returns the original arguments and reply of a call.
func (p payloadReader) read(ctx context.Context, args, reply storedPayload) (a, r []byte, err error) {
	if args.enc != payload.InBlock {
		if a, err = payload.Decompress(args.data, args.enc); err != nil {
			return nil, nil, err
		}
		r, err = payload.Decompress(reply.data, reply.enc)
		return a, r, err
	}
	at, err := payload.DecodeLocation(args.data)
	if err != nil {
		return nil, nil, err
	}
	block, err := p.open(ctx, at.Block)
	if err != nil {
		return nil, nil, err
	}
	end := at.End()
	if end > len(block.raw) {
		return nil, nil, payload.ErrBadLocation
	}
	return cloneNonEmpty(block.raw[at.From : at.From+at.Arguments]), cloneNonEmpty(block.raw[at.From+at.Arguments : end]), nil
}

// cloneNonEmpty returns a copy of b, or nil if b is empty.
func cloneNonEmpty(b []byte) []byte { return append([]byte(nil), b...) }

func (p payloadReader) open(ctx context.Context, id int64) (*decompressedBlock, error) {
	if o := p.last.Load(); o != nil && o.id == id {
		return o, nil
	}
	var data []byte
	err := p.db.QueryRowContext(ctx, `SELECT data FROM payload_block WHERE id = ?`, id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, payload.ErrBadLocation
	}
	if err != nil {
		return nil, err
	}
	raw, err := payload.DecompressBlock(data)
	if err != nil {
		return nil, err
	}
	o := &decompressedBlock{id, raw}
	p.last.Store(o)
	return o, nil
}

// removeFromBlocks removes the payloads of calls from their blocks, before the rows of the calls
// are deleted. Blocks that are no longer referenced are deleted. With erase, the payloads of the
// calls are overwritten in the blocks that remain.
func removeFromBlocks(ctx context.Context, tx *transaction, gone []any, erase bool) error {
	places := make(map[int64][]payload.Location)
	err := eachRow(ctx, tx, func(row scanner) error {
		var b []byte
		if err := row.Scan(&b); err != nil {
			return err
		}
		if p, err := payload.DecodeLocation(b); err == nil {
			places[p.Block] = append(places[p.Block], p)
		}
		return nil
	}, `SELECT arguments FROM body WHERE arguments_enc = `+strconv.Itoa(payload.InBlock)+` AND id IN (`+placeholders(len(gone))+`)`, gone...)
	if err != nil {
		return err
	}
	for block, left := range places {
		if _, err := tx.ExecContext(ctx, `UPDATE payload_block SET calls = calls - ? WHERE id = ?`, len(left), block); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `DELETE FROM payload_block WHERE id = ? AND calls <= 0`, block)
		if err != nil {
			return err
		}
		deleted, err := res.RowsAffected()
		if err == nil && deleted == 0 && erase {
			err = overwritePayloads(ctx, tx, block, left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func overwritePayloads(ctx context.Context, tx *transaction, block int64, places []payload.Location) error {
	p := payloadReader{tx, new(atomic.Pointer[decompressedBlock])}
	o, err := p.open(ctx, block)
	if err != nil {
		return err
	}
	for _, at := range places {
		if end := at.End(); end <= len(o.raw) {
			clear(o.raw[at.From:end])
		}
	}
	packed, err := payload.CompressBlock(o.raw)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE payload_block SET data = ? WHERE id = ?`, packed, block)
	return err
}
