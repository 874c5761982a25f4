package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/store/payload"
)

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

// overwritePayloads overwrites the payloads at places in a block with zeros.
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
