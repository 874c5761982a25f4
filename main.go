// Command drawbridge-window shows the window of Drawbridge. It is in the root folder because the
// Wails tools build it from here. The daemon is app/drawbridge.
package main

import "github.com/drawbridge-mcp/drawbridge/app/window"

func main() { window.Main() }
