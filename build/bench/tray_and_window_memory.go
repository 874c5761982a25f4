package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// trayMemory measures the memory that the tray icon adds to the daemon's process. It needs a
// session bus and starts a private one if there is none.
func trayMemory(ctx context.Context, b *bench) ([]finding, error) {
	const what = "idle memory added by the tray, 1 server"
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		return []finding{{what: what, measured: "not measured: there is no dbus-daemon"}}, nil
	}
	bus := exec.CommandContext(ctx, "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1")
	out, err := bus.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := bus.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = bus.Process.Kill()
		_ = bus.Wait()
	}()
	address := make([]byte, 1024)
	n, err := out.Read(address)
	if err != nil {
		return nil, err
	}
	before, had := os.LookupEnv("DBUS_SESSION_BUS_ADDRESS")
	os.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(string(address[:n])))
	defer func() {
		if os.Unsetenv("DBUS_SESSION_BUS_ADDRESS"); had {
			os.Setenv("DBUS_SESSION_BUS_ADDRESS", before)
		}
	}()
	var took [2]memory
	for i, shown := range []bool{false, true} {
		t, err := start(ctx, "drawbridge", b.program, targetOptions{servers: toolServers(1, 5), tray: shown})
		if err != nil {
			return nil, err
		}
		err = waitUntilIdle(ctx, 5*time.Second)
		took[i] = memoryOf(t.pid)
		t.stop()
		if err != nil {
			return nil, err
		}
	}
	return []finding{{what: what, measured: fmt.Sprintf("PSS %+.1f MB, to %s", mega(took[1].pss-took[0].pss), took[1])}}, nil
}

// windowMemory measures the memory of all processes of the open window. It needs the window's
// program and an X server, real or virtual.
func windowMemory(ctx context.Context, b *bench) ([]finding, error) {
	const what = "memory of the open window, all processes"
	program := filepath.Join(filepath.Dir(b.program), "drawbridge-window")
	if _, err := os.Stat(program); err != nil {
		return []finding{{what: what, measured: "not measured: " + program + " is not built"}}, nil
	}
	display, err := exec.LookPath("xvfb-run")
	if err != nil {
		return []finding{{what: what, measured: "not measured: there is no xvfb-run"}}, nil
	}
	t, err := start(ctx, "drawbridge", b.program, targetOptions{})
	if err != nil {
		return nil, err
	}
	defer t.stop()
	address, err := exec.CommandContext(ctx, b.program, "open", "--print", "--data", t.data).Output()
	if err != nil {
		address = []byte(t.base)
	}
	cmd := exec.CommandContext(ctx, display, "-a", program)
	// Without these variables it would start and show the daemon of the user.
	cmd.Env = append(os.Environ(), "DRAWBRIDGE_WINDOW_URL="+strings.TrimSpace(string(address)), "DRAWBRIDGE_WINDOW_DATA="+t.data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err = waitUntilIdle(ctx, 10*time.Second)
	all, processes := memory{}, 0
	for _, pid := range descendants(cmd.Process.Pid) {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if base := filepath.Base(name); base == "drawbridge-window" || strings.HasPrefix(base, "WebKit") {
			all, processes = all.plus(memoryOf(pid)), processes+1
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	if processes == 0 {
		return []finding{{what: what, measured: "not measured: the window did not open"}}, err
	}
	return []finding{{what: what, measured: fmt.Sprintf("%s in %d processes", all, processes)}}, err
}

// descendants returns a process and its descendants.
func descendants(root int) []int {
	list, _ := os.ReadDir("/proc")
	children := map[int][]int{}
	for _, e := range list {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
