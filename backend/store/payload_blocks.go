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

	"github.com/klauspost/compress/zstd"
)

// payloadPlace is the position of the payloads of a call in a block.
type payloadPlace struct {
	pack                     int64
	from, arguments, replies int // bytes
}

func (p payloadPlace) bytes() []byte {
	out := binary.AppendUvarint(nil, uint64(p.pack))
	for _, n := range []int{p.from, p.arguments, p.replies} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

var errPlace = errors.New("the place of a payload cannot be read")

func parsePlace(b []byte) (p payloadPlace, err error) {
	var n [4]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || i > 0 && v > maxUnpacked {
			return p, errPlace
		}
		n[i], b = v, b[size:]
	}
	return payloadPlace{int64(n[0]), int(n[1]), int(n[2]), int(n[3])}, nil
}

var unzstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxUnpacked))
})

// openBlock is the block that was decompressed most recently. Consecutive calls are usually in the
// same block.
type openBlock struct {
	id  int64
	raw []byte
}

// payloadReader reads payloads, whether or not they are in a block. No rows of db may be open,
// unless db is a transaction.
type payloadReader struct {
	db   queryer
	last *atomic.Pointer[openBlock]
}

// read returns the original arguments and reply of a call.
func (p payloadReader) read(ctx context.Context, args, reply storedPayload) (a, r []byte, err error) {
	if args.enc != encTogether {
		if a, err = unpack(args.data, args.enc); err != nil {
			return nil, nil, err
		}
		r, err = unpack(reply.data, reply.enc)
		return a, r, err
	}
	at, err := parsePlace(args.data)
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
	return cloneNonEmpty(pack.raw[at.from : at.from+at.arguments]), cloneNonEmpty(pack.raw[at.from+at.arguments : end]), nil
}

// cloneNonEmpty returns a copy of b, or nil if b is empty.
func cloneNonEmpty(b []byte) []byte { return append([]byte(nil), b...) }

func (p payloadReader) open(ctx context.Context, id int64) (*openBlock, error) {
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
	o := &openBlock{id, raw}
	p.last.Store(o)
	return o, nil
}

// removeFromBlocks removes the payloads of calls from their blocks, before the rows of the calls
// are deleted. Blocks that are no longer referenced are deleted. With erase, the payloads of the
// calls are overwritten in the blocks that remain.
func removeFromBlocks(ctx context.Context, tx *sql.Tx, gone []any, erase bool) error {
	rows, err := tx.QueryContext(ctx, `SELECT arguments FROM body WHERE arguments_enc = `+strconv.Itoa(encTogether)+` AND id IN (?`+strings.Repeat(`,?`, len(gone)-1)+`)`, gone...)
	if err != nil {
		return err
	}
	places := make(map[int64][]payloadPlace)
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			_ = rows.Close()
			return err
		}
		if p, err := parsePlace(b); err == nil {
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
		if err := overwritePlaces(ctx, tx, pack, left); err != nil {
			return err
		}
	}
	return nil
}

// overwritePlaces overwrites the payloads at places in a block with zeros.
func overwritePlaces(ctx context.Context, tx *sql.Tx, pack int64, places []payloadPlace) error {
	p := payloadReader{tx, new(atomic.Pointer[openBlock])}
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
