package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"drawbridge/backend/hub"
)

func TestWhatWasDoneWithACallIsKept(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "h.db"))
	at := time.Now().UTC()
	for i, c := range []hub.Call{
		{Outcome: hub.OutcomeOK},
		{Outcome: hub.OutcomeOK, Cached: true},
		{Outcome: hub.OutcomeRejected, Approval: hub.Denied},
		{Outcome: hub.OutcomeOK, Cached: true, Approval: hub.ApprovedMinutes, Attempts: 3},
	} {
		c.ID, c.At, c.Server, c.Method, c.Name = at.UnixMicro()+int64(i), at, "files", "tools/call", "read"
		b.Recorder().Record(&c, hub.Reply{})
	}
	calls, _, err := b.Calls(context.Background(), Query{})
	if err != nil || len(calls) != 4 {
		t.Fatal(len(calls), err)
	}
	if calls[3].Cached || calls[3].Approval != "" || !calls[2].Cached || calls[1].Approval != hub.Denied || !calls[0].Cached || calls[0].Approval != hub.ApprovedMinutes || calls[0].Attempts != 3 {
		t.Errorf("%+v", calls)
	}
	one, err := b.Call(context.Background(), calls[0].ID)
	if err != nil || !one.Cached || one.Approval != hub.ApprovedMinutes {
		t.Errorf("%+v %v", one, err)
	}
}
