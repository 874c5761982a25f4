package window

// Environment variables that are set by the process that starts the window.
const (
	urlVariable   = "DRAWBRIDGE_WINDOW_URL"
	dataVariable  = "DRAWBRIDGE_WINDOW_DATA"
	readyVariable = "DRAWBRIDGE_READY" // if set, that process waits for a byte on readyDescriptor
)

// exitNoWindow is the exit code of a window that cannot be shown. Wails exits with 1 if another
// window took over, which is not a failure.
const exitNoWindow = 3
