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

// startScript prints the process id, which exec keeps, or that the program is missing.
const startScript = `command -v "$1" >/dev/null 2>&1 || { printf '\036drawbridge-missing\n' >&2; exit 127; }
printf '\036drawbridge-pid %s\n' "$$" >&2
exec "$@"`

// killScript sends signal $1 to process group $2 (0: none) and to all processes with one of the
// marks in $3, and prints the number of the latter. Without grep in the image only the group is
// signalled.
const killScript = `[ "$2" -gt 1 ] && kill -"$1" -- -"$2" 2>/dev/null
n=0
for d in /proc/[0-9]*; do
  p=${d#/proc/}
  if [ "$p" != "$$" ] && grep -q -- "$3" "$d/environ" 2>/dev/null; then
    kill -"$1" "$p" 2>/dev/null && n=$((n+1))
  fi
done
echo "$n"`

func wrapCommand(cmd []string) []string {
	return append([]string{"/bin/sh", "-c", startScript, "sh"}, cmd...)
}

// startLineReader extracts the wrapper's line from the beginning of stderr and passes the rest
// on. tell is called once with the line, or with "" if it is missing.
type startLineReader struct {
	dst    io.Writer
	onLine func(line string)
	seen   bool
	line   []byte
}

// maxStartLine is the maximum length of the wrapper's line.
const maxStartLine = 256

func (h *startLineReader) Write(p []byte) (int, error) {
	if h.seen {
		_, _ = h.dst.Write(p) // a failing log must not block the process
		return len(p), nil
	}
	h.line = append(h.line, p...)
	line, rest, whole := bytes.Cut(h.line, []byte{'\n'})
	if !whole && len(h.line) < maxStartLine {
		return len(p), nil
	}
	if h.seen = true; bytes.HasPrefix(line, []byte{0x1e}) {
		h.onLine(string(line))
	} else {
		h.onLine("")
		rest = h.line
	}
	if len(rest) > 0 {
		_, _ = h.dst.Write(rest)
	}
	h.line = nil
	return len(p), nil
}

// startBuffer buffers stdout until the wrapper's line has arrived: the Engine may deliver stdout
// before it, and nothing reads stdout during Start. It is not safe for concurrent use.
type startBuffer struct {
	w           io.Writer
	buffered    []byte
	passThrough bool
}

// maxBuffered is the maximum size of the buffer. If it is exceeded, startBuffer stops buffering.
const maxBuffered = 1 << 20

func (h *startBuffer) Write(p []byte) (int, error) {
	if !h.passThrough && len(h.buffered)+len(p) <= maxBuffered {
		h.buffered = append(h.buffered, p...)
		return len(p), nil
	}
	if err := h.release(); err != nil {
		return 0, err
	}
	return h.w.Write(p)
}

// release writes the buffer to w, and blocks until it has been read.
func (h *startBuffer) release() error {
	h.passThrough = true
	held := h.buffered
	h.buffered = nil
	if len(held) == 0 {
		return nil
	}
	_, err := h.w.Write(held)
	return err
}
