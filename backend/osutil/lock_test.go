package osutil

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestReplaceUnchangedDetectsConcurrentWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := ReplaceUnchangedFile(path, nil, false, []byte("one")); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]error{
		"a file that is new":     ReplaceUnchangedFile(path, nil, false, []byte("lost")),
		"a file with other text": ReplaceUnchangedFile(path, []byte("zero"), true, []byte("lost")),
		"a file that has gone":   ReplaceUnchangedFile(path+".gone", []byte("one"), true, []byte("lost")),
	} {
		if !errors.Is(try, ErrChanged) {
			t.Errorf("%s: %v", name, try)
		}
	}
	if err := ReplaceUnchangedFile(path, []byte("one"), true, []byte("two")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "two" {
		t.Errorf("the file holds %q", got)
	}
}

func TestLockIsExclusiveWithTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "file")
	unlock, err := LockBeside(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := LockBeside(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second lock: %v", err)
	}
	unlock()
	again, err := LockBeside(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
