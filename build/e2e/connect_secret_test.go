//go:build e2e

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// The test imports a server with a literal token in its entry. The server gets the token, but it is
// in no file, process list or log of ours. Undoing the import removes it.
func TestImportedTokenReachesServerAndNoFile(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{}})
	const canary = "canary-e2e-4f9d1c"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(canary)))
	script := `printf %s "$API_TOKEN" | sha256sum | grep -q ` + sum + ` && exec ` + binary + ` demo-server; echo wrong token >&2; exit 3`
	put(t, filepath.Join(d.home, ".cursor/mcp.json"), fmt.Sprintf(`{"mcpServers": {"guarded": {"command": "sh", "args": ["-c", %q], "env": {"API_TOKEN": %q}}}}`, script, canary))
	before := take(t, filepath.Join(d.data, "config.jsonc"))

	said := d.cli(0, "clients", "import", "cursor", "--yes")
	d.running("guarded")
	said += d.cli(0, "secret", "list") + d.cli(0, "secret", "list", "--json")
	if !strings.Contains(said, "guarded.API_TOKEN") {
		t.Fatalf("no such secret:\n%s", said)
	}
	code, answer := d.do("POST", "/api/v1/call", strings.NewReader(`{"server":"guarded","tool":"echo","arguments":{"text":"my token is `+canary+`"}}`))
	if code != 200 {
		t.Fatalf("%d %s", code, answer)
	}
	for _, path := range []string{"/api/v1/secrets", "/api/v1/config", "/api/v1/servers/guarded", "/api/v1/status", "/api/v1/doctor", "/api/v1/connections"} {
		_, text := d.do("GET", path, nil)
		said += text
	}
	said += d.log.String()
	if strings.Contains(said, canary) {
		t.Error("it is shown")
	}
	nowhere := func() {
		t.Helper()
		err := filepath.WalkDir(d.data, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && strings.Contains(take(t, path), canary) {
				t.Errorf("%s holds it", path)
			}
			return nil // the file has been deleted and contains nothing
		})
		if err != nil {
			t.Fatal(err)
		}
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), canary) {
				t.Errorf("a process has it among its arguments: %q", b)
			}
		}
	}
	nowhere()

	d.cli(0, "secret", "rm", "guarded.API_TOKEN")
	d.do("POST", "/api/v1/servers/guarded/restart", strings.NewReader(""))
	eventually.Complete(t, limit(10*time.Second), func() string {
		var s server
		if d.get("/api/v1/servers/guarded", &s); !strings.Contains(s.Reason, "guarded.API_TOKEN") {
			return fmt.Sprintf("the server says %q (%s)", s.Reason, s.State)
		}
		return ""
	})
	if text := d.cli(1, "doctor"); !strings.Contains(text, "drawbridge secret set guarded.API_TOKEN") {
		t.Errorf("the doctor says\n%s", text)
	}
	set := command(t, d.env(), binary, "secret", "set", "guarded.API_TOKEN", "--data", d.data)
	set.Stdin = strings.NewReader(canary + "\n")
	run(t, set, 0)
	d.running("guarded")
	nowhere()

	d.cli(0, "clients", "undo", "cursor")
	if after := take(t, filepath.Join(d.data, "config.jsonc")); after != before {
		t.Errorf("our configuration is\n%s\nwant\n%s", after, before)
	}
	if text := d.cli(0, "secret", "list"); strings.Contains(text, "guarded") {
		t.Errorf("the secret is still there:\n%s", text)
	}
	d.stop()
	nowhere()
}
