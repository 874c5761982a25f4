//go:build e2e && linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// shim is a shim process, started as clients start it.
type shim struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	began time.Time
}

func (d *daemon) shim(t *testing.T) *shim {
	t.Helper()
	s := &shim{t: t, cmd: command(t, d.env(), binary, "stdio", "--client", "shim", "--data", d.data), lines: make(chan string, 100)}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		s.in, err = s.cmd.StdinPipe()
	}
	s.began = time.Now()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			s.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() {
		s.in.Close()
		for range s.lines {
		}
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the shim ends with %v", err)
		}
	})
	return s
}

// hears returns the next line that contains mark.
func (s *shim) hears(mark string) string {
	s.t.Helper()
	late := time.After(limit(20 * time.Second))
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("the shim ended before %s", mark)
			}
			if strings.Contains(line, mark) {
				return line
			}
		case <-late:
			s.t.Fatalf("never: %s", mark)
		}
	}
}

func (s *shim) ask(id int, method, params string) string {
	s.t.Helper()
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", id, method, params)
	return s.hears(`"id":` + strconv.Itoa(id) + `,`)
}

func (s *shim) initialize() {
	s.t.Helper()
	s.ask(1, "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"shimmed","version":"1"}`)
	io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
}

var privateMemory = regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty):\s+(\d+) kB$`)

// ownMemory returns the private memory of the process in bytes. The code of the program is shared
// with the daemon.
func ownMemory(t *testing.T, pid int) (sum int) {
	t.Helper()
	src, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range privateMemory.FindAllStringSubmatch(string(src), -1) {
		kb, _ := strconv.Atoi(m[1])
		sum += kb << 10
	}
	return sum
}

// onSocket counts the connections to the daemon's socket.
func (d *daemon) onSocket(t *testing.T) (n int) {
	t.Helper()
	src, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(src)) {
		f := strings.Fields(line)
		if len(f) == 8 && f[7] == filepath.Join(d.data, "drawbridge.sock") && f[5] == "03" {
			n++
		}
	}
	return n
}

func TestShimIsSmallFastAndSurvivesDaemon(t *testing.T) {
	for _, socket := range []bool{false, true} {
		t.Run(fmt.Sprintf("socket=%v", socket), func(t *testing.T) {
			d := start(t, object{"bridge": object{"socket": socket}, "mcpServers": object{"demo": demo()}})
			d.running("demo")
			d.token("shim")
			var firsts, answers []time.Duration
			for range 5 {
				s := d.shim(t)
				s.initialize()
				firsts = append(firsts, time.Since(s.began))
			}
			s := d.shim(t)
			s.initialize()
			for i := range 200 {
				began := time.Now()
				if got := s.ask(10+i, "tools/call", `"name":"demo__echo","arguments":{"text":"hi"}`); !strings.Contains(got, "hi") {
					t.Fatal(got)
				}
				answers = append(answers, time.Since(began))
			}
			var own int
			eventually.Complete(t, limit(4*time.Second), func() string { // memory that only the start needs is released after 2 s
				if own = ownMemory(t, s.cmd.Process.Pid); own > 8e6 {
					return fmt.Sprintf("%d bytes of own memory", own)
				}
				return ""
			})
			slices.Sort(firsts)
			slices.Sort(answers)
			t.Logf("own memory %.1f MB; first answer %s after the start (median of %d); a call %s (median of %d)",
				float64(own)/1e6, firsts[2].Round(time.Millisecond/10), len(firsts), answers[100].Round(time.Millisecond/100), len(answers))
			if most := limit(40 * time.Millisecond); firsts[2] > most || answers[100] > most {
				t.Errorf("more than %s", most)
			}
			if on := d.onSocket(t); (on > 0) != socket {
				t.Errorf("%d connections on the socket", on)
			}

			// The daemon restarts at another port: the client is notified that the lists may have
			// changed, and continues.
			d.stop()
			d.write("config.jsonc", object{"bridge": object{"socket": socket}, "mcpServers": object{"demo": demo(), "more": demo()}})
			d.launch()
			s.hears("notifications/tools/list_changed")
			d.running("demo", "more")
			var list struct {
				Result struct{ Tools []struct{ Name string } }
			}
			if err := json.Unmarshal([]byte(s.ask(1000, "tools/list", "")), &list); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(list.Result.Tools, func(tool struct{ Name string }) bool { return tool.Name == "more__echo" }) {
				t.Errorf("the new server is not listed: %+v", list.Result.Tools)
			}
		})
	}
}
