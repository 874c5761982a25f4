package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf16"
)

// Spec specifies a process.
type Spec struct {
	// Name is the server id. It is part of the mark and of the ledger, and must not contain '/'
	// or NUL.
	Name string
	// Path is the executable, as returned by Resolve.
	Path string
	// Args are the arguments, without the program name.
	Args []string
	// Env is the complete environment as KEY=value. Nothing is inherited.
	Env []string
	// Dir is the working directory; "" means our own.
	Dir string
	// Inherit is a file that the process inherits as descriptor 3, or nil. Start closes it.
	Inherit *os.File
	// Stderr receives what the process writes to stderr. It must not block, because a full pipe
	// blocks the process. nil discards it.
	Stderr io.Writer
	// Stop configures the timeouts of Process.Stop.
	Stop StopTimeouts
}

// StopTimeouts configures how long Stop waits after each step before the next one. Zero means the
// default: 2 s after closing stdin, 3 s after SIGTERM.
type StopTimeouts struct {
	CloseStdin, Term time.Duration
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// maxWindowsDir is MAX_PATH without the separator and the zero at its end, in UTF-16 code units.
const maxWindowsDir = 258

// validate reports invalid fields of a Spec, with clearer errors than those of exec.
func (s Spec) validate() error {
	if s.Name == "" || strings.ContainsAny(s.Name, "/\x00\n") {
		return fmt.Errorf("cannot start process: bad name %q", s.Name)
	}
	if s.Path == "" {
		return errors.New("cannot start process: no command")
	}
	if s.Dir != "" {
		info, err := os.Stat(s.Dir)
		switch {
		case err != nil:
			return fmt.Errorf("cannot enter working directory: %w", err)
		case !info.IsDir():
			return fmt.Errorf("cannot enter working directory: %s is not a directory", s.Dir)
		}
		if n := len(utf16.Encode([]rune(s.Dir))); runtime.GOOS == "windows" && n > maxWindowsDir {
			return fmt.Errorf("cannot enter working directory: its path has %d characters, and Windows starts programs in paths of at most %d: %s", n, maxWindowsDir, s.Dir)
		}
	}
	return checkArgs(s.Path, s.Args)
}
