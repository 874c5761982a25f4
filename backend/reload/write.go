package reload

import (
	"os"
	"path/filepath"

	"drawbridge/backend/atomicfile"
)

// replaceFile writes data beside path and renames it over path, so that a reader
// sees the old or the new file and never half of one. A symbolic link stays: what
// it points to is replaced. The file keeps its mode; a new one gets mode.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return atomicfile.Write(path, data, mode)
}
