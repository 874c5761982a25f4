package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/require"
)

func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{60, 2 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "history.db")})
			require.NoError(b, err)
			defer func() { _ = s.Close() }()
			r := s.Recorder()
			c := aCall(1)
			reply := core.Reply{Result: []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("some words, and more; ", size/22) + `"}]}`)}
			b.SetBytes(int64(len(reply.Result)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Record(c, reply)
				if i%200 == 199 { // instead of writing a batch
					r.completeBatch(r.nextBatch())
				}
			}
		})
	}
}
