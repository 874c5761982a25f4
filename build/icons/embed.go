// Package icons contains the icons of the program. The SVG files are the source; render.mjs
// generates the others from them.
package icons

import "embed"

// App is the program's icon, a PNG of 256 pixels.
//
//go:embed app-256.png
var App []byte

// TrayTemplate is the icon for the menu bar of macOS, which colours it itself.
//
//go:embed tray-template.png
var TrayTemplate []byte

//go:embed tray-*.png tray-*.ico
var tray embed.FS

// TrayPNG returns the tray icon for ok, attention, error or paused, 64 pixels wide.
func TrayPNG(state string) []byte { return read("tray-" + state + ".png") }

// TrayICO is TrayPNG for Windows.
func TrayICO(state string) []byte { return read("tray-" + state + ".ico") }

func read(name string) []byte {
	data, err := tray.ReadFile(name)
	if err != nil {
		panic(err) // the states are constants of the tray, and a test reads them all
	}
	return data
}
