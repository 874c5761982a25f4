package payload

import (
	"testing"
)

func TestPayloadWithTooLargeLengthIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Decompress([]byte("\xff\xff\xff\xff\x0fno"), S2); err == nil {
		t.Error("no error for a payload that claims to be too large")
	}
}

func FuzzDecodeLocation(f *testing.F) {
	f.Add(Location{1, 2, 3, 4}.Encode())
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLocation(b)
		if err == nil && (l.From < 0 || l.Arguments < 0 || l.Reply < 0 || l.End() > 3*maxDecompressed) {
			t.Errorf("%x is decoded as %+v", b, l)
		}
	})
}
