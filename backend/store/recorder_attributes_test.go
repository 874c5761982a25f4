package store

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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
