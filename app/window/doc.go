// Package window shows the page of the daemon in a native window. It is a separate program, started
// on demand, so its exit or crash never affects a server.
//
// The page is loaded from the daemon's own address, so it is the same page as in a browser. Wails
// itself serves only one small page (entryPage), which redirects to the daemon, or says what to do
// while no daemon responds.
//
// The environment variable DRAWBRIDGE_WINDOW_URL contains the address with a one-time code, because
// every user of the machine can read command lines. DRAWBRIDGE_WINDOW_DATA names the daemon's data
// folder, which the window uses to reconnect and to receive commands.
package window
