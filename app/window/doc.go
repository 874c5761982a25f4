// Package window is the window around the page that the daemon serves. It is a program
// of its own, started on demand: its end, or its crash, never touches a server.
//
// The page is loaded from the daemon's own address, so it is the very page that a
// browser gets. What Wails serves itself is one small page that leads there, or says
// what to do while no daemon answers.
//
// It gets the address, with a one-time code in the fragment, in the environment as
// DRAWBRIDGE_WINDOW_URL, because every user of the machine can read a command line.
// DRAWBRIDGE_WINDOW_DATA names the daemon's folder: there the window finds it again
// after a restart, and follows its commands: come to the front, pick a file, close.
package window

// What whoever starts the window tells it in the environment.
const (
	urlVariable   = "DRAWBRIDGE_WINDOW_URL"
	dataVariable  = "DRAWBRIDGE_WINDOW_DATA"
	readyVariable = "DRAWBRIDGE_READY" // he waits for a byte on a descriptor
)

// noWindow is the exit code of a window that cannot be shown. Wails ends with 1 when
// another window took over, which is no failure.
const noWindow = 3
