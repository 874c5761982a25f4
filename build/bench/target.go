package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// target is a running side: Drawbridge, the floor or a peer.
type target struct {
	url   string
	tool  string
	token string // "" for the floor and for peers
	peer  bool
	base  string
	data  string
	began time.Time
	pid   int // the measured process
	stop  func()
}

// isFloor reports whether this side has neither sessions nor errors.
func (t *target) isFloor() bool { return t.token == "" && !t.peer }

// targetOptions describes how to start a side.
type targetOptions struct {
	floorBytes int            // the floor responds with this many bytes instead of an echo
	servers    map[string]any // servers of Drawbridge; nil means an echo server
	rules      []string       // argument rules, as JSON texts
	unrecorded bool
	unlimited  bool   // the history keeps all calls
	data       string // existing data folder, not removed at the end
	listen     string // "" means any free port
	tray       bool
}

func start(ctx context.Context, side, program string, s targetOptions) (*target, error) {
	if side == "floor" {
		return startFloor(s)
	}
	return startDrawbridge(ctx, program, s)
}

func startFloor(s targetOptions) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "floor", strconv.Itoa(s.floorBytes))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, err
	}
	return &target{url: strings.TrimSpace(line), tool: "echo", pid: cmd.Process.Pid, stop: stop}, nil
}

// echoServer returns the configuration of the upstream server of both sides.
func echoServer() map[string]any { return selfServer("upstream") }

func selfServer(args ...string) map[string]any {
	self, _ := os.Executable()
	return map[string]any{"command": self, "args": args}
}

// toolServers returns the configuration of n servers with the given number of tools each.
func toolServers(n, tools int) map[string]any {
	all := make(map[string]any, n)
	for i := range n {
		all[fmt.Sprintf("s%d", i)] = selfServer("tools", strconv.Itoa(tools))
	}
	return all
}

// configure writes the configuration to a folder.
func configure(data string, s targetOptions) error {
	if s.servers == nil {
		s.servers = map[string]any{"up": echoServer()}
	}
	all := map[string]any{"mcpServers": s.servers}
	if s.unrecorded {
		all["history"] = map[string]any{"enabled": false}
	}
	if s.unlimited {
		all["history"] = map[string]any{"keepDays": 0, "maxBytes": 0}
	}
	if s.rules != nil {
		all["policy"] = map[string]any{"rules": json.RawMessage("[" + strings.Join(s.rules, ",") + "]")}
	}
	settings, err := json.Marshal(all)
	if err != nil {
		return err
	}
	part := filepath.Join(data, ".new")
	if err := os.WriteFile(part, settings, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(data, "config.jsonc"))
}

// launch starts the daemon without waiting for it.
func launch(ctx context.Context, program string, s targetOptions) (*target, error) {
	data, err := s.data, error(nil)
	if data == "" {
		if data, err = os.MkdirTemp("", "drawbridge-bench"); err != nil {
			return nil, err
		}
	}
	if err := configure(data, s); err != nil {
		return nil, err
	}
	token, err := exec.CommandContext(ctx, program, "token", "bench", "--data", data).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot make a token: %w", err)
	}
	if s.listen == "" {
		s.listen = "127.0.0.1:0"
	}
	args := []string{"serve", "--data", data, "--listen", s.listen}
	if !s.tray {
		args = append(args, "--no-tray")
	}
	cmd := exec.Command(program, args...)
	if os.Getenv("BENCH_VERBOSE") != "" {
		cmd.Stderr = os.Stderr
	}
	t := &target{tool: "up__echo", token: strings.TrimSpace(string(token)), data: data, began: time.Now()}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if s.data == "" {
			_ = os.RemoveAll(data)
		}
	}
	return t, nil
}

func startDrawbridge(ctx context.Context, program string, s targetOptions) (*target, error) {
	t, err := launch(ctx, program, s)
	if err != nil {
		return nil, err
	}
	for id := range s.servers {
		t.tool = id + "__"
	}
	if err := t.waitReady(ctx); err != nil {
		t.stop()
		return nil, err
	}
	t.tool = "up__echo"
	return t, nil
}

// waitReady waits until the daemon responds and a server is listed.
func (t *target) waitReady(ctx context.Context) error {
	return pollUntil(ctx, 60*time.Second, "the daemon did not list its server", func() bool {
		if !t.readAddress() {
			return false
		}
		list, err := t.api(ctx, "/api/v1/tools")
		return err == nil && bytes.Contains(list, []byte(t.tool))
	})
}

// readAddress reads the address of the daemon; a file of an earlier run does not count.
func (t *target) readAddress() bool {
	var rt struct {
		PID       int
		URL       string
		StartedAt time.Time
	}
	b, err := os.ReadFile(filepath.Join(t.data, "runtime.json"))
	if err != nil || json.Unmarshal(b, &rt) != nil || rt.StartedAt.Before(t.began.Add(-time.Second)) {
		return false
	}
	t.base, t.url, t.pid = rt.URL, rt.URL+"/mcp", rt.PID
	return true
}

// pollUntil polls ok every few milliseconds, because no event reports these conditions.
func pollUntil(ctx context.Context, limit time.Duration, failed string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New(failed)
		}
	}
	return nil
}

func (t *target) api(ctx context.Context, path string) ([]byte, error) {
	return t.requestAPI(ctx, http.MethodGet, path, "")
}

func (t *target) requestAPI(ctx context.Context, method, path, body string) ([]byte, error) {
	admin, err := os.ReadFile(filepath.Join(t.data, "admin.token"))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, t.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(admin)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return b.Bytes(), err
}

// droppedCalls waits until the recording queue is empty and returns the number of calls that were
// not recorded.
func (t *target) droppedCalls(ctx context.Context) (int, error) {
	lost := 0
	return lost, pollUntil(ctx, 60*time.Second, "the recorder does not come to an end", func() bool {
		var status struct {
			Recorder struct{ Queued, Dropped int }
		}
		b, err := t.api(ctx, "/api/v1/status")
		if err != nil || json.Unmarshal(b, &status) != nil {
			return false
		}
		lost = status.Recorder.Dropped
		return status.Recorder.Queued == 0
	})
}

// recordedCalls returns the number of calls in the history.
func (t *target) recordedCalls(ctx context.Context) (int, error) {
	b, err := t.api(ctx, "/api/v1/history")
	if err != nil {
		return 0, err
	}
	var state struct{ Calls int }
	return state.Calls, json.Unmarshal(b, &state)
}
