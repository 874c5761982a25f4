package store

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/require"
)

// BenchmarkWrite measures writing batches of calls of 64 sessions.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{60, 10 << 10} {
		b.Run(strconv.Itoa(size)+"B", func(b *testing.B) {
			s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "history.db")})
			require.NoError(b, err)
			defer func() { _ = s.Close() }()
			r := s.Recorder()
			text := strings.Repeat("some words, and more; ", size/22)
			reply := core.Reply{Result: []byte(`{"content":[{"type":"text","text":"` + text + `"}]}`)}
			c := aCall(1)
			c.Params = []byte(`{"name":"add","arguments":{"text":"` + text + `"}}`)
			c.Arguments = core.Span{Start: 26, End: len(c.Params) - 1}
			c.Progress, c.TraceID, c.Shim = 0, "", "" // as in nearly every call
			c.ServedBy = &core.ServedBy{Name: "secure-filesystem-server", Version: "0.2.0", Package: "@modelcontextprotocol/server-filesystem@2026.8.31", Definition: [16]byte{1, 2, 3}}
			sessions := make([]string, 64)
			for i := range sessions {
				sessions[i] = "session-" + strconv.Itoa(i)
			}
			b.ReportAllocs()
			began := processorTime()
			for i := 0; b.Loop(); i++ {
				c.ID = int64(i ^ 37) // calls do not end in the order of their starts
				c.Session = sessions[i%len(sessions)]
				r.Record(c, reply)
				if i%batchRows == batchRows-1 {
					if wait := r.writeBatch(b.Context()); wait != 0 {
						b.Fatal(r.Stats())
					}
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(processorTime()-began)/1e3/float64(b.N), "cpu-µs/op")
			for r.pending() {
				r.writeBatch(b.Context())
			}
			if st := r.Stats(); st.Dropped+st.Stripped > 0 {
				b.Fatalf("%+v", st)
			}
		})
	}
}

// processorTime returns the processor time of this process, which does not depend on the load of the
// machine.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
