package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// payloadLocation is the position of the payloads of a call in a block.
type payloadLocation struct {
	block                    int64
	from, arguments, replies int // bytes
}

func (p payloadLocation) encode() []byte {
	out := binary.AppendUvarint(nil, uint64(p.block))
	for _, n := range []int{p.from, p.arguments, p.replies} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

var errBadLocation = errors.New("the place of a payload cannot be read")

func decodeLocation(b []byte) (p payloadLocation, err error) {
	var n [4]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || i > 0 && v > maxDecompressed {
			return p, errBadLocation
		}
		n[i], b = v, b[size:]
	}
	return payloadLocation{int64(n[0]), int(n[1]), int(n[2]), int(n[3])}, nil
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxDecompressed))
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
	if args.enc != encBlock {
		if a, err = decompress(args.data, args.enc); err != nil {
			return nil, nil, err
		}
		r, err = decompress(reply.data, reply.enc)
		return a, r, err
	}
	at, err := decodeLocation(args.data)
	if err != nil {
		return nil, nil, err
	}
	pack, err := p.open(ctx, at.block)
	if err != nil {
		return nil, nil, err
	}
	end := at.from + at.arguments + at.replies
	if end > len(pack.raw) {
		return nil, nil, errBadLocation
	}
	return cloneNonEmpty(pack.raw[at.from : at.from+at.arguments]), cloneNonEmpty(pack.raw[at.from+at.arguments : end]), nil
}

// cloneNonEmpty returns a copy of b, or nil if b is empty.
func cloneNonEmpty(b []byte) []byte { return append([]byte(nil), b...) }

func (p payloadReader) open(ctx context.Context, id int64) (*openBlock, error) {
	if o := p.last.Load(); o != nil && o.id == id {
		return o, nil
	}
	var data []byte
	err := p.db.QueryRowContext(ctx, `SELECT data FROM pack WHERE id = ?`, id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errBadLocation
	}
	if err != nil {
		return nil, err
	}
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	raw, err := d.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadLocation, err)
	}
	o := &openBlock{id, raw}
	p.last.Store(o)
	return o, nil
}

// removeFromBlocks removes the payloads of calls from their blocks, before the rows of the calls
// are deleted. Blocks that are no longer referenced are deleted. With erase, the payloads of the
// calls are overwritten in the blocks that remain.
func removeFromBlocks(ctx context.Context, tx *sql.Tx, gone []any, erase bool) error {
	places := make(map[int64][]payloadLocation)
	err := eachRow(ctx, tx, func(row scanner) error {
		var b []byte
		if err := row.Scan(&b); err != nil {
			return err
		}
		if p, err := decodeLocation(b); err == nil {
			places[p.block] = append(places[p.block], p)
		}
		return nil
	}, `SELECT arguments FROM body WHERE arguments_enc = `+strconv.Itoa(encBlock)+` AND id IN (`+placeholders(len(gone))+`)`, gone...)
	if err != nil {
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
		deleted, err := res.RowsAffected()
		if err == nil && deleted == 0 && erase {
			err = overwritePayloads(ctx, tx, pack, left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overwritePayloads overwrites the payloads at places in a block with zeros.
func overwritePayloads(ctx context.Context, tx *sql.Tx, pack int64, places []payloadLocation) error {
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
	packed, err := compressBlock(o.raw)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE pack SET data = ? WHERE id = ?`, packed, pack)
	return err
}
