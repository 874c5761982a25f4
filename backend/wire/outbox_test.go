package wire

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// narrowWriter is a writer that accepts only as many bytes at once as it has space for, and
// sometimes none.
type narrowWriter struct {
	mu     sync.Mutex
	out    bytes.Buffer
	busy   bool
	writes int
	t      *testing.T
}

func (n *narrowWriter) enter() {
	n.mu.Lock()
	if n.busy {
		n.t.Error("two write at the same time")
	}
	n.busy = true
	n.writes++
	n.mu.Unlock()
}

func (n *narrowWriter) leave() {
	n.mu.Lock()
	n.busy = false
	n.mu.Unlock()
}

func (n *narrowWriter) TryWrite(p []byte) int {
	n.enter()
	defer n.leave()
	room := len(p)
	if rand.IntN(2) == 0 {
		room = rand.IntN(len(p))
	}
	_, _ = n.keep(p[:room])
	return room
}

func (n *narrowWriter) Write(p []byte) (int, error) {
	n.enter()
	defer n.leave()
	return n.keep(p)
}

func (n *narrowWriter) keep(p []byte) (int, error) {
	n.mu.Lock() // size is called concurrently
	defer n.mu.Unlock()
	return n.out.Write(p)
}

func (n *narrowWriter) size() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out.Len()
}

// Messages of several senders, some written immediately and some queued, arrive complete, and in
// order for each sender.
func TestConcurrentWritesKeepOrder(t *testing.T) {
	t.Parallel()
	w := &narrowWriter{t: t}
	done := make(chan struct{})
	o := &outbox{
		w: w, timeout: time.Minute, done: done, framed: func() bool { return false },
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
				if !o.enqueue(context.Background(), len(line), func(dst []byte) []byte { return append(dst, line...) }) {
					t.Error("not sent")
				}
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
		if next[s] != each {
			t.Errorf("%d of %d messages of sender %d", next[s], each, s)
		}
	}
}
