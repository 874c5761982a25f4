//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lineClient speaks with a program through its standard input and output, as a client that only
// starts programs does.
type lineClient struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	errs  lockedBuffer // the program's stderr, unless cmd says where it goes
	root  string       // the response to roots/list
	asked int
}

// message is a line of the program.
type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	line   string
}

func startLines(t testing.TB, cmd *exec.Cmd) *lineClient {
	t.Helper()
	c := &lineClient{t: t, cmd: cmd, lines: make(chan string, 100)}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.errs
	}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	require.NoError(t, errors.Join(inErr, outErr, cmd.Start()))
	c.in = in
	go func() {
		defer close(c.lines)
		s := bufio.NewScanner(out)
		for s.Buffer(nil, 16<<20); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { c.end() })
	return c
}

// shimIn starts a shim of the daemon in a folder.
func (d *daemon) shimIn(dir string) *lineClient {
	d.t.Helper()
	cmd := exec.Command(binary, "stdio", "--client", "shim", "--data", d.data)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, d.env(), d.log
	return startLines(d.t, cmd)
}

// end closes the program's input and waits for the program.
func (c *lineClient) end() error {
	c.in.Close()
	if c.cmd.ProcessState != nil {
		return nil
	}
	for range c.lines {
	}
	return c.cmd.Wait()
}

func (c *lineClient) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message that is wanted, and responds to requests for the roots.
func (c *lineClient) next(what string, wanted func(message) bool) message {
	c.t.Helper()
	deadline := time.After(limit(20 * time.Second))
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				c.t.Fatalf("%s has ended before %s\n%s", c.cmd, what, tail(c.errs.String()))
			}
			m := message{line: line}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				c.t.Fatalf("%v in %s", err, line)
			}
			if m.Method == "roots/list" {
				c.asked++
				c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"https://example.com"},{"uri":"file://%s"},{"uri":"file:///"}]}}`, m.ID, c.root))
			} else if wanted(m) {
				return m
			}
		case <-deadline:
			c.t.Fatalf("no %s", what)
		}
	}
}

// hear waits for the response to the request with this id.
func (c *lineClient) hear(id string) message {
	c.t.Helper()
	return c.next("response to "+id, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

// hearNotification waits for a notification.
func (c *lineClient) hearNotification(method string) {
	c.t.Helper()
	c.next(method, func(m message) bool { return m.Method == method })
}

// ask sends a request with the members of params and waits for its response.
func (c *lineClient) ask(id int, method, params string) message {
	c.t.Helper()
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params))
	return c.hear(fmt.Sprint(id))
}

func (c *lineClient) initialize(capabilities string) {
	c.t.Helper()
	c.ask(0, "initialize", `"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"lines","version":"0"}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
