package clientconf

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The record is on disk before the client's file is modified: if the record cannot be
// written, the file is unchanged. Otherwise a kill in between would leave an entry that
// cannot be undone.
func TestRecordIsWrittenBeforeFile(t *testing.T) {
	c, _, path := newClaudeConnector(t)
	p, err := c.Plan(Choice{Client: "claude-code"})
	must(t, err)
	// A directory takes the path of the record just before it is written.
	c.now = func() time.Time {
		if err := os.MkdirAll(filepath.Join(c.recordPath(p.Key()), "in the way"), 0o700); err != nil {
			t.Error(err)
		}
		return time.Now()
	}
	if err := c.Apply(context.Background(), p); err == nil {
		t.Fatal("the record could be written")
	}
	if got := content(t, path); got != claudeFile {
		t.Errorf("without a record the file became\n%s", got)
	}
}
