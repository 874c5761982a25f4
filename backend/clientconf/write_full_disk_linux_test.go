package clientconf

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// If the disk is full while a client's file is written, the old file is unchanged, no
// temporary file remains, the error names the reason, and a retry with free space succeeds.
func TestFullDiskKeepsOldFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	c, home := newConnector(t)
	dir := filepath.Join(home, ".cursor")
	must(t, os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	path := filepath.Join(dir, "mcp.json")
	before := "{\"mcpServers\": {}, \"words\": \"" + strings.Repeat("x", 9000) + "\"}\n"
	write(t, path, before)
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	for chunk := make([]byte, 4<<10); ; {
		if _, err := f.Write(chunk); err != nil {
			break
		}
	}
	_ = f.Close()

	connect := func() error {
		p, err := c.Plan(Choice{Client: "cursor"})
		must(t, err)
		return c.Apply(context.Background(), p)
	}
	err = connect()
	if message, hint := core.Describe(err); err == nil || core.CodeOf(err) == core.CodeInternal || !strings.Contains(message, "full") || hint == "" {
		t.Errorf("%v: %q, %q", err, message, hint)
	}
	if got := content(t, path); got != before {
		t.Errorf("the file holds %d bytes: %.100s", len(got), got)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("the folder holds %v", all)
	}
	must(t, os.Remove(ballast))
	if err := connect(); err != nil || !strings.Contains(content(t, path), "drawbridge") {
		t.Errorf("with room again: %v", err)
	}
}
