package store

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

func TestProgressIsStoredWithoutSecrets(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	defer b.stop()
	b.Recorder().SetCeiling(map[string]RecordLevel{"quiet": KeepMeta}, nil)
	for i, server := range []string{"files", "quiet", "files"} {
		c := aCall(i)
		if c.Server = server; i < 2 {
			c.ProgressLog = []core.ProgressNotification{
				{AfterMs: 5, Params: []byte(`{"progress":1.0, "message":"<a>"}`)},
				{AfterMs: 9, Params: []byte(`{"progress":2,"message":"token=ghp_cnry17A1b2C3d4E5f6G7h8I9j0"}`)},
			}
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	got, err := b.Call(t.Context(), aCall(0).ID)
	if err != nil || len(got.ProgressLog) != 2 || got.ProgressLog[0].AfterMs != 5 || string(got.ProgressLog[0].Params) != `{"progress":1.0,"message":"<a>"}` ||
		got.ProgressLog[1].AfterMs != 9 || strings.Contains(string(got.ProgressLog[1].Params), "ghp_") || !strings.Contains(string(got.ProgressLog[1].Params), redact.Mark) {
		t.Errorf("%+v, %v", got.ProgressLog, err)
	}
	for _, i := range []int{1, 2} {
		if got, err := b.Call(t.Context(), aCall(i).ID); err != nil || got.ProgressLog != nil {
			t.Errorf("call %d: %+v, %v", i, got.ProgressLog, err)
		}
	}
	if b.recorder.bytes != 0 {
		t.Errorf("%d bytes are counted as queued", b.recorder.bytes)
	}
	if _, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(0).ID}}); err != nil {
		t.Fatal(err)
	}
	var rows int
	if _, err := b.queryRow(t.Context(), []any{&rows}, `SELECT count(*) FROM progress_log`); err != nil || rows != 0 {
		t.Errorf("%d rows are left, %v", rows, err)
	}
}

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
