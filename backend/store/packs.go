package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A call is written as fast as can be, its payload packed alone. When it is some minutes
// old and few calls are written, payloads of many are packed together: they are alike, and
// take half the room. Each pack is one transaction, which a crash leaves out or in.
const (
	packAge    = 15 * time.Minute // longer than any call may take
	packRows   = 64               // calls of one pack
	packBytes  = 128 << 10        // of their payloads, about
	packLeast  = 128              // shorter payloads stay where they are
	packMost   = 1 << 20          // longer ones too
	packEvery  = 30 * time.Second
	packRest   = 9 // times as long as a step took
	giveBackBy = 500
)

const encTogether = 3

// packs packs older payloads and gives free room back until ctx ends.
func (s *Store) packs(ctx context.Context) {
	timer := time.NewTimer(packEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if s.recorder.busy() || s.recorder.faulty() {
			timer.Reset(packEvery)
			continue
		}
		began := time.Now()
		more, err := s.packStep(ctx)
		if err == nil && !more {
			more, err = s.giveBack(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Debug("Cannot pack history", "error", err)
		}
		if !more || err != nil {
			timer.Reset(packEvery)
			continue
		}
		timer.Reset(max(packRest*time.Since(began), 20*time.Millisecond))
	}
}

// place is where in a pack the payloads of a call lie.
type place struct {
	pack                     int64
	from, arguments, replies int // bytes
}

func (p place) bytes() []byte {
	out := binary.AppendUvarint(nil, uint64(p.pack))
	for _, n := range []int{p.from, p.arguments, p.replies} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

var errPlace = errors.New("the place of a payload cannot be read")

func placeOf(b []byte) (p place, err error) {
	var n [4]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || i > 0 && v > maxUnpacked {
			return p, errPlace
		}
		n[i], b = v, b[size:]
	}
	return place{int64(n[0]), int(n[1]), int(n[2]), int(n[3])}, nil
}

const packedFact = "packed" // the id up to which payloads were looked at

// errMoved says that a call was deleted while its payload was packed.
var errMoved = errors.New("a call went meanwhile")

// packStep packs the payloads of the oldest calls that are not packed. It reports whether
// there may be more to do.
func (s *Store) packStep(ctx context.Context) (more bool, err error) {
	var b bundle
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		var after string
		var unknown int64
		if err := h.read.QueryRowContext(ctx, `SELECT coalesce((SELECT cast(value AS TEXT) FROM fact WHERE key = ?), ''), coalesce((SELECT min(id) FROM pending), 1 << 62)`,
			packedFact).Scan(&after, &unknown); err != nil {
			return err
		}
		b.upTo, _ = strconv.ParseInt(after, 10, 64)
		edge := min(s.o.Now().Add(-packAge).UnixMicro(), unknown) // what search does not know yet is read once more soon
		rows, err := h.read.QueryContext(ctx, `SELECT id, arguments, arguments_enc, reply, reply_enc FROM body WHERE id > ? AND id < ? ORDER BY id LIMIT ?`, b.upTo, edge, packRows)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() && len(b.raw) < packBytes {
			more = true
			var id int64
			var args, reply stored
			if err := rows.Scan(&id, &args.data, &args.enc, &reply.data, &reply.enc); err != nil {
				return err
			}
			b.add(id, args, reply)
		}
		return rows.Err()
	})
	if err != nil || !more {
		return false, err
	}
	packed, err := zstdOf(b.raw)
	if err != nil {
		return false, err
	}
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error { return b.save(ctx, tx, packed, s.o.Now()) })
	if errors.Is(err, errMoved) {
		return true, nil
	}
	return true, err
}

// bundle is what one pack is made of.
type bundle struct {
	raw    []byte
	ids    []int64
	places []place
	upTo   int64
}

func (b *bundle) add(id int64, args, reply stored) {
	b.upTo = id
	if args.enc == encTogether {
		return
	}
	a, errA := unpack(args.data, args.enc)
	r, errR := unpack(reply.data, reply.enc)
	if n := len(a) + len(r); n < packLeast || n > packMost || errA != nil || errR != nil {
		return
	}
	b.ids = append(b.ids, id)
	b.places = append(b.places, place{from: len(b.raw), arguments: len(a), replies: len(r)})
	b.raw = append(append(b.raw, a...), r...)
}

func (b *bundle) save(ctx context.Context, tx *sql.Tx, packed []byte, now time.Time) error {
	if len(b.ids) > 0 {
		res, err := tx.ExecContext(ctx, `INSERT INTO pack (calls, data) VALUES (?,?)`, len(b.ids), packed)
		if err != nil {
			return err
		}
		pack, err := res.LastInsertId()
		if err != nil {
			return err
		}
		for i := range b.places {
			b.places[i].pack = pack
		}
		if err := b.slim(ctx, tx); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO fact (key, value, saved_at) VALUES (?,?,?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, saved_at = excluded.saved_at`, packedFact, strconv.AppendInt(nil, b.upTo, 10), now.UnixMicro())
	return err
}

// slimColumns are those of body that stay when a payload goes into a pack.
const slimColumns = `id, public_name, instance, trace_id, shim, reason, reply_is_error, arguments_size, arguments_hash, reply_size, reply_hash`

// slim writes the rows of body anew, without payloads. They are deleted first: a row that
// is overwritten by a shorter one leaves its page as empty as that makes it.
func (b *bundle) slim(ctx context.Context, tx *sql.Tx) error {
	list := make([]any, len(b.ids))
	for i, id := range b.ids {
		list[i] = id
	}
	these := ` FROM body WHERE id IN (?` + strings.Repeat(`,?`, len(list)-1) + `)`
	rows, err := tx.QueryContext(ctx, `SELECT `+slimColumns+these+` ORDER BY id`, list...)
	if err != nil {
		return err
	}
	var kept [][]any
	for rows.Next() {
		row := make([]any, strings.Count(slimColumns, ",")+1)
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			_ = rows.Close()
			return err
		}
		kept = append(kept, row)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if len(kept) != len(b.ids) { // a payload must not stay in the pack
		return errMoved
	}
	if _, err := tx.ExecContext(ctx, `DELETE`+these, list...); err != nil {
		return err
	}
	put, err := tx.PrepareContext(ctx, `INSERT INTO body (`+slimColumns+`, arguments, arguments_enc, reply_enc) VALUES (`+strings.Repeat(`?,`, len(kept[0]))+`?,?,?)`)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }()
	for i, row := range kept {
		if _, err := put.ExecContext(ctx, append(row, b.places[i].bytes(), encTogether, encTogether)...); err != nil {
			return err
		}
	}
	return nil
}

// giveBack returns some of the room to the disk that packing has freed, when it is much.
func (s *Store) giveBack(ctx context.Context) (more bool, err error) {
	err = s.use(func(h *handle) error {
		var pages, free int64
		if err := h.read.QueryRowContext(ctx, `SELECT p.page_count, f.freelist_count FROM pragma_page_count() p, pragma_freelist_count() f`).Scan(&pages, &free); err != nil {
			return err
		}
		if more = free > 10*giveBackBy && free > pages/8; !more {
			return nil
		}
		_, err := h.write.ExecContext(ctx, `PRAGMA incremental_vacuum(`+strconv.Itoa(giveBackBy)+`)`)
		return err
	})
	return more, err
}

func zstdOf(raw []byte) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packBytes), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(raw, nil), e.Close()
}

var unzstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxUnpacked))
})

// opened is the pack that was read last: who reads a list of calls reads one pack often.
type opened struct {
	id  int64
	raw []byte
}

// shelf reads payloads, from packs too. db must be free: no rows of it may be open,
// unless it is a transaction.
type shelf struct {
	db   queryer
	last *atomic.Pointer[opened]
}

// of returns the payloads of a call as they were recorded.
func (p shelf) of(ctx context.Context, args, reply stored) (a, r []byte, err error) {
	if args.enc != encTogether {
		if a, err = unpack(args.data, args.enc); err != nil {
			return nil, nil, err
		}
		r, err = unpack(reply.data, reply.enc)
		return a, r, err
	}
	at, err := placeOf(args.data)
	if err != nil {
		return nil, nil, err
	}
	pack, err := p.open(ctx, at.pack)
	if err != nil {
		return nil, nil, err
	}
	end := at.from + at.arguments + at.replies
	if end > len(pack.raw) {
		return nil, nil, errPlace
	}
	return some(pack.raw[at.from : at.from+at.arguments]), some(pack.raw[at.from+at.arguments : end]), nil
}

// some is a copy of b, nil when there is nothing.
func some(b []byte) []byte { return append([]byte(nil), b...) }

func (p shelf) open(ctx context.Context, id int64) (*opened, error) {
	if o := p.last.Load(); o != nil && o.id == id {
		return o, nil
	}
	rows, err := p.db.QueryContext(ctx, `SELECT data FROM pack WHERE id = ?`, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return nil, err
		}
		return nil, errPlace
	}
	var data sql.RawBytes
	if err := rows.Scan(&data); err != nil {
		return nil, err
	}
	d, err := unzstd()
	if err != nil {
		return nil, err
	}
	raw, err := d.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPlace, err)
	}
	o := &opened{id, raw}
	p.last.Store(o)
	return o, nil
}

// leave takes calls out of their packs before their rows go. A pack that nothing refers
// to goes. With erase, what the calls had in one that stays is overwritten.
func leave(ctx context.Context, tx *sql.Tx, gone []any, erase bool) error {
	rows, err := tx.QueryContext(ctx, `SELECT arguments FROM body WHERE arguments_enc = `+strconv.Itoa(encTogether)+` AND id IN (?`+strings.Repeat(`,?`, len(gone)-1)+`)`, gone...)
	if err != nil {
		return err
	}
	places := make(map[int64][]place)
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			_ = rows.Close()
			return err
		}
		if p, err := placeOf(b); err == nil {
			places[p.pack] = append(places[p.pack], p)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for pack, left := range places {
		if _, err := tx.ExecContext(ctx, `UPDATE pack SET calls = calls - ? WHERE id = ?`, len(left), pack); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `DELETE FROM pack WHERE id = ? AND calls <= 0`, pack)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 || !erase {
			if err != nil {
				return err
			}
			continue
		}
		if err := blank(ctx, tx, pack, left); err != nil {
			return err
		}
	}
	return nil
}

// blank overwrites places in a pack.
func blank(ctx context.Context, tx *sql.Tx, pack int64, places []place) error {
	p := shelf{tx, new(atomic.Pointer[opened])}
	o, err := p.open(ctx, pack)
	if err != nil {
		return err
	}
	for _, at := range places {
		if end := at.from + at.arguments + at.replies; end <= len(o.raw) {
			clear(o.raw[at.from:end])
		}
	}
	packed, err := zstdOf(o.raw)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE pack SET data = ? WHERE id = ?`, packed, pack)
	return err
}
