//go:build linux || darwin

package process

import (
	"fmt"
	"os"
)

func resolveExecutableFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %s", ErrNotFound, path)
	case info.IsDir():
		return "", fmt.Errorf("%w: %s is a folder", ErrNotExecutable, path)
	case info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%w: %s", ErrNotExecutable, path)
	}
	return path, nil
}
