package loopback

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// init lets the test binary act as the other user's process.
func init() {
	address := os.Getenv("DRAWBRIDGE_TEST_ASK")
	if address == "" {
		return
	}
	reply, err := http.Get(address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, reply.Body)
	os.Exit(0)
}

func asked(t *testing.T, listen, name string, uid uint32) string {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skip("cannot listen on", listen, err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := RefuseOtherUser(r); err != nil {
			fmt.Fprint(w, "refused: ", err)
			return
		}
		fmt.Fprint(w, "welcome")
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	self, err := os.Executable()
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	cmd := exec.Command("/proc/self/fd/3")
	f, err := os.Open(self) // other users cannot access the test's directory
	require.NoError(t, err)
	defer f.Close()
	cmd.ExtraFiles, cmd.Dir = []*os.File{f}, "/"
	cmd.Env = []string{fmt.Sprintf("DRAWBRIDGE_TEST_ASK=http://%s:%d/", name, port), "GORACE=atexit_sleep_ms=0"}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, out)
	return string(out)
}

// TestOtherUserCannotOpenSession checks that a one-time code is useless to another user.
func TestOtherUserCannotOpenSession(t *testing.T) {
	for _, at := range []struct{ listen, name string }{{"127.0.0.1:0", "127.0.0.1"}, {"[::1]:0", "[::1]"}, {"[::]:0", "127.0.0.1"}} {
		assert.Equal(t, "welcome", asked(t, at.listen, at.name, 0), at)
		if os.Getuid() != 0 {
			t.Log("SKIPPED the half with another user: only root can become one")
			continue
		}
		assert.Contains(t, asked(t, at.listen, at.name, 65534), "another user", at)
	}
}

func TestAbandonedSocketRowHasNoOwner(t *testing.T) {
	const line = "  %d: 0100007F:924D 0100007F:86D5 06 00000000:00000000 03:00000A6B 00000000     0        0 %d 3 0000000000000000"
	rows := bufio.NewScanner(strings.NewReader(fmt.Sprintf(line+"\n"+line, 0, 0, 1, 4711)))
	var ok []bool
	for rows.Scan() {
		_, _, _, used := parseTCPRow(rows.Text())
		ok = append(ok, used)
	}
	assert.Truef(t, len(ok) == 2 && !ok[0] && ok[1], "in use: %v", ok)
}
