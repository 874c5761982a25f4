//go:build linux || darwin

package process

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func readLoginEnv(limit time.Duration) (map[string]string, error) {
	return readShellEnv(loginShell(), limit)
}

// readShellEnv runs shell as an interactive login shell, because users extend PATH in either kind
// of start-up file, and makes it print its environment between two delimiters, because start-up
// files may print too. The shell has no terminal and its own session, so it can neither prompt
// nor be stopped by job control.
func readShellEnv(shell string, limit time.Duration) (map[string]string, error) {
	delimiter := "drawbridge-" + rand.Text()
	script := "printf %s " + delimiter + "; env -0 || env; printf %s " + delimiter // macOS 12 has no -0
	flags := []string{"-l", "-i", "-c", script}
	switch filepath.Base(shell) {
	case "bash", "zsh", "fish", "ksh", "mksh":
	case "csh", "tcsh": // these take -l only alone
		flags = []string{"-i", "-c", script}
	default:
		flags = []string{"-l", "-c", script}
	}

	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(shell, flags...)
	// Processes that start-up files launch, such as an ssh-agent, belong to the user.
	cmd.Env = append(withoutVariables(os.Environ(), watchdogVariable, MarkVariable), keepVariable+"=1")
	cmd.Stdout = in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if home, err := os.UserHomeDir(); err == nil {
		cmd.Dir = home
	}
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, fmt.Errorf("cannot run login shell: %w", err)
	}
	defer hangUp(cmd)

	// The second delimiter is the end, not end of file: an agent may keep the pipe open.
	_ = out.SetReadDeadline(time.Now().Add(limit))
	var text bytes.Buffer
	buf := make([]byte, 32<<10)
	for {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		if _, rest, ok := bytes.Cut(text.Bytes(), []byte(delimiter)); ok {
			if body, _, ok := bytes.Cut(rest, []byte(delimiter)); ok {
				if !bytes.ContainsRune(body, 0) {
					return asMap(strings.Split(string(body), "\n")), nil // of values with several lines, only the first
				}
				return asMap(strings.Split(string(body), "\x00")), nil
			}
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("login shell %s did not respond within %s", shell, limit)
		case err != nil:
			return nil, fmt.Errorf("login shell %s did not print its environment", shell)
		case text.Len() > 4<<20:
			return nil, fmt.Errorf("login shell %s printed too much output", shell)
		}
	}
}

// hangUpTimeout is how long a shell and its children may take to exit after each signal.
const hangUpTimeout = 500 * time.Millisecond

// hangUp ends a login shell as closing its terminal does, so that its children can remove their
// locks: a killed `pyenv rehash` leaves one that blocks every later shell of the user for a
// minute. SIGHUP is ignored under nohup, and SIGTERM by interactive shells, so both are sent, one
// after the other: both at once would end a shell inside its trap.
func hangUp(cmd *exec.Cmd) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait()
	}()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL} {
		_ = syscall.Kill(-cmd.Process.Pid, signal)
		select {
		case <-gone:
			return
		case <-time.After(hangUpTimeout):
		}
	}
	<-gone
}

// loginShell returns the user's shell: SHELL, or else the one in /etc/passwd.
func loginShell() string {
	if shell := os.Getenv("SHELL"); filepath.IsAbs(shell) {
		return shell
	}
	if file, err := os.Open("/etc/passwd"); err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			f := strings.Split(lines.Text(), ":")
			if len(f) == 7 && f[2] == strconv.Itoa(os.Getuid()) && filepath.IsAbs(f[6]) {
				return f[6]
			}
		}
	}
	if runtime.GOOS == "darwin" {
		return "/bin/zsh"
	}
	return "/bin/sh"
}
