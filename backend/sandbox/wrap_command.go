package sandbox

import (
	"os"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/sandbox/reexec"
)

// Wrapped is a command that receives rules, confines itself, and then executes another one.
type Wrapped struct {
	Path string
	Args []string
	Env  []string
	// Inherit must be inherited as the first descriptor after the standard ones, and closed when
	// the command has been started.
	Inherit *os.File

	rules *os.File // the other end, to which Confine writes
}

const maxProcsVariable = "GOMAXPROCS"

// Wrap returns the command that waits for rules, confines itself, and then executes path with args and env.
// It is this program; see package reexec. The caller can compute the rules while the command starts, which saves
// a third of the delay. A thread of the daemon that confines itself and starts the program would be faster, but
// the program could attach to that thread, and so to the daemon.
func Wrap(path string, args, env []string) (w Wrapped, err error) {
	w = Wrapped{Path: selfPath, Args: append([]string{path}, args...)}
	value := ""
	w.Env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		rest, found := strings.CutPrefix(kv, maxProcsVariable+"=")
		if found {
			value = rest
		}
		return found
	})
	// The Go runtime starts faster with one processor, because it need not ask for limits or start threads.
	w.Env = append(w.Env, maxProcsVariable+"=1", reexec.Variable+"="+value)
	w.Inherit, w.rules, err = socketPair()
	return w, err
}

// Confine passes what this system can enforce of r, as Unsupported says, to the command, which may not have
// been started yet, or have ended already. It must be called once, also if the command was not started.
func (w Wrapped) Confine(r Rules) error { return w.confine(landlockABIVersion(), r) }

func (w Wrapped) confine(version int, r Rules) error {
	defer w.rules.Close() // without rules, the command ends
	ruleset, err := newRuleset(version, r)
	if err != nil {
		return err
	}
	defer ruleset.Close()
	return sendRules(w.rules, ruleset, seccompFilter(r))
}
