package process

import (
	"os"
	"runtime"
	"slices"
	"strings"
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
