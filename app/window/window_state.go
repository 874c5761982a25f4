package window

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// windowState is the size and position of the window when it was closed.
type windowState struct {
	X, Y, Width, Height int
	Maximised           bool
}

// Default and minimum size of a window.
const (
	usualWidth, usualHeight = 1180, 800
	leastWidth, leastHeight = 640, 420
	mostSide                = 16384 // larger than any screen
)

func windowStateFile(data string) string { return filepath.Join(data, "window.json") }

// readWindowState returns the saved state; known is false if there is none or it is invalid.
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

// saveWindowState saves p. It ignores errors, because only the position would be lost.
func saveWindowState(data string, p windowState) {
	if data == "" {
		return
	}
	if b, err := json.Marshal(p); err == nil {
		_ = os.WriteFile(windowStateFile(data), b, 0o600)
	}
}
