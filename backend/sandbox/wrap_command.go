package sandbox

import (
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/sandbox/reexec"
)

// Wrapped is a command that confines itself and then executes another one.
type Wrapped struct {
	Path string
	Args []string
	// Env is an environment variable, KEY=value, that it needs.
	Env string
	// Ruleset must be inherited as the first descriptor after the standard ones, and closed when
	// the command has been started.
	Ruleset *os.File
}

// Wrap returns the command that confines itself to what this system can enforce of r, as
// Unsupported says, and then executes path with args. It is this program; see package reexec. A
// thread of the daemon that confines itself and starts the program would be faster, but the program
// could attach to that thread, and so to the daemon.
func Wrap(r Rules, path string, args []string) (Wrapped, error) {
	ruleset, err := newRuleset(landlockABIVersion(), r)
	if err != nil {
		return Wrapped{}, err
	}
	return Wrapped{
		Path: selfPath, Args: append([]string{path}, args...), Ruleset: ruleset,
		Env: reexec.Variable + "=" + seccompFilter(r),
	}, nil
}
