package process

import (
	"fmt"
	"os"
	"os/exec"
)

// Launch starts a program for the person, such as a browser or our window, with
// our whole environment and extra (KEY=value). It outlives us: neither stopping nor
// the watchdog touches it. Launch does not wait for it.
func Launch(extra []string, path string, args ...string) error {
	cmd := exec.Command(path, args...)
	cmd.Env = append(without(os.Environ(), watchdogVariable, MarkVariable), keepVariable+"=1")
	cmd.Env = append(cmd.Env, extra...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot launch %s: %w", path, err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
