package histogram

import "testing"

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, blob []byte) {
		var h, again Histogram
		h.AddBins(Decode(nil, blob)) // possibly invalid
		again.AddBins(Decode(nil, h.Encode()))
		if string(again.Encode()) != string(h.Encode()) || again.n != h.n {
			t.Fatalf("%v became %v", h, again)
		}
	})
}
