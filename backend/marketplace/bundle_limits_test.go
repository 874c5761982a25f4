package marketplace

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// claiming changes the packed and unpacked sizes that a zip's central directory declares for its
// files, by index. 0 leaves a size unchanged.
func claiming(t testing.TB, src []byte, sizes map[int][2]uint32) []byte {
	t.Helper()
	src = bytes.Clone(src)
	changed, at := 0, 0
	for i := 0; ; i++ {
		next := bytes.Index(src[at:], []byte("PK\x01\x02"))
		if next < 0 {
			break
		}
		at += next
		if s, ok := sizes[i]; ok {
			for j, n := range s {
				if n > 0 {
					binary.LittleEndian.PutUint32(src[at+20+4*j:], n)
				}
			}
			changed++
		}
		at += 4
	}
	require.Equal(t, len(sizes), changed)
	return src
}

// Each limit has a message of its own, so that a missing limit is not masked by another one.
func TestEveryBundleLimitHolds(t *testing.T) {
	three := hello(t, zipped{name: "server/a.bin", body: "a"}, zipped{name: "server/b.bin", body: "b"})
	stored := uint32(len(three))
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // incompressible: 1 MiB, of which 120 MiB are more than a hundred times and twice of that not
	big := hello(t, zipped{name: "server/a.bin", body: string(noise)}, zipped{name: "server/b.bin", body: "b"})
	const mib = 1 << 20
	for name, c := range map[string]struct {
		src  []byte
		want string // "" for none
	}{
		"the file is too large":              {make([]byte, MaxBundle+1), "larger than 256 MiB"},
		"one file is too large":              {claiming(t, three, map[int][2]uint32{2: {0, maxUnpacked + 1}}), `"server/a.bin" in the bundle is too large`},
		"packed it is larger than the whole": {claiming(t, three, map[int][2]uint32{2: {stored + 1, 0}}), `"server/a.bin" in the bundle is too large`},
		"all together are too large":         {claiming(t, three, map[int][2]uint32{2: {0, maxUnpacked / 2}, 3: {0, maxUnpacked/2 + 1}}), "more than 1024 MiB"},
		"it grows a hundredfold":             {claiming(t, three, map[int][2]uint32{2: {0, minSizeForRatio + mib}}), "decompression bomb"},
		"small, it may grow":                 {claiming(t, three, map[int][2]uint32{2: {0, minSizeForRatio - mib}}), ""},
		"its packed bytes are counted twice": {claiming(t, big, map[int][2]uint32{2: {uint32(len(big)), 60 * mib}, 3: {uint32(len(big)), 60 * mib}}), "decompression bomb"},
		"its manifest is too large":          {pack(t, zipped{name: "manifest.json", body: strings.Repeat(" ", maxRecord) + nodeManifest}, zipped{name: "server/index.js", body: "x"}), "manifest.json in the bundle is too large"},
		"as deep as may be":                  {hello(t, zipped{name: strings.Repeat("d/", maxDepth-1) + "f", body: "x"}), ""},
		"a name as long as may be":           {hello(t, zipped{name: strings.Repeat("n", maxEntryName), body: "x"}), ""},
		"a name too long by one":             {hello(t, zipped{name: strings.Repeat("n", maxEntryName+1), body: "x"}), "too long"},
	} {
		_, err := ReadBundle(c.src)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
