package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestCallHandlingIsStored(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "h.db"))
	at := time.Now().UTC()
	for i, c := range []core.Call{
		{Outcome: core.OutcomeOK},
		{Outcome: core.OutcomeOK, Cached: true},
		{Outcome: core.OutcomeRejected, Approval: core.Denied},
		{Outcome: core.OutcomeOK, Cached: true, Approval: core.ApprovedMinutes, Attempts: 3},
	} {
		c.ID, c.At, c.Server, c.Method, c.Name = at.UnixMicro()+int64(i), at, "files", "tools/call", "read"
		b.Recorder().Record(&c, core.Reply{})
	}
	calls, _, err := b.Calls(context.Background(), Query{})
	if err != nil || len(calls) != 4 {
		t.Fatal(len(calls), err)
	}
	if calls[3].Cached || calls[3].Approval != "" || !calls[2].Cached || calls[1].Approval != core.Denied || !calls[0].Cached || calls[0].Approval != core.ApprovedMinutes || calls[0].Attempts != 3 {
		t.Errorf("%+v", calls)
	}
	one, err := b.Call(context.Background(), calls[0].ID)
	if err != nil || !one.Cached || one.Approval != core.ApprovedMinutes {
		t.Errorf("%+v %v", one, err)
	}
}

// TestStackIsStoredCutAndRedacted is of a call that ended by a mistake of ours.
func TestStackIsStoredCutAndRedacted(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	c := aCall(1)
	c.Stack = "goroutine 7: token=ghp_cnry17A1b2C3d4E5f6G7h8I9j0\n" + strings.Repeat("é", MaxStack)
	b.Recorder().Record(c, core.Reply{})
	b.Recorder().Record(aCall(2), core.Reply{})
	got, err := b.Call(t.Context(), c.ID)
	if err != nil || utf8.RuneCountInString(got.Stack) != MaxStack || !strings.HasPrefix(got.Stack, "goroutine 7") || strings.Contains(got.Stack, "ghp_") {
		t.Fatalf("a stack came back with %d characters, %.80q, %v", utf8.RuneCountInString(got.Stack), got.Stack, err)
	}
	if other, err := b.Call(t.Context(), aCall(2).ID); err != nil || other.Stack != "" {
		t.Errorf("another call has the stack %.80q, %v", other.Stack, err)
	}
	if _, err := b.Erase(t.Context(), Selection{IDs: []int64{c.ID}}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(b.path); err != nil || bytes.Contains(data, []byte("goroutine 7")) {
		t.Errorf("an erased stack stays in the file, %v", err)
	}
}

func TestToolWithoutPayloadRecordingStoresNoStack(t *testing.T) {
	b := fresh(t)
	if err := b.SaveRecording(t.Context(), Recording{Rules: []Rule{{Server: "files", Keep: KeepMeta}}}); err != nil {
		t.Fatal(err)
	}
	c := aCall(1)
	c.Outcome, c.Code, c.Reason, c.Stack = core.OutcomeProtocolError, core.CodeInternal, "panic: 7", "panic: planted-argument\ngoroutine 7"
	b.Recorder().Record(c, aReply)
	flushed(t, b)
	if got, err := b.Call(t.Context(), c.ID); err != nil || got.Stack != "" || got.Reason != "" {
		t.Errorf("kept %q and %q, %v", got.Reason, got.Stack, err)
	}
}
