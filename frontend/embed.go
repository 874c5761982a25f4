package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// FS returns the files of the built page, with index.html at its root. A tree
// built without the page holds no index.html; the API then says how to build it.
func FS() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path: it is embedded above
	}
	return sub
}
