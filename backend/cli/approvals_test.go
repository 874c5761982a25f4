package cli

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestApprovalsAreAnsweredAsTheyArrive uses one call that is pending at the start, and one that
// arrives while the first is answered.
func TestApprovalsAreAnsweredAsTheyArrive(t *testing.T) {
	f := newFakeDaemon(t)
	var answered atomic.Int32
	said, first := make(chan string, 2), make(chan struct{})
	firstSaid := sync.OnceFunc(func() { close(first) })
	f.mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "event: snapshot\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-first:
		case <-r.Context().Done():
		}
		io.WriteString(w, "event: approval\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f.mux.HandleFunc("GET /api/v1/approvals", func(w http.ResponseWriter, _ *http.Request) {
		if answered.Load() == 0 {
			io.WriteString(w, `{"items":[{"id":"a1","kind":"call","server":"files","tool":"rm","arguments":"{}","client":{"token":"cursor"}}]}`)
			return
		}
		io.WriteString(w, `{"items":[{"id":"b2","kind":"call","server":"files","tool":"mv","arguments":"{}","client":{"token":"cursor"}}]}`)
	})
	f.mux.HandleFunc("POST /api/v1/approvals/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answered.Add(1)
		said <- r.PathValue("id") + string(body)
		firstSaid()
		w.WriteHeader(http.StatusNoContent)
	})
	got := f.typed("y\nn\n", "approvals", "--wait")
	if got.code != 0 || !strings.Contains(got.out, "files: call rm {}, requested by cursor\n  Allow? [y/N]   Allowed.") || answered.Load() < 1 {
		t.Errorf("%+v", got)
	}
	if one := <-said; !strings.HasPrefix(one, "a1") || !strings.Contains(one, `"accept"`) {
		t.Error(one)
	}
}

func TestOnlyApprovalEventsRefreshPrompt(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]int{"snapshot": 1, "approval": 1, "call": 0, "server": 0} {
		changed := make(chan struct{}, 1)
		signalApprovals(strings.NewReader("event: "+event+"\ndata: {}\n\n"), changed, nil)
		if len(changed) != want {
			t.Errorf("%s: %d", event, len(changed))
		}
	}
}
