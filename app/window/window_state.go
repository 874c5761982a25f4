package window

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// windowState is the size and position of the window when it was closed.
type windowState struct {
	X, Y, Width, Height int
	Maximised           bool
}

// Default and minimum size of a window.
const (
	defaultWidth, defaultHeight = 1180, 800
	minWidth, minHeight         = 640, 420
	maxCoordinate               = 16384 // larger than any screen
)

func windowStateFile(data string) string { return filepath.Join(data, "window.json") }

// readWindowState returns the saved state; known is false if there is none or it is invalid.
func readWindowState(data string) (p windowState, known bool) {
	initial := windowState{Width: defaultWidth, Height: defaultHeight}
	if data == "" {
		return initial, false
	}
	b, err := osutil.ReadFile(windowStateFile(data))
	if err != nil || json.Unmarshal(b, &p) != nil {
		return initial, false
	}
	if p.Width < minWidth || p.Height < minHeight || p.Width > maxCoordinate || p.Height > maxCoordinate ||
		p.X < -maxCoordinate || p.X > maxCoordinate || p.Y < -maxCoordinate || p.Y > maxCoordinate {
		return initial, false
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

// Wails does not tell the work area of a screen: this height is left to panels and the title bar.
const reservedHeight = 100

// fitting returns a size that fits on a screen of the given size, 0 if unknown, and whether it had to
// become smaller.
func (p windowState) fitting(screenWidth, screenHeight int) (_ windowState, smaller bool) {
	was := p
	if screenWidth > 0 && screenHeight > 0 {
		p.Width = max(min(p.Width, screenWidth), minWidth)
		p.Height = max(min(p.Height, screenHeight-reservedHeight), minHeight)
	}
	return p, p != was
}
