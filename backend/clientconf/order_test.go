package clientconf

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What undo needs is on the disk before the client's file is touched: when it cannot be
// written, the file stays as it was. Otherwise a kill in between would leave an entry that
// nobody remembers.
func TestRecordIsWrittenBeforeFile(t *testing.T) {
	c, home := newConnector(t)
	path := filepath.Join(home, ".claude.json")
	write(t, path, claudeFile)
	p, err := c.Plan(Choice{Client: "claude-code"})
	if err != nil {
		t.Fatal(err)
	}
	// The last moment before the record is written: a folder takes its name.
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
