// Package hideconsole starts child processes without a console window.
//
// [HideWindow] has an effect on Windows only.
package hideconsole
