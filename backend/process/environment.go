package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// keepVariable marks processes that were started for the user and not for a server, such as the
// window or a browser. The watchdog does not end them or their descendants.
const keepVariable = "DRAWBRIDGE_KEEP"

// watchdogVariable passes DESCRIPTOR:PID of the watchdog to the daemon.
const watchdogVariable = "DRAWBRIDGE_WATCHDOG"

var baseVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TERM",
	"LANG", "LANGUAGE", "TMPDIR", "TEMP", "TMP",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
	"XDG_RUNTIME_DIR", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
}

var baseVariablesWindows = []string{
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
	"COMMONPROGRAMFILES", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
}

// BaseEnv returns the variables that every server gets, with our own values: the locations of
// programs, home, temporary files and settings, and the language. It contains no tokens of other
// applications.
func BaseEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); isBaseVariable(name) {
			env = append(env, kv)
		}
	}
	return env
}

func isBaseVariable(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
		if slices.Contains(baseVariablesWindows, name) {
			return true
		}
	}
	return slices.Contains(baseVariables, name) || strings.HasPrefix(name, "LC_")
}

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
	return "", fmt.Errorf("%w: %q is not in any folder of the PATH %s", ErrNotFound, command, osutil.QuotePath(path))
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

// cmdCommand returns the command that cmd.exe is asked to run, as in cmd /c npx -y package. ok is false if
// cmd.exe has more to do: expand a variable, or anything but run a command.
func cmdCommand(path string, args []string) (command string, rest []string, ok bool) {
	name := strings.ToLower(path[strings.LastIndexAny(path, `\/`)+1:])
	if name != "cmd" && name != "cmd.exe" || len(args) < 2 || !strings.EqualFold(args[0], "/c") || strings.Contains(strings.Join(args, ""), "%") {
		return "", nil, false
	}
	return args[1], args[2:], true
}

// bypassNpmBatchFile replaces npm's batch files for Windows, npx.cmd and npm.cmd, by what they start:
// node and the script beside them. Arguments then reach npm unchanged, whereas cmd.exe interprets
// characters such as & and %. Other commands are returned unchanged.
//
// The batch files prefer a globally installed npm over the one beside them, which makes no
// difference to a server. exists reports whether a file exists; node returns the path of node if
// it is not in the folder of the batch file, or "".
func bypassNpmBatchFile(path string, args []string, exists func(string) bool, node func() string) (string, []string) {
	cut := strings.LastIndexAny(path, `\/`) + 1
	dir, script := path[:cut], ""
	switch strings.ToLower(path[cut:]) {
	case "npx.cmd":
		script = dir + `node_modules\npm\bin\npx-cli.js`
	case "npm.cmd":
		script = dir + `node_modules\npm\bin\npm-cli.js`
	}
	if script == "" || !exists(script) {
		return path, args
	}
	program := dir + "node.exe"
	if !exists(program) {
		if program = node(); program == "" {
			return path, args
		}
	}
	return program, append([]string{script}, args...)
}
