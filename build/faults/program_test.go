//go:build e2e && linux && amd64

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the limit of everything that the program does.
const patience = time.Minute

// secret is in the configuration and may be nowhere else.
const secret = "sk-canary-7Qw3pZ9vKx2mLr8t"

var binary, _ = filepath.Abs("../bin/drawbridge")

const role = "DRAWBRIDGE_FAULTS_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "tracer":
		trace(os.Args[1:], os.NewFile(3, "orders"), os.NewFile(4, "states"))
		return
	case "tracee":
		filtered(os.Args[1:])
	}
	os.Exit(m.Run())
}

// program is a running daemon, or one that has ended, with its folders.
type program struct {
	dir    string
	cmd    *exec.Cmd // the tracer, or the program without one
	log    *buffer
	ended  chan struct{} // closed when cmd has ended
	orders io.WriteCloser
	states *bufio.Reader

	url, token string
	http       http.Client
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (p *program) data() string { return filepath.Join(p.dir, "data") }
func (p *program) home() string { return filepath.Join(p.dir, "home") }

// start starts the program in dir under the tracer, with an order that is in force from its first call.
func start(dir string, o order) (*program, error) {
	p := &program{dir: dir, log: new(buffer)}
	if err := p.trace(p.command()...); err != nil {
		return nil, err
	}
	_, err := p.order(o)
	return p, err
}

// trace starts a program under the tracer, where it waits for its first order.
func (p *program) trace(args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	states, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	defer out.Close()
	p.orders, p.states = orders, bufio.NewReader(states)
	p.run(append([]string{self}, args...), []*os.File{in, out}, role+"=tracer")
	return nil
}

func (p *program) command() []string {
	return []string{binary, "serve", "--no-tray", "--data", p.data(), "--listen", "127.0.0.1:0"}
}

// startUntraced starts the program in dir as users do.
func startUntraced(dir string) *program {
	p := &program{dir: dir, log: new(buffer)}
	p.run(p.command(), nil)
	return p
}

func (p *program) run(args []string, files []*os.File, env ...string) {
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + p.home(), "SHELL=/bin/sh", "LANG=C.UTF-8", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + p.dir + "/no-bus"}, env...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = p.log, p.log, files
	p.cmd.WaitDelay = time.Second
	p.ended = make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
}

// order gives the tracer an order and returns the state before it.
func (p *program) order(o order) (s state, err error) {
	line, err := json.Marshal(o)
	if err != nil {
		return s, err
	}
	return p.tell(string(line))
}

// tell sends a line to the tracer and returns its answer. An empty line changes nothing.
func (p *program) tell(line string) (s state, err error) {
	if _, err := io.WriteString(p.orders, line+"\n"); err != nil {
		return s, err
	}
	answer, err := p.states.ReadBytes('\n')
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(answer, &s)
}

// over reports whether the program has ended, with its exit code.
func (p *program) over() (code int, over bool) {
	if p.orders == nil {
		select {
		case <-p.ended:
			return p.cmd.ProcessState.ExitCode(), true
		default:
			return 0, false
		}
	}
	s, err := p.tell("")
	return s.Code, err != nil || s.Ended
}

// ready waits until the program answers, or has ended.
func (p *program) ready() error {
	return until(func() error {
		if err := p.find(); err != nil {
			if _, over := p.over(); over {
				return errEnded
			}
			return err
		}
		return p.api("GET", "/api/v1/status", "", nil)
	})
}

// find reads the URL of the program, which is another one after the watchdog has started a new daemon.
func (p *program) find() error {
	src, err := os.ReadFile(filepath.Join(p.data(), "runtime.json"))
	if err != nil {
		return err
	}
	var runtime struct{ URL string }
	if err := json.Unmarshal(src, &runtime); err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(p.data(), "admin.token"))
	if err != nil {
		return err
	}
	p.url, p.token = runtime.URL, strings.TrimSpace(string(token))
	return nil
}

var (
	errEnded = errors.New("the program has ended")
	errSlow  = errors.New("not within a minute")
)

// until calls f until it returns nil or errEnded, and returns its last error after patience.
func until(f func() error) error {
	deadline := time.Now().Add(patience)
	for pause := 2 * time.Millisecond; ; pause = min(pause*3/2, 50*time.Millisecond) {
		err := f()
		if err == nil || errors.Is(err, errEnded) {
			return err
		}
		if time.Now().After(deadline) {
			return errors.Join(errSlow, err)
		}
		time.Sleep(pause)
	}
}

// refusal is an answer of the API other than success.
type refusal struct {
	status int
	body   string
}

func (r refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// api calls the API. into may be nil.
func (p *program) api(method, path, body string, into any, headers ...string) error {
	p.http.Timeout = patience
	req, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	src, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if bytes.Contains(src, []byte(secret)) && path != "/api/v1/config" {
		return fmt.Errorf("the secret is in the answer to %s %s", method, path)
	}
	if resp.StatusCode/100 != 2 {
		return refusal{resp.StatusCode, string(src)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(src, into)
}

// call calls echo through the gateway and returns the id under which it is recorded.
func (p *program) call(text string) (id string, err error) {
	var said struct {
		Success               bool
		Output, Error, CallID string
	}
	if err := p.api("POST", "/api/v1/call", fmt.Sprintf(`{"server":"demo","tool":"echo","arguments":{"text":%q}}`, text), &said); err != nil {
		return "", err
	}
	if !said.Success || said.Output != text {
		return said.CallID, refusal{200, fmt.Sprintf("%+v", said)}
	}
	return said.CallID, nil
}

// works waits until a call succeeds, which starts the server if it is necessary.
func (p *program) works() error {
	return until(func() error {
		if _, over := p.over(); over {
			return errEnded
		}
		_, err := p.call("works")
		said := refusal{}
		if err != nil && !errors.As(err, &said) {
			return errors.Join(err, p.find())
		}
		if strings.Contains(said.body, "gave up") { // after many failures
			return errors.Join(err, p.api("POST", "/api/v1/servers/demo/restart", "", nil))
		}
		return err
	})
}

// recorded waits until each id is in the history exactly once.
func (p *program) recorded(ids []string) error {
	return until(func() error {
		var list struct{ Items []struct{ ID, Result string } }
		if err := p.api("GET", "/api/v1/calls?limit=200", "", &list); err != nil {
			if _, over := p.over(); over {
				return errEnded
			}
			return err
		}
		times := map[string]int{}
		for _, one := range list.Items {
			times[one.ID]++
		}
		for _, id := range ids {
			if times[id] != 1 {
				return fmt.Errorf("call %s is recorded %d times", id, times[id])
			}
		}
		return nil
	})
}

// stop ends the program as a user does and returns its exit code.
func (p *program) stop() (code int, err error) {
	p.signal(syscall.SIGTERM)
	err = until(func() error {
		c, over := p.over()
		code = c
		if !over {
			return errors.New("it does not stop")
		}
		return nil
	})
	return code, errors.Join(err, p.close())
}

// signal sends a signal to the watchdog.
func (p *program) signal(sig syscall.Signal) {
	for _, pid := range p.processes() {
		if pid.parent == p.cmd.Process.Pid || p.orders == nil && pid.id == p.cmd.Process.Pid {
			_ = syscall.Kill(pid.id, sig)
		}
	}
}

// close ends what is left, and reports processes that the program has left behind.
func (p *program) close() error {
	p.http.CloseIdleConnections()
	if p.orders != nil {
		p.orders.Close()
	} else {
		_ = p.cmd.Process.Kill()
	}
	<-p.ended
	deadline := time.Now().Add(3 * time.Second)
	for {
		left := p.processes()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			for _, one := range left {
				_ = syscall.Kill(one.id, syscall.SIGKILL)
			}
			return fmt.Errorf("left behind: %v", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type process struct {
	id, parent int
	command    string
}

// processes returns the processes with our home in their environment, without the tracer.
func (p *program) processes() (found []process) {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		panic(err)
	}
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("HOME="+p.home()+"\x00")) || bytes.Contains(env, []byte(role+"=tracer")) && strings.Contains(command(path), "faults.test") {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		if err != nil {
			continue
		}
		one := process{command: command(path)}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		var zombie string
		_, _ = fmt.Sscan(string(rest), &zombie, &one.parent)
		_, _ = fmt.Sscan(filepath.Base(filepath.Dir(path)), &one.id)
		if zombie != "Z" {
			found = append(found, one)
		}
	}
	return found
}

func command(environ string) string {
	src, _ := os.ReadFile(filepath.Join(filepath.Dir(environ), "cmdline"))
	return string(bytes.ReplaceAll(src, []byte{0}, []byte{' '}))
}

func needsBinary(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v. Build it with: make daemon", err)
	}
	p := &program{dir: t.TempDir(), log: new(buffer)}
	must(p.trace("/bin/true"))
	_, err := p.order(order{})
	must(err)
	var s state
	_ = until(func() error {
		if s, err = p.tell(""); err == nil && !s.Ended {
			return errors.New("it runs")
		}
		return nil
	})
	if p.orders.Close(); !s.Ended || s.Code != 0 {
		<-p.ended
		t.Skipf("this system does not permit ptrace with a filter of system calls: %s", p.log)
	}
}
