package wire_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{60, 10 << 10, 1 << 20} {
		for _, parallel := range []int{1, 32} {
			b.Run(fmt.Sprintf("%dB/x%d", size, parallel), func(b *testing.B) {
				m := start(b, "echo", nil)
				params := []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("x", size) + `"}}`)
				b.ReportAllocs()
				b.SetParallelism(parallel)
				run := func() {
					reply, err := m.Call(context.Background(), "tools/call", params, core.Span{}, nil)
					if err != nil || len(reply.Result) < size {
						fmt.Fprintln(os.Stderr, err)
						b.Fail()
					}
				}
				if parallel == 1 {
					for b.Loop() {
						run()
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						run()
					}
				})
			})
		}
	}
}
