package payload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPayloadWithTooLargeLengthIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Decompress([]byte("\xff\xff\xff\xff\x0fno"), S2)
	assert.Error(t, err, "no error for a payload that claims to be too large")
}

func FuzzDecodeLocation(f *testing.F) {
	f.Add(Location{1, 2, 3, 4}.Encode())
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLocation(b)
		assert.Falsef(t, err == nil && (l.From < 0 || l.Arguments < 0 || l.Reply < 0 || l.End() > 3*maxDecompressed), "%x is decoded as %+v", b, l)
	})
}
