package dockerexec

import (
	"bytes"
	"io"
)

// MarkVariable is an environment variable of every process that we start in a container.
// Descendants inherit it, so that they can be found.
const MarkVariable = "DRAWBRIDGE_EXEC"

// First line on stderr, written by the wrapper. Programs do not start a line with a record
// separator by accident.
const (
	startedLine = "\x1edrawbridge-pid "
	missingLine = "\x1edrawbridge-missing"
)

// wrapper prints the process id, which exec keeps, or that the program is missing.
const wrapper = `command -v "$1" >/dev/null 2>&1 || { printf '\036drawbridge-missing\n' >&2; exit 127; }
printf '\036drawbridge-pid %s\n' "$$" >&2
exec "$@"`

// ender sends signal $1 to process group $2 (0: none) and to all processes with one of the marks
// in $3, and prints the number of the latter. Without grep in the image only the group is
// signalled.
const ender = `[ "$2" -gt 1 ] && kill -"$1" -- -"$2" 2>/dev/null
n=0
for d in /proc/[0-9]*; do
  p=${d#/proc/}
  if [ "$p" != "$$" ] && grep -q -- "$3" "$d/environ" 2>/dev/null; then
    kill -"$1" "$p" 2>/dev/null && n=$((n+1))
  fi
done
echo "$n"`

func wrapped(cmd []string) []string {
	return append([]string{"/bin/sh", "-c", wrapper, "sh"}, cmd...)
}

// herald extracts the wrapper's line from the beginning of stderr and passes the rest on. tell is
// called once with the line, or with "" if it is missing.
type herald struct {
	dst  io.Writer
	tell func(line string)
	seen bool
	line []byte
}

// maxHerald is the maximum length of the wrapper's line.
const maxHerald = 256

func (h *herald) Write(p []byte) (int, error) {
	if h.seen {
		_, _ = h.dst.Write(p) // a failing log must not block the process
		return len(p), nil
	}
	h.line = append(h.line, p...)
	line, rest, whole := bytes.Cut(h.line, []byte{'\n'})
	if !whole && len(h.line) < maxHerald {
		return len(p), nil
	}
	if h.seen = true; bytes.HasPrefix(line, []byte{0x1e}) {
		h.tell(string(line))
	} else {
		h.tell("")
		rest = h.line
	}
	if len(rest) > 0 {
		_, _ = h.dst.Write(rest)
	}
	h.line = nil
	return len(p), nil
}

// holdback buffers stdout until the wrapper's line has arrived: the Engine may deliver stdout
// before it, and nothing reads stdout during Start. It is not safe for concurrent use.
type holdback struct {
	w    io.Writer
	held []byte
	open bool
}

// maxHeld is the maximum size of the buffer. If it is exceeded, holdback stops buffering.
const maxHeld = 1 << 20

func (h *holdback) Write(p []byte) (int, error) {
	if !h.open && len(h.held)+len(p) <= maxHeld {
		h.held = append(h.held, p...)
		return len(p), nil
	}
	if err := h.release(); err != nil {
		return 0, err
	}
	return h.w.Write(p)
}

// release writes the buffer to w, and blocks until it has been read.
func (h *holdback) release() error {
	h.open = true
	held := h.held
	h.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := h.w.Write(held)
	return err
}
