package window

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// windowState is where the window stood when it was closed.
type windowState struct {
	X, Y, Width, Height int
	Maximised           bool
}

// What a window is without a memory, and the least it can be.
const (
	usualWidth, usualHeight = 1180, 800
	leastWidth, leastHeight = 640, 420
	mostSide                = 16384 // of any screen
)

func windowStateFile(data string) string { return filepath.Join(data, "window.json") }

// readWindowState returns the remembered place; known is false when there is none, or none
// that makes sense.
func readWindowState(data string) (p windowState, known bool) {
	usual := windowState{Width: usualWidth, Height: usualHeight}
	if data == "" {
		return usual, false
	}
	b, err := os.ReadFile(windowStateFile(data))
	if err != nil || json.Unmarshal(b, &p) != nil {
		return usual, false
	}
	if p.Width < leastWidth || p.Height < leastHeight || p.Width > mostSide || p.Height > mostSide ||
		p.X < -mostSide || p.X > mostSide || p.Y < -mostSide || p.Y > mostSide {
		return usual, false
	}
	return p, true
}

// saveWindowState remembers p. A failure costs the memory alone.
func saveWindowState(data string, p windowState) {
	if data == "" {
		return
	}
	if b, err := json.Marshal(p); err == nil {
		_ = os.WriteFile(windowStateFile(data), b, 0o600)
	}
}
