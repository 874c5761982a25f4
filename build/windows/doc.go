// Package windows tests the built programs of Windows from outside: the stage windows of make test-all
// runs it under Wine.
//
// The test of the tray is run by hand, with -tags e2e,tray, the environment of that stage, and DISPLAY for an
// Xvfb of 1280x800: the menus of Wine are not reliable enough for every run. -artifacts keeps its pictures.
package windows
