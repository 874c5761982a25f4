package wire

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// countedBuffer is a buffer whose size can be read while it is written.
type countedBuffer struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *countedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *countedBuffer) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Len()
}

// Messages of several senders arrive complete, and in order for each sender.
func TestConcurrentWritesKeepOrder(t *testing.T) {
	t.Parallel()
	w := &countedBuffer{}
	done := make(chan struct{})
	o := &outbox{
		w: w, timeout: time.Minute, done: done, usesContentLength: func() bool { return false },
		heardSince: func(time.Time) bool { return true }, onStuck: func() {}, wake: make(chan struct{}, 1),
		turn: make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
	var running, senders sync.WaitGroup
	running.Go(func() { _ = o.run() })
	const each = 500
	total := 0
	for s := range 4 {
		for i := range each {
			total += len(fmt.Sprintf("%d %d\n", s, i))
		}
		senders.Go(func() {
			for i := range each {
				line := fmt.Sprintf("%d %d", s, i)
				assert.True(t, o.enqueue(context.Background(), len(line), func(dst []byte) []byte { return append(dst, line...) }), "not sent")
			}
		})
	}
	senders.Wait()
	eventually.True(t, "everything is written", func() bool { return w.size() >= total })
	close(done)
	running.Wait()
	next := map[int]int{}
	for line := range strings.Lines(w.out.String()) {
		var s, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &s, &i); err != nil || next[s] != i {
			t.Fatalf("%q came where %d of sender %d was due", line, next[s], s)
		}
		next[s]++
	}
	for s := range 4 {
		assert.Equal(t, each, next[s])
	}
}
