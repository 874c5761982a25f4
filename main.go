// The window of Drawbridge. It stands at the root because the Wails tools build from
// here; the daemon is app/drawbridge.
package main

import "github.com/drawbridge-mcp/drawbridge/app/window"

func main() { window.Main() }
