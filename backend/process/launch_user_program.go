package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"
)

// Launch starts a program for the user, such as a browser or our window, with our complete
// environment and extra (KEY=value). The program survives the end of this process: neither Stop
// nor the watchdog ends it. Launch does not wait for it.
func Launch(extra []string, path string, args ...string) error {
	_, err := launch(extra, nil, path, args)
	return err
}

// LaunchAndNotify is like Launch. ended receives the result of the program when it exits.
func LaunchAndNotify(extra []string, path string, args ...string) (ended <-chan error, err error) {
	return launch(extra, nil, path, args)
}

// launch starts a program. ended receives its result when it exits. readyPipe is passed as file
// descriptor 3, or nil.
func launch(extra []string, readyPipe *os.File, path string, args []string) (ended <-chan error, err error) {
	for _, detach := range detachModes {
		cmd := exec.Command(path, args...)
		cmd.Env = append(withoutVariables(os.Environ(), watchdogVariable, MarkVariable), keepVariable+"=1")
		cmd.Env = append(cmd.Env, extra...)
		if readyPipe != nil {
			cmd.ExtraFiles = []*os.File{readyPipe}
		}
		detach(cmd)
		if err = cmd.Start(); err == nil {
			end := make(chan error, 1)
			go func() { end <- cmd.Wait() }()
			return end, nil
		}
		if !errors.Is(err, fs.ErrPermission) {
			break
		}
	}
	return nil, fmt.Errorf("cannot launch %s: %w", path, err)
}

// readyVariable tells a program to write a byte to file descriptor 3 when it is ready.
const readyVariable = "DRAWBRIDGE_READY"

// exitAlreadyRunning is the exit code of a program that found another instance running and passed
// its request on.
const exitAlreadyRunning = 1

// LaunchAndWaitReady is like Launch for a program that opens a window and then writes a byte to
// file descriptor 3. It returns an error if the program exits before, for example because a
// library or the display is missing. After within it returns nil without waiting any longer.
func LaunchAndWaitReady(within time.Duration, extra []string, path string, args ...string) error {
	if !supportsReadyPipe {
		return Launch(extra, path, args...)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot launch %s: %w", path, err)
	}
	defer read.Close()
	ended, err := launch(append(extra[:len(extra):len(extra)], readyVariable+"=1"), write, path, args)
	write.Close()
	if err != nil {
		return err
	}
	if err := read.SetReadDeadline(time.Now().Add(within)); err != nil {
		return fmt.Errorf("cannot wait for %s: %w", path, err)
	}
	if n, err := read.Read(make([]byte, 1)); n == 1 || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	select { // the descriptor was closed, probably because the program exited
	case err := <-ended:
		if exit, ok := errors.AsType[*exec.ExitError](err); err == nil || ok && exit.ExitCode() == exitAlreadyRunning {
			return nil
		}
		return fmt.Errorf("%s ended: %w", path, err)
	case <-time.After(within):
		return nil
	}
}
