// Package icons embeds the icons of the program. The SVG files are the source; render.mjs writes the
// other formats.
package icons
