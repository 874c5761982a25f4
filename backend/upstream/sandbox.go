package upstream

import (
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// confine makes spec start in the sandbox of c, if it has one. What the system cannot enforce
// becomes a warning, or an error if the server must not run without it. The rules are computed
// while the process starts and waits for them; confined, which must be called once, waits until
// they have been passed to it.
func (d *Dialer) confine(c *config.Server, spec *process.Spec, s *startedProcess) (confined func() error, err error) {
	confined = func() error { return nil }
	if !c.Sandbox.On {
		return confined, nil
	}
	if name := strings.TrimSuffix(filepath.Base(spec.Path), ".exe"); name == "docker" || name == "podman" {
		return nil, &core.Error{Code: core.CodeValidation, Message: "a sandbox cannot confine a container, only the command " + name + " that starts it",
			Hint: "Remove 'sandbox' from the server's entry, and restrict the container with args (--read-only, --network, --volume).", Remedy: core.EditConfig("sandbox")}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("cannot set up a sandbox without a home directory: %w", err)
	}
	program := sandbox.Program{
		Home: home, Dir: spec.Dir, Path: spec.Path, Args: spec.Args,
		Read: c.Sandbox.Read, Write: c.Sandbox.Write, NoNetwork: c.Sandbox.NoNetwork, Ports: c.Sandbox.Ports,
		NoUnixSockets: c.Sandbox.NoUnixSockets(), Unwritable: ownProgram(),
	}
	computeRules := func() sandbox.Rules {
		program.Private = d.private()
		rules := sandbox.RulesFor(program)
		d.sandboxes.setRules(c.ID, rules)
		return rules
	}
	missing, enough := sandbox.Unsupported(sandbox.Rules{NoNetwork: program.NoNetwork, Ports: program.Ports, NoUnixSockets: program.NoUnixSockets})
	if !enough && !c.Sandbox.BestEffort {
		computeRules()
		return nil, &core.Error{Code: core.CodeValidation, Message: "cannot enforce the sandbox of the server: this system cannot " + strings.Join(missing, ", nor "),
			Hint: "To start it with the restrictions that this system supports, set sandbox.bestEffort to true. To start it without a sandbox, set sandbox to \"off\".", Remedy: core.EditConfig("sandbox")}
	}
	if len(missing) > 0 {
		s.addWarning("its sandbox is incomplete: this system cannot " + strings.Join(missing, ", nor "))
	}
	addIgnored := func(rules sandbox.Rules) {
		for _, text := range rules.Ignored {
			s.addWarning(text)
		}
	}
	if !sandbox.Available() {
		addIgnored(computeRules())
		return confined, nil
	}
	wrapped, err := sandbox.Wrap(spec.Path, spec.Args, spec.Env)
	if err != nil {
		return nil, err
	}
	spec.Path, spec.Args, spec.Env, spec.Inherit = wrapped.Path, wrapped.Args, wrapped.Env, wrapped.Inherit
	detector := &refusalDetector{userMayWrite: sandbox.UserMayWrite}
	spec.Stderr = io.MultiWriter(spec.Stderr, detector)
	passed := make(chan error, 1)
	go func() {
		rules := computeRules()
		addIgnored(rules)
		detector.start(rules, func(one sandbox.Refusal) {
			if d.sandboxes.addRefusal(c.ID, one) {
				d.Logs.Append(c.ID, serverlog.Warn, refusalText(one.WithAllow(rules, home)))
			}
		})
		passed <- wrapped.Confine(rules)
	}()
	s.setRefusals(detector)
	d.Logs.Append(c.ID, serverlog.Info, "starts in a sandbox")
	return func() error { return <-passed }, nil
}

// refusalText explains a refusal.
func refusalText(one sandbox.Refusal) string {
	key := "sandbox.write"
	if one.Unreadable {
		key = "sandbox.read or sandbox.write"
	}
	if one.Remark != "" {
		return fmt.Sprintf("The sandbox denied access to %s, which %s. If you trust the server with this path, list the exact path that it needs in the server's %s; otherwise, leave access denied.", one.Path, one.Remark, key)
	}
	what := "it"
	if one.Allow != one.Path {
		what = one.Allow // entries must exist
	}
	return fmt.Sprintf("The sandbox denied access to %s. To allow it, add %s to this server's %s.", one.Path, what, key)
}

func (d *Dialer) private() []string {
	if d.PrivatePaths == nil {
		return nil
	}
	return d.PrivatePaths()
}

// ownProgram returns our own executable, which no confined server may replace.
func ownProgram() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path}
}

// sandboxState holds the rules of the sandbox with which each server was last started, and
// what was refused since. The zero value is ready to use.
type sandboxState struct {
	mu       sync.Mutex // guards the rest
	byServer map[string]sandbox.Rules
	refused  map[string]*refusals
}

// Limits on the refusals of one server, in addition to those of private paths.
const (
	maxRefusals = 20   // kept
	maxRefused  = 1000 // counted
)

// refusals are what a sandbox refused since the newest start of a server.
type refusals struct {
	list  []sandbox.Refusal
	known map[string]bool // private paths of which one is in list
	seen  map[uint64]bool // hashes of all paths
	kept  int             // how many other paths are in list
	more  int             // how many are not
}

var pathHash = maphash.MakeSeed()

func (a *sandboxState) setRules(server string, r sandbox.Rules) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byServer == nil {
		a.byServer, a.refused = map[string]sandbox.Rules{}, map[string]*refusals{}
	}
	a.byServer[server], a.refused[server] = r, &refusals{known: map[string]bool{}, seen: map[uint64]bool{}}
}

// addRefusal reports whether a refusal is new and was kept. Of each private path, one is always
// kept, so that a server cannot hide it behind others.
func (a *sandboxState) addRefusal(server string, one sandbox.Refusal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.refused[server]
	private := a.byServer[server].PrivatePath(one.Path)
	hash := maphash.String(pathHash, one.Path)
	switch {
	case private != "" && !r.known[private]:
		r.known[private] = true
	case r.seen[hash] || len(r.seen) >= maxRefused:
		return false
	case r.kept == maxRefusals:
		r.seen[hash] = true
		r.more++
		return false
	default:
		r.kept++
	}
	r.seen[hash] = true
	r.list = append(r.list, one)
	return true
}

// SandboxRefusals returns what the sandbox of a server refused since its newest start, as far as
// the server reported it, and how many other paths are not in the list, which ends at a limit.
func (d *Dialer) SandboxRefusals(server string) (list []sandbox.Refusal, more int) {
	d.sandboxes.mu.Lock()
	defer d.sandboxes.mu.Unlock()
	r := d.sandboxes.refused[server]
	if r == nil {
		return nil, 0
	}
	return slices.Clone(r.list), r.more
}

// SandboxRules returns the rules of the sandbox of a server, of its newest start. ok is false if it
// was not started with sandbox "on" since Drawbridge started; the rules then only say what
// is private and what starts programs.
func (d *Dialer) SandboxRules(server string) (r sandbox.Rules, ok bool) {
	d.sandboxes.mu.Lock()
	r, ok = d.sandboxes.byServer[server]
	d.sandboxes.mu.Unlock()
	if !ok {
		home, _ := os.UserHomeDir() // without one, no server is started in a sandbox
		r = sandbox.DenyAllRules(home, d.private(), ownProgram())
	}
	return r, ok
}
