package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{60, 2 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "history.db")})
			if err != nil {
				b.Fatal(err)
			}
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

func TestRecordAllocatesAlmostNothing(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "history.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, c := s.Recorder(), aCall(1)
	n := testing.AllocsPerRun(50, func() {
		for range 100 {
			r.Record(c, aReply)
		}
		r.completeBatch(r.nextBatch())
	})
	if n > 100 && !slow { // with the race detector, pools drop buffers
		t.Errorf("%v allocations for 100 calls", n)
	}
}
