package desktop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Autostart is the entry that starts Drawbridge when the user logs in: an XDG autostart file
// on Linux (Desktop Application Autostart Specification), a LaunchAgent on macOS, a value
// under HKCU\…\Run on Windows. It is only written on request of the user.
type Autostart struct {
	Program string // absolute path of the daemon
	// Data is the data directory; "" for the default one. Each directory has an entry of its
	// own, so that a daemon under development does not replace the one in daily use.
	Data string

	config string // directory of autostart files, for tests; "" for the system's
}

// name returns the name of the entry, without a suffix.
func (a Autostart) name() string {
	if a.Data == "" {
		return "drawbridge"
	}
	return "drawbridge-" + shortHash(a.Data)
}

// arguments returns the command line: the daemon with its tray, without a window.
func (a Autostart) arguments() []string {
	args := []string{a.Program, "serve"}
	if a.Data != "" {
		args = append(args, "--data", a.Data)
	}
	return args
}

// check returns an error for a command line that the entry formats cannot represent, such as
// one with a line break.
func (a Autostart) check() error {
	if !filepath.IsAbs(a.Program) {
		return errors.New("cannot start at login: the program's path is not absolute")
	}
	if err := osutil.CheckInstalled(a.Program); err != nil {
		return err
	}
	for _, arg := range a.arguments() {
		if strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("cannot start at login: the path %q contains a control character", arg)
		}
	}
	return nil
}

func shortHash(path string) string {
	sum := uint64(14695981039346656037) // FNV-1a: not used for security
	for _, b := range []byte(path) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%08x", uint32(sum^sum>>32))
}

// AutostartFor returns the entry that starts this program, with its data folder unless that is the
// default one.
func AutostartFor(folders config.Folders) Autostart {
	self, _ := os.Executable()
	a := Autostart{Program: self}
	if folders.CustomData {
		a.Data = folders.Data
	}
	return a
}
