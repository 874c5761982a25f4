package dockerexec

import (
	"bytes"
	"io"
)

// MarkVariable is in the environment of every process that we start in a
// container, and of what that starts, so that it can be found again.
const MarkVariable = "DRAWBRIDGE_EXEC"

// What the wrapper says first on stderr. The record separator cannot start a
// line that a program writes by accident.
const (
	startedLine = "\x1edrawbridge-pid "
	missingLine = "\x1edrawbridge-missing"
)

// wrapper reports the process id, which exec keeps, or that there is no such program.
const wrapper = `command -v "$1" >/dev/null 2>&1 || { printf '\036drawbridge-missing\n' >&2; exit 127; }
printf '\036drawbridge-pid %s\n' "$$" >&2
exec "$@"`

// ender sends signal $1 to group $2 (0: none) and to all that carry a mark of $3,
// and prints how many of these there were. Without grep only the group is reached.
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

// herald reads the wrapper's first line off a process's stderr and passes the
// rest on. tell gets the line once.
type herald struct {
	dst  io.Writer
	tell func(line string)
	seen bool
	line []byte
}

// maxHerald bounds what is waited for when the line never comes.
const maxHerald = 256

func (h *herald) Write(p []byte) (int, error) {
	if h.seen {
		_, _ = h.dst.Write(p) // a log that fails must not stop the process
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

// holdback keeps stdout back until the wrapper's line has come: the Engine may
// deliver the first answer before it, and nobody reads while Start waits. It is used
// by one goroutine only.
type holdback struct {
	w    io.Writer
	held []byte
	open bool
}

// maxHeld is where holding back ends in any case.
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

// release passes on what was held. It blocks until that is read.
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
