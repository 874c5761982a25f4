package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotFound means that a command is not in any folder of the PATH, or that the file it names does
// not exist.
var ErrNotFound = errors.New("executable not found")

// ErrNotExecutable means that the file exists but cannot be executed.
var ErrNotExecutable = errors.New("not executable")

// Resolve returns the executable of command. A command with a path separator is that file; if it
// is relative, it is resolved in the working directory at start. Other commands are searched in
// path, the value of a PATH variable, which the error then contains. Relative folders in path are
// skipped, because the result must not depend on our working directory.
func Resolve(command, path string) (string, error) {
	if command == "" {
		return "", fmt.Errorf("%w: the command is empty", ErrNotFound)
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			return command, nil
		}
		return resolveExecutableFile(command)
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := resolveExecutableFile(filepath.Join(dir, command))
		if err == nil {
			return found, nil
		}
		if errors.Is(err, ErrNotExecutable) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("%w: %q is not in any folder of the PATH %q", ErrNotFound, command, path)
}

// startError describes why the system could not start spec.
func startError(spec Spec, err error) error {
	if errors.Is(err, errClosed) {
		return err
	}
	if missingInterpreter(spec.Path, err) {
		return fmt.Errorf("%w: the interpreter of %s is missing (see its #! line)", ErrNotFound, spec.Path)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrNotFound, spec.Path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: %s", ErrNotExecutable, spec.Path)
	}
	return fmt.Errorf("cannot start %s: %w", spec.Path, err)
}
