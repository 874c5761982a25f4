package desktop

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Autostart is the entry that starts Drawbridge when the user logs in: an XDG
// autostart file on Linux (Desktop Application Autostart Specification), a LaunchAgent
// on macOS, a value under HKCU\…\Run on Windows. Nothing is ever installed unasked.
type Autostart struct {
	Program string // the daemon's file, absolute
	// Data is the data folder when it is not the default one; "" is the default. Each
	// folder has an entry of its own, so that a daemon under development does not
	// replace the one in daily use.
	Data string

	config string // the folder of autostart files, for tests; "" is the system's
}

// name is the entry's, without a suffix.
func (a Autostart) name() string {
	if a.Data == "" {
		return "drawbridge"
	}
	return "drawbridge-" + slug(a.Data)
}

// arguments are what the program is started with: the daemon with its tray, no window.
func (a Autostart) arguments() []string {
	args := []string{a.Program, "serve"}
	if a.Data != "" {
		args = append(args, "--data", a.Data)
	}
	return args
}

// check refuses what no entry can hold: the formats have no way to write a line break.
func (a Autostart) check() error {
	if !filepath.IsAbs(a.Program) {
		return errors.New("cannot start at login: the program's path is not absolute")
	}
	for _, arg := range a.arguments() {
		if strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("cannot start at login: the path %q holds a control character", arg)
		}
	}
	return nil
}

// slug makes a short name of a path that differs for different paths.
func slug(path string) string {
	sum := uint64(14695981039346656037) // FNV-1a: a name, not a secret
	for _, b := range []byte(path) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%08x", uint32(sum^sum>>32))
}
