package histogram

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, blob []byte) {
		var h, again Histogram
		h.AddBins(Decode(nil, blob)) // possibly invalid
		again.AddBins(Decode(nil, h.Encode()))
		require.Equal(t, string(h.Encode()), string(again.Encode()))
		require.Equal(t, h.n, again.n)
	})
}
