//go:build linux

package soak

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the interval between checks for due actions.
const tick = 20 * time.Millisecond

// crash kills servers.
func (r *run) crash(ctx context.Context) {
	for wait(ctx, tick) {
		if r.claimAction(&r.crashes, r.Crashes) && !r.crashOne() {
			r.crashes.Add(-1) // there was no process to kill
		}
	}
}

func (r *run) crashOne() bool {
	s := &r.Servers[rand.IntN(len(r.Servers))]
	if s.Crash != nil {
		if err := s.Crash(); err != nil {
			r.fail("the driver cannot crash %s: %v", s.ID, err)
			return false
		}
		return true
	}
	killed := false
	for _, pid := range marked(s.Mark) {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	return killed
}

// suspendServers suspends servers for a while.
func (r *run) suspendServers(ctx context.Context) {
	for wait(ctx, tick) {
		if !r.claimAction(&r.stops, r.Suspensions) {
			continue
		}
		pids := marked(r.Servers[rand.IntN(len(r.Servers))].Mark)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
		if len(pids) == 0 {
			r.stops.Add(-1)
			continue
		}
		wait(ctx, 100*time.Millisecond+rand.N(1900*time.Millisecond))
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// marked returns the processes with a mark in their command line.
func marked(mark string) (pids []int) {
	if mark == "" {
		return nil
	}
	dirs, _ := os.ReadDir("/proc")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(dir.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + dir.Name() + "/cmdline")
		if strings.Contains(string(line), "\x00"+mark+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// changeConfig changes the configuration.
func (r *run) changeConfig(ctx context.Context) {
	for wait(ctx, tick) {
		if !r.claimAction(&r.reloads, r.Reloads) {
			continue
		}
		if err := r.Reload(ctx, int(r.reloads.Load())); err != nil && ctx.Err() == nil {
			r.fail("change %d of the configuration: %v", r.reloads.Load(), err)
		}
	}
}

// shiftClock changes the offset of the daemon's clock, up to two hours in either direction.
func (r *run) shiftClock(ctx context.Context) {
	for r.ShiftClock != nil && wait(ctx, tick) {
		if !r.claimAction(&r.jumps, r.ClockShifts) {
			continue
		}
		if err := r.ShiftClock(rand.N(4*time.Hour) - 2*time.Hour); err != nil {
			r.fail("the driver cannot set the clock: %v", err)
		}
	}
}

// runVanishingClient is a client that disappears during its calls, without closing its connection
// or session.
func (r *run) runVanishingClient(ctx context.Context) {
	server := Server{ID: r.SilentServer, Tool: "echo"}
	for r.SilentServer != "" && wait(ctx, 500*time.Millisecond) {
		c := newClient(r, 0, r.Tokens[0])
		c.name, c.server = VanishingClientName, nil
		if err := c.connect(ctx); err != nil {
			if ctx.Err() == nil {
				r.fail("a ghost cannot connect: %v", err)
			}
			return
		}
		r.ghosts.Add(1)
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		name, body := c.request(&server, 1, "boo")
		if resp, err := c.post(short, "/mcp", "tools/call", name, body); err == nil {
			_, _ = read(resp)
		}
		cancel()
		c.http.CloseIdleConnections()
		if r.ShiftClock == nil { // nothing would expire its session in this run
			c.deleteSession(ctx)
		}
	}
}

// blockEventStream subscribes to the event stream without reading it, so that its queue is full.
func (r *run) blockEventStream(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
		if err != nil {
			r.fail("cannot connect: %v", err)
			return
		}
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, _ = conn.Write([]byte("GET /api/v1/events HTTP/1.1\r\nHost: " + strings.TrimPrefix(r.URL, "http://") + "\r\nAuthorization: Bearer " + r.Admin + "\r\n\r\n"))
		wait(ctx, 5*time.Second)
		_ = conn.Close()
	}
}
