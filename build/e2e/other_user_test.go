//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ledTo is a shell function for a fake browser: it prints the address to which the given file
// redirects.
const ledTo = `ledTo() { sed -n 's/.*content="0; url=\([^"]*\)".*/\1/p' "$1" | sed 's/&amp;/\&/g'; }
`

// A second user who reads all command lines while the page opens in a browser learns no code, and
// cannot use a code that he knows.
func TestOtherUserCannotReplaceDaemon(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can act as a second user; CI does")
	}
	other := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	d := start(t, object{})
	tools := t.TempDir()
	opened := filepath.Join(tools, "opened")
	putProgram(t, filepath.Join(tools, "xdg-open"), ledTo+"ledTo \"$1\" >"+opened+".new\nsleep 2\nmv "+opened+".new "+opened+"\n")
	thief := exec.Command("/bin/sh", "-c", `while :; do cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' '; sleep 0.01; done`)
	thief.SysProcAttr, thief.Dir = other, "/"
	seen := new(lockedBuffer)
	thief.Stdout = seen
	require.NoError(t, thief.Start())
	defer func() { thief.Process.Kill(); thief.Wait() }()
	run(t, command(t, append(d.env(), "DISPLAY=:9999", "PATH="+tools+":/usr/bin:/bin"), binary, "open", "--browser", "--data", d.data), 0)
	var address string
	eventually.Complete(t, limit(10*time.Second), func() string {
		raw, err := os.ReadFile(opened)
		address = strings.TrimSpace(string(raw))
		if err != nil || !strings.HasPrefix(address, d.url+"/#code=") {
			return fmt.Sprintf("the browser is led to %q (%v)", address, err)
		}
		return ""
	})
	thief.Process.Kill()
	thief.Wait()
	require.Contains(t, seen.String(), "xdg-open", "the second user does not see the browser, which shows nothing")
	_, code, _ := strings.Cut(address, "#code=")
	assert.NotContains(t, seen.String(), code, "the second user reads the code in a command line")
	body := fmt.Sprintf(`{"code":%q}`, code)
	curl := exec.Command("curl", "-sS", "-w", "%{http_code}", "-H", "Content-Type: application/json", "-d", body, d.url+"/api/session")
	curl.SysProcAttr, curl.Dir = other, "/"
	if out, err := curl.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "403") {
		t.Errorf("a stolen code: %s, %v", out, err)
	}
	reply, err := http.Post(d.url+"/api/session", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	assert.Equal(t, 200, reply.StatusCode, text)
	eventually.Complete(t, limit(5*time.Second), func() string {
		if left, _ := filepath.Glob(filepath.Join(d.data, "open", "*")); len(left) > 0 {
			return fmt.Sprintf("%v stays after its use", left)
		}
		return ""
	})
}
