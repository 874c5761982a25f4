package desktop

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

const runKey = `Software\Microsoft\Windows\CurrentVersion\Run`

// command returns the registry value: the command line of the daemon. It uses
// drawbridgew.exe, which opens no console window, if the program is the installed
// drawbridge.exe.
func (a Autostart) command() string {
	args := a.arguments()
	args[0] = strings.TrimSuffix(args[0], "drawbridge.exe")
	if args[0] != a.Program {
		args[0] += "drawbridgew.exe"
	}
	return windows.ComposeCommandLine(args)
}

// Enabled reports whether the entry exists and starts this program with these arguments.
func (a Autostart) Enabled() (bool, error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, runKey, registry.QUERY_VALUE)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer key.Close()
	have, _, err := key.GetStringValue(a.name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return have == a.command(), err
}

// Set writes or removes the entry. It is idempotent.
func (a Autostart) Set(on bool) error {
	if on {
		if err := a.check(); err != nil {
			return err
		}
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	if on {
		return key.SetStringValue(a.name(), a.command())
	}
	if err := key.DeleteValue(a.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
