// Package icons holds the pictures of the program. The SVG files are the source;
// render.mjs writes the others from them.
package icons

import _ "embed"

// App is the program's icon, a PNG of 256 pixels.
//
//go:embed app-256.png
var App []byte
