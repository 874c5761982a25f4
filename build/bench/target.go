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

// target is a running side.
type target struct {
	url   string
	tool  string
	token string // "" for the floor
	base  string
	data  string
	pid   int // the process that is measured
	stop  func()
}

func start(ctx context.Context, side, program string) (*target, error) {
	if side == "floor" {
		return startFloor(ctx)
	}
	return startDrawbridge(ctx, program)
}

func startFloor(ctx context.Context) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "floor")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, err
	}
	return &target{url: strings.TrimSpace(line), tool: "echo", pid: cmd.Process.Pid, stop: stop}, nil
}

func startDrawbridge(ctx context.Context, program string) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "drawbridge-bench")
	if err != nil {
		return nil, err
	}
	settings, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"up": map[string]any{"command": self, "args": []string{"upstream"}}}})
	if err := os.WriteFile(filepath.Join(data, "config.jsonc"), settings, 0o600); err != nil {
		return nil, err
	}
	token, err := exec.CommandContext(ctx, program, "token", "bench", "--data", data).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot make a token: %w", err)
	}
	cmd := exec.Command(program, "serve", "--no-tray", "--data", data, "--listen", "127.0.0.1:0")
	if os.Getenv("BENCH_VERBOSE") != "" {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &target{tool: "up__echo", token: strings.TrimSpace(string(token)), data: data}
	t.stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		os.RemoveAll(data)
	}
	if err := t.await(ctx); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

// await waits until the daemon answers and its server is listed.
func (t *target) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var rt struct {
			PID int
			URL string
		}
		b, err := os.ReadFile(filepath.Join(t.data, "runtime.json"))
		if err == nil && json.Unmarshal(b, &rt) == nil {
			t.base, t.url, t.pid = rt.URL, rt.URL+"/mcp", rt.PID
			if list, err := t.api(ctx, "/api/v1/tools"); err == nil && bytes.Contains(list, []byte(t.tool)) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the daemon did not list its server")
		}
	}
}

func (t *target) api(ctx context.Context, path string) ([]byte, error) {
	admin, err := os.ReadFile(filepath.Join(t.data, "admin.token"))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(admin)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return b.Bytes(), err
}

// dropped waits until nothing is queued and returns how many calls were not recorded.
func (t *target) dropped(ctx context.Context) (int, error) {
	var status struct {
		Recorder struct{ Queued, Dropped, Stripped int }
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		b, err := t.api(ctx, "/api/v1/status")
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal(b, &status); err != nil {
			return 0, err
		}
		if status.Recorder.Queued == 0 {
			return status.Recorder.Dropped, nil
		}
		time.Sleep(20 * time.Millisecond) // a tool for people: nothing else to wait on
	}
	return 0, errors.New("the recorder does not come to an end")
}

// cpu is the processor time that the measured process took so far.
func (t *target) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // clock ticks are 1/100 s on Linux
}

func (t *target) memory() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", t.pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func (t *target) descriptors() int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", t.pid))
	return len(list)
}
