package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const listRequest = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// ask sends one request of the modern era and returns the response.
func (t *target) ask(ctx context.Context, client *http.Client, method, name, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", "2026-07-28")
	h.Set("Mcp-Method", method)
	if name != "" {
		h.Set("Mcp-Name", name)
	}
	if t.token != "" {
		h.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// toolCount returns the number of listed tools.
func (t *target) toolCount(ctx context.Context) int {
	list, err := t.ask(ctx, http.DefaultClient, "tools/list", "", listRequest)
	if err != nil {
		return 0
	}
	return bytes.Count(list, []byte(`"inputSchema"`))
}

// askRepeatedly requests the tool list for length, and returns the median time and the size.
func askRepeatedly(ctx context.Context, t *target, length time.Duration) (time.Duration, int, error) {
	var took []time.Duration
	size := 0
	for warm, end := 20, time.Now().Add(length); time.Now().Before(end) || len(took) == 0; warm-- {
		began := time.Now()
		list, err := t.ask(ctx, http.DefaultClient, "tools/list", "", listRequest)
		if err != nil {
			return 0, 0, err
		}
		if warm <= 0 {
			took = append(took, time.Since(began))
		}
		size = len(list)
		if t.token != "" && bytes.Count(list, []byte(`"inputSchema"`)) != 500 {
			return 0, 0, fmt.Errorf("not 500 tools: %.200s", list)
		}
	}
	return median(took), size, nil
}

// measureStarts measures the time from the start of the program to a complete tool list.
func measureStarts(ctx context.Context, b *bench) ([]finding, error) {
	var list []finding
	for _, row := range []struct {
		servers int
		most    float64 // milliseconds, with a warm catalog
	}{{1, 0}, {10, 40}, {50, 0}} {
		data, err := os.MkdirTemp("", "drawbridge-bench")
		if err != nil {
			return list, err
		}
		defer os.RemoveAll(data)
		var fresh time.Duration
		var warm []time.Duration
		for round := range 2 * b.rounds {
			took, err := startOnce(ctx, b, targetOptions{servers: toolServers(row.servers, 1), data: data}, row.servers)
			if err != nil {
				return list, err
			}
			if round == 0 {
				fresh = took
			} else {
				warm = append(warm, took)
			}
		}
		f := finding{what: fmt.Sprintf("from the start until the tools of %d servers are listed, with cached catalogs", row.servers),
			measured: fmt.Sprintf("%s (the very first start: %s)", micro(float64(median(warm))), micro(float64(fresh)))}
		if row.most > 0 {
			f.goal, f.missed = fmt.Sprintf("<= %.0f ms", row.most), float64(median(warm)) > row.most*1e6
		}
		list = append(list, f)
	}
	return list, nil
}

func startOnce(ctx context.Context, b *bench, s targetOptions, tools int) (time.Duration, error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	s.listen = port
	t, err := launch(ctx, b.program, s)
	if err != nil {
		return 0, err
	}
	defer t.stop()
	t.url = "http://" + port + "/mcp"
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for t.toolCount(ctx) < tools {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, errors.New("the tools were not listed")
		}
	}
	took := time.Since(t.began)
	// The next start must find the catalogs of all servers.
	return took, pollUntil(ctx, time.Minute, "the servers do not run", func() bool {
		if !t.readAddress() {
			return false
		}
		status, err := t.statuses(ctx)
		return err == nil && !slices.ContainsFunc(status, func(one serverStatus) bool { return one.State != "running" })
	})
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

type serverStatus struct {
	ID    string
	State string
	PID   int
}

func (t *target) statuses(ctx context.Context) ([]serverStatus, error) {
	b, err := t.api(ctx, "/api/v1/status")
	if err != nil {
		return nil, err
	}
	var status struct{ Servers []serverStatus }
	return status.Servers, json.Unmarshal(b, &status)
}

// measureKills kills the upstream server and measures the time to the next successful call.
func measureKills(ctx context.Context, b *bench) ([]finding, error) {
	var took []time.Duration
	failed := 0
	for range 2*b.rounds - 1 {
		d, f, err := killOnce(ctx, b)
		if err != nil {
			return nil, err
		}
		took, failed = append(took, d), failed+f
	}
	after := 200 * len(took)
	v := median(took)
	return []finding{
		{"from SIGKILL of a server to the next successful call", "<= 300 ms", fmt.Sprintf("%s (worst %s)", micro(float64(v)), micro(float64(slices.Max(took)))), v > 300*time.Millisecond},
		{fmt.Sprintf("failed calls among the next %d", after), "0", strconv.Itoa(failed), failed > 0},
	}, nil
}

// killOnce does that once. A server that crashed less than a minute before is restarted with a
// delay.
func killOnce(ctx context.Context, b *bench) (took time.Duration, failed int, err error) {
	t, err := start(ctx, "drawbridge", b.program, targetOptions{})
	if err != nil {
		return 0, 0, err
	}
	defer t.stop()
	c := &caller{target: t, http: &http.Client{Transport: &http.Transport{}}, modern: true, payload: "hello"}
	if err := c.call(ctx); err != nil {
		return 0, 0, err
	}
	list, err := t.statuses(ctx)
	if err != nil || len(list) != 1 || list[0].PID == 0 {
		return 0, 0, fmt.Errorf("the server's process is not known: %+v, %v", list, err)
	}
	if err := syscall.Kill(list[0].PID, syscall.SIGKILL); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	gone := time.NewTicker(time.Millisecond) // on a busy machine the server may respond once more
	defer gone.Stop()
	for syscall.Kill(list[0].PID, 0) == nil && ctx.Err() == nil {
		<-gone.C
	}
	if err := pollUntil(ctx, 30*time.Second, "no call works again", func() bool { return c.call(ctx) == nil }); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	for range 200 {
		if c.call(ctx) != nil {
			failed++
		}
	}
	return took, failed, nil
}

// measureEdits adds a server to the configuration file and measures the time until a client is
// notified and sees its tool.
func measureEdits(ctx context.Context, b *bench) ([]finding, error) {
	var took []time.Duration
	for range 2*b.rounds - 1 {
		d, err := editOnce(ctx, b)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	v := median(took)
	return []finding{{"from a configuration edit until list_changed is received and the tool is listed", "<= 400 ms",
		fmt.Sprintf("%s (worst %s)", micro(float64(v)), micro(float64(slices.Max(took)))), v > 400*time.Millisecond}}, nil
}

func editOnce(ctx context.Context, b *bench) (time.Duration, error) {
	s := targetOptions{servers: toolServers(1, 1)}
	t, err := start(ctx, "drawbridge", b.program, s)
	if err != nil {
		return 0, err
	}
	defer t.stop()
	c := &caller{target: t, http: &http.Client{Transport: &http.Transport{}}}
	if err := c.open(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+t.token)
	req.Header.Set("Mcp-Session-Id", c.session)
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	stream, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer stream.Body.Close()
	heard := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stream.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "notifications/tools/list_changed") {
				close(heard)
				return
			}
		}
	}()
	if err := waitUntilIdle(ctx, 500*time.Millisecond); err != nil {
		return 0, err
	}
	s.servers["added"] = selfServer("tools", "1")
	began := time.Now()
	if err := configure(t.data, s); err != nil {
		return 0, err
	}
	select {
	case <-heard:
	case <-ctx.Done():
		return 0, errors.New("no list_changed was received")
	}
	return time.Since(began), pollUntil(ctx, 10*time.Second, "the tool is not listed", func() bool { return t.toolCount(ctx) == 2 })
}

// measureShims measures calls through the stdio shim.
func measureShims(ctx context.Context, b *bench) ([]finding, error) {
	t, err := start(ctx, "drawbridge", b.program, targetOptions{})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	var first, added, floors []time.Duration
	var took memory
	for range 2*b.rounds - 1 {
		s, err := startShim(ctx, b.program, t)
		if err != nil {
			return nil, err
		}
		first = append(first, s.first)
		through, err := s.median(300)
		if settled := waitUntilIdle(ctx, 3*time.Second); err == nil {
			err = settled
		}
		took = memoryOf(s.cmd.Process.Pid)
		s.stop()
		if err != nil {
			return nil, err
		}
		direct, err := load(ctx, t, workload{payload: 60, clients: 1}, b.length/4)
		if err != nil {
			return nil, err
		}
		f, err := startFloor(targetOptions{})
		if err != nil {
			return nil, err
		}
		floor, err := load(ctx, f, workload{payload: 60, clients: 1}, b.length/4)
		f.stop()
		if err != nil {
			return nil, err
		}
		added, floors = append(added, through-direct.p50), append(floors, floor.p50)
	}
	ratio := float64(median(added)) / float64(median(floors))
	return []finding{
		{"shim: from its start to the first response", "<= 40 ms", micro(float64(median(first))), median(first) > 40*time.Millisecond},
		{"shim: private memory", "<= 8 MB", took.String(), mega(took.own) > 8},
		{"shim: p50 added to a call of 60 B / F", "<= 0.50", fmt.Sprintf("%.2f (%s)", ratio, micro(float64(median(added)))), ratio > 0.5},
	}, nil
}

// shim is a running stdio shim.
type shim struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	tool  string
	id    int
	first time.Duration
}

func startShim(ctx context.Context, program string, t *target) (*shim, error) {
	cmd := exec.CommandContext(ctx, program, "stdio", "--client", "bench", "--data", t.data)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &shim{cmd: cmd, in: in, out: bufio.NewReader(out), tool: t.tool}
	if err = s.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, `"id":0`); err == nil {
		s.first = time.Since(began)
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *shim) ask(line, id string) error {
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		return err
	}
	for {
		answer, err := s.out.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.Contains(answer, id) {
			if strings.Contains(answer, `"error"`) {
				return fmt.Errorf("the shim answered %.200s", answer)
			}
			return nil
		}
	}
}

// median returns the median duration of n calls of 60 B, after a warm-up.
func (s *shim) median(n int) (time.Duration, error) {
	payload := strings.Repeat("x", 60)
	var took []time.Duration
	for i := range n + 50 {
		s.id++
		id := strconv.Itoa(s.id)
		began := time.Now()
		if err := s.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+s.tool+`","arguments":{"text":"`+payload+`"}}}`, `"id":`+id); err != nil {
			return 0, err
		}
		if i >= 50 {
			took = append(took, time.Since(began))
		}
	}
	return median(took), nil
}

func (s *shim) stop() {
	s.in.Close()
	_ = s.cmd.Wait()
}
