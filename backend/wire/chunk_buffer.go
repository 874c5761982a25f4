package wire

import "sync"

const chunkSize = 256 << 10

var chunkPool = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// chunks collects a long message in reusable pieces, so that neither growing a buffer nor
// discarding an oversized message leaves garbage.
type chunks struct {
	full []*[chunkSize]byte // all but the last are full
	size int
}

func (c *chunks) add(part []byte) {
	for len(part) > 0 {
		at := c.size % chunkSize
		if at == 0 {
			c.full = append(c.full, chunkPool.Get().(*[chunkSize]byte))
		}
		n := copy(c.full[len(c.full)-1][at:], part)
		c.size += n
		part = part[n:]
	}
}

// head returns a copy of at most the first n bytes.
func (c *chunks) head(n int) []byte {
	n = min(n, c.size)
	out := make([]byte, 0, n)
	for _, piece := range c.full {
		out = append(out, piece[:min(chunkSize, n-len(out))]...)
	}
	return out
}

// tail returns a copy of at most the last n bytes.
func (c *chunks) tail(n int) []byte {
	n = min(n, c.size)
	out := make([]byte, n)
	for i := range out {
		at := c.size - n + i
		out[i] = c.full[at/chunkSize][at%chunkSize]
	}
	return out
}

func (c *chunks) release() {
	for _, piece := range c.full {
		chunkPool.Put(piece)
	}
	*c = chunks{}
}
