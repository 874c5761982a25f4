package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type sse struct {
	kind string
	data string
}

// listen opens the event stream at path and passes on its events. A comment is an empty event.
func (s *site) listen(t *testing.T, path string) <-chan sse {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, _ := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	req.Header.Set("Authorization", "Bearer "+s.admin)
	res, err := http.DefaultClient.Do(req)
	require.Truef(t, err == nil && res.StatusCode == 200 && res.Header.Get("Content-Type") == "text/event-stream", "%v %v", res, err)
	out := make(chan sse, 4096)
	go func() {
		defer close(out)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 4<<20)
		var e sse
		for lines.Scan() {
			switch kind, value, _ := strings.Cut(lines.Text(), ": "); kind {
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				out <- e
				e = sse{}
			}
		}
	}()
	return out
}

func next(t *testing.T, events <-chan sse) sse {
	t.Helper()
	select {
	case e, ok := <-events:
		require.True(t, ok, "the stream ended")
		return e
	case <-time.After(time.Minute):
		t.Fatal("no event within a minute")
	}
	return sse{}
}

// The schemas of the operations take megabytes, which an idle daemon without a page does not need.
func TestOperationsAreKeptInMemoryOnlyForPages(t *testing.T) {
	s := newSite(t)
	kept := func() bool {
		s.api.ReleaseMemory()
		s.api.buildMu.Lock()
		defer s.api.buildMu.Unlock()
		return s.api.built != nil
	}
	for range 2 {
		s.want(t, "GET", "/api/v1/servers", "", 200)
		assert.False(t, kept(), "the operations are in memory although no page is open")
	}
	s.ask(t, "GET", "/api/v1/servers", "")
	next(t, s.listen(t, "/api/v1/events"))
	assert.True(t, kept(), "the operations of an open page were dropped")
}

func TestEventStreamStartsWithSnapshot(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	for n := range 3 {
		s.recorder.Record(&core.Call{ID: int64(1000 + n), Method: "tools/call", Outcome: core.OutcomeOK}, core.Reply{})
	}
	flushing, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s.recorder.Flush(flushing)
	s.running = &core.Call{ID: 2000, Method: "tools/call"}
	events := s.listen(t, "/api/v1/events")
	first := next(t, events)
	var snap Snapshot
	require.Equal(t, "snapshot", first.kind, "the first event")
	require.NoError(t, json.Unmarshal([]byte(first.data), &snap), "the first event")
	var ids []string
	for _, c := range snap.Calls {
		ids = append(ids, c.ID+string(c.Outcome))
	}
	got := strings.Join(ids, " ")
	require.Truef(t, got == "2000 1002ok 1001ok 1000ok" && snap.Status.Version == "1.2.3" && len(snap.Status.Servers) == 1, "the snapshot is %+v", snap)
	s.bus.Publish(core.ServerEvent, core.ServerStatus{ID: "files", State: core.StateRestarting})
	s.bus.Publish(core.RemovedEvent, "git")
	s.bus.Publish(core.CallEvent, core.Call{ID: 2000, Outcome: core.OutcomeTimeout, Reason: "a\nb"})
	for _, want := range []string{`server {"id":"files"`, `removed "git"`, `call {"id":"2000"`} {
		e := next(t, events)
		if got := e.kind + " " + e.data; !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s...", got, want)
		}
	}
}

func TestSlowEventReaderIsDisconnected(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Limit)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/api/v1/events", nil)
	req.Header.Set("Authorization", "Bearer "+s.admin)
	slow, err := http.DefaultClient.Do(req) // it is subscribed when this returns
	require.NoError(t, err)
	defer func() { _ = slow.Body.Close() }()
	long := strings.Repeat("x", 16<<10) // so that the events exceed the queue and the buffers of the connection
	done := make(chan struct{})
	go func() { // a bus that waits for its subscribers would block here
		defer close(done)
		for n := range 2 * streamQueueSize {
			s.bus.Publish(core.NoticeEvent, core.Notice{Subject: fmt.Sprint(n), Message: long})
		}
	}()
	eventually.Receive(t, 60*time.Second, "publishing waits for a slow reader", done)
	n, err := io.Copy(io.Discard, slow.Body)
	assert.NoErrorf(t, ctx.Err(), "the stream has not ended after %d bytes: %v", n, err)
}
