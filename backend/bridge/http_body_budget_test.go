package bridge

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

// slowBody sends a request whose last byte is sent when finish is called. announced -1 sends it
// chunked.
func (s *fixture) slowBody(size int, announced int64, headers ...string) (status <-chan int, finish func()) {
	s.Helper()
	body := strings.Replace(ping, "}", `,"params":{"pad":"`+strings.Repeat("x", size)+`"}}`, 1)
	out, in := io.Pipe()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.srv.URL+"/mcp", out)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	if req.ContentLength = announced; announced > 0 {
		req.ContentLength = int64(len(body))
	}
	end, got := make(chan struct{}), make(chan int, 1)
	go func() {
		_, _ = io.WriteString(in, body[:len(body)-1])
		<-end
		_, _ = io.WriteString(in, body[len(body)-1:])
		_ = in.Close()
	}()
	go func() {
		resp, err := s.srv.Client().Do(req)
		if err != nil {
			got <- 0
			return
		}
		_ = resp.Body.Close()
		got <- resp.StatusCode
	}()
	return got, func() { close(end) }
}

// waitForBudget waits until this many bytes of the body budget are in use.
func (s *fixture) waitForBudget(bytes int64) {
	s.Helper()
	rest := s.bridge.BodyBudget - bytes + 1
	eventually.True(s.T, "the bodies are held", func() bool {
		free := s.bridge.bodyBudget.semaphore.TryAcquire(rest)
		if free {
			s.bridge.bodyBudget.semaphore.Release(rest)
		}
		return !free
	})
}

const largeBody = 250 << 10

// TestLargeBodiesStayWithinBudget also checks that small bodies are not delayed by large ones.
func TestLargeBodiesStayWithinBudget(t *testing.T) {
	for _, announced := range []int64{1, -1} {
		s := newFixture(t, nil, func(o *Options) { o.MaxBody, o.BodyBudget = 256<<10, 600<<10 })
		s.bridge.bodyBudget.timeout = time.Minute
		h := s.openSession("/mcp", `{}`)
		first, finishFirst := s.slowBody(largeBody, announced, h...)
		second, finishSecond := s.slowBody(largeBody, announced, h...)
		s.waitForBudget(2 * largeBody)
		third, finishThird := s.slowBody(largeBody, announced, h...)
		finishThird()
		assert.Equal(t, http.StatusOK, s.post("/mcp", ping, h...).StatusCode, "a small request meanwhile")
		select {
		case status := <-third:
			t.Errorf("the third was answered with %d", status)
		default:
		}
		finishFirst()
		status := <-first
		assert.Equal(t, http.StatusOK, status, "the first")
		status = <-third
		assert.Equal(t, http.StatusOK, status, "the third")
		finishSecond()
		status = <-second
		assert.Equal(t, http.StatusOK, status, "the second")
	}
}

// The refusal does not wait for the rest of the body.
func TestLargeBodyBeyondBudgetIsRefusedImmediately(t *testing.T) {
	for _, announced := range []int64{1, -1} {
		s := newFixture(t, nil, func(o *Options) { o.MaxBody, o.BodyBudget = 256<<10, 300<<10 })
		s.bridge.bodyBudget.timeout = time.Millisecond
		h := s.openSession("/mcp", `{}`)
		first, finish := s.slowBody(largeBody, announced, h...)
		s.waitForBudget(largeBody)
		second, finishSecond := s.slowBody(largeBody, announced, h...)
		status := <-second
		assert.Equal(t, http.StatusServiceUnavailable, status, "without room")
		finishSecond()
		finish()
		status = <-first
		assert.Equal(t, http.StatusOK, status, "with room")
	}
}

// deadlineWriter is a response writer that notes the read deadline.
type deadlineWriter struct {
	http.ResponseWriter
	read time.Time
}

func (d *deadlineWriter) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

// A body that had to wait for budget has its full time to arrive afterwards.
func TestReadDeadlineStartsAfterWaitForBudget(t *testing.T) {
	t.Parallel()
	b := bodyBudget{semaphore: semaphore.NewWeighted(largeBody), timeout: time.Minute}
	w, r := &deadlineWriter{}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	release, err := b.acquire(w, r, largeBody)
	if err != nil || !w.read.IsZero() {
		t.Fatalf("without a wait: deadline %v, %v", w.read, err)
	}
	began := time.Now()
	acquired := make(chan error, 1)
	var releaseSecond func()
	go func() {
		var err error
		releaseSecond, err = b.acquire(w, r, largeBody)
		acquired <- err
	}()
	eventually.True(t, "the second body waits", func() bool { return !b.semaphore.TryAcquire(0) }) // never while others wait
	release()
	err = <-acquired
	require.NoError(t, err)
	defer releaseSecond()
	if w.read.Before(began.Add(bodyReadTimeout)) {
		t.Errorf("the deadline is %s after the request", w.read.Sub(began))
	}
}
