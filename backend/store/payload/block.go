package payload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// BlockBytes is the approximate uncompressed size of a block.
const BlockBytes = 128 << 10

// ErrBadLocation means that a payload cannot be read from its block.
var ErrBadLocation = errors.New("the stored location of a payload is not valid")

// Location is the position of the payloads of a call in a block.
type Location struct {
	Block                  int64
	From, Arguments, Reply int // bytes; the reply follows the arguments
}

// End returns the position after the reply.
func (l Location) End() int { return l.From + l.Arguments + l.Reply }

// Encode returns the stored form of the location.
func (l Location) Encode() []byte {
	out := binary.AppendUvarint(nil, uint64(l.Block))
	for _, n := range []int{l.From, l.Arguments, l.Reply} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

// DecodeLocation decodes the stored form of a location.
func DecodeLocation(b []byte) (Location, error) {
	var n [4]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || i > 0 && v > maxDecompressed {
			return Location{}, ErrBadLocation
		}
		n[i], b = v, b[size:]
	}
	return Location{int64(n[0]), int(n[1]), int(n[2]), int(n[3])}, nil
}

// CompressBlock compresses the payloads of a block.
func CompressBlock(raw []byte) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(BlockBytes), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(raw, nil), e.Close()
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxDecompressed))
})

// DecompressBlock returns the payloads of a block.
func DecompressBlock(data []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	raw, err := d.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadLocation, err)
	}
	return raw, nil
}
