package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

const (
	heartbeat       = 15 * time.Second
	writeTimeout    = 10 * time.Second // for a reader that takes nothing
	streamQueueSize = 2048             // events that a reader may lag behind
	snapshotCalls   = 100
)

// events streams what changes: first a snapshot, then each event. It subscribes
// before it looks, so nothing falls in between; what is in both is the same twice.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	sub := a.Bus.Subscribe(streamQueueSize)
	defer sub.Close()
	a.streams.Add(1)
	defer a.streams.Add(-1)
	defer a.Approvals.Inbox.AddViewer(func() bool { return true })()
	s := newStream(w)
	s.encodeData = a.eventData
	if s.send("snapshot", a.snapshot(r.Context())) != nil {
		return
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if s.write([]byte(": still here\n\n")) != nil {
				return
			}
		case e, open := <-sub.Events():
			if !open || s.forward(e, sub.Events()) != nil {
				return // too slow: the reader begins again with a snapshot
			}
		}
	}
}

func (a *API) snapshot(ctx context.Context) Snapshot {
	calls, _, err := a.History.Store.Calls(ctx, store.Query{Limit: snapshotCalls})
	if err != nil {
		a.Log.Debug("Cannot read the newest calls", "error", err)
	}
	known := make(map[int64]bool, len(calls))
	for i := range calls {
		known[calls[i].ID] = true
	}
	for _, c := range a.History.Gateway.Running() {
		if !known[c.ID] {
			calls = append(calls, *a.History.RedactCall(&c))
		}
	}
	slices.SortFunc(calls, func(x, y core.Call) int { return int(max(-1, min(1, y.ID-x.ID))) })
	s := Snapshot{Status: a.Status(), Calls: make([]history.Call, 0, len(calls)), Approvals: a.Approvals.Pending()}
	for i := range calls {
		s.Calls = append(s.Calls, history.NewCall(&calls[i]))
	}
	return s
}

// stream writes server-sent events.
type stream struct {
	encodeData func(data any) any // an event's data as the page knows it
	w          http.ResponseWriter
	rc         *http.ResponseController
	buf        bytes.Buffer
}

// forward sends an event and those that wait behind it in one write.
func (s *stream) forward(e core.Event, more <-chan core.Event) error {
	s.buf.Reset()
	open := true
	for n := 0; open; n++ {
		if err := s.add(string(e.Kind), s.encodeData(e.Data)); err != nil {
			return err
		}
		if n == 256 {
			break
		}
		select {
		case e, open = <-more:
			continue
		default:
		}
		break
	}
	return s.write(s.buf.Bytes())
}

// eventData returns the JSON form of an event's data.
func (a *API) eventData(data any) any {
	switch d := data.(type) {
	case core.Call:
		return history.NewCall(a.History.RedactCall(&d))
	case approvals.Item:
		return approvals.NewApproval(&d)
	}
	return data
}

func (s *stream) send(kind string, data any) error {
	s.buf.Reset()
	if err := s.add(kind, data); err != nil {
		return err
	}
	return s.write(s.buf.Bytes())
}

func (s *stream) add(kind string, data any) error {
	s.buf.WriteString("event: " + kind + "\ndata: ")
	if err := json.NewEncoder(&s.buf).Encode(data); err != nil { // ends with the only line break
		return err
	}
	s.buf.WriteByte('\n')
	return nil
}

func (s *stream) write(b []byte) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // in a test there is no connection
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.rc.Flush()
}
