package payload

import (
	"bytes"
	"compress/flate"
	"testing"
)

func TestDeflatedPayloadsAreReadable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestSpeed)
	_, _ = w.Write([]byte("of an earlier version"))
	_ = w.Close()
	if b, err := Decompress(out.Bytes(), Deflate); err != nil || string(b) != "of an earlier version" {
		t.Errorf("%q, %v", b, err)
	}
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
