package dial

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// confine makes spec start in the sandbox of c, if it has one. What the system cannot enforce
// becomes a warning, or an error if the server must not run without it.
func (d *Dialer) confine(c *config.Server, spec *process.Spec, s *startedProcess) error {
	if !c.Sandbox.On && !c.Sandbox.Observe {
		return nil
	}
	if name := strings.TrimSuffix(filepath.Base(spec.Path), ".exe"); c.Sandbox.On && (name == "docker" || name == "podman") {
		return &core.Error{Code: core.CodeValidation, Message: "a sandbox cannot confine a container, only the command " + name + " that starts it",
			Hint: "Remove sandbox, and limit the container in args (--read-only, --network, --volume).", Remedy: core.EditConfig("sandbox")}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("cannot set up a sandbox without a home directory: %w", err)
	}
	rules := sandbox.RulesFor(sandbox.Program{
		Home: home, Dir: spec.Dir, Path: spec.Path, Args: spec.Args, Private: d.private(),
		Read: c.Sandbox.Read, Write: c.Sandbox.Write, NoNetwork: c.Sandbox.NoNetwork, Ports: c.Sandbox.Ports,
		NoUnixSockets: c.Sandbox.NoUnixSockets(), Unwritable: ownProgram(),
	})
	d.sandboxes.setRules(c.ID, rules)
	if c.Sandbox.Observe {
		d.Logs.Append(c.ID, serverlog.Info, "what it opens is recorded, and nothing is refused")
		return nil
	}
	for _, text := range rules.Ignored {
		s.addWarning(text)
	}
	missing, enough := sandbox.Unsupported(rules)
	if !enough && !c.Sandbox.BestEffort {
		return &core.Error{Code: core.CodeValidation, Message: "the sandbox of the server cannot be enforced: this system cannot " + strings.Join(missing, ", nor "),
			Hint: "Set sandbox.bestEffort to start it with the restrictions that this system supports, or sandbox to \"off\".", Remedy: core.EditConfig("sandbox")}
	}
	if len(missing) > 0 {
		s.addWarning("its sandbox is incomplete: this system cannot " + strings.Join(missing, ", nor "))
	}
	if !sandbox.Available() {
		return nil
	}
	wrapped, err := sandbox.Wrap(rules, spec.Path, spec.Args)
	if err != nil {
		return err
	}
	spec.Path, spec.Args, spec.Env, spec.Inherit = wrapped.Path, wrapped.Args, append(spec.Env, wrapped.Env), wrapped.Ruleset
	spec.Stderr = io.MultiWriter(spec.Stderr, &refusalDetector{rules: rules, report: func(one sandbox.Refusal) {
		d.sandboxes.addRefusal(c.ID, one)
		key := "sandbox.write"
		if one.Unreadable {
			key = "sandbox.read, or to sandbox.write,"
		}
		d.Logs.Append(c.ID, serverlog.Warn, fmt.Sprintf("The sandbox refused access to %s. To allow it, add it to %s of this server.", one.Path, key))
	}})
	d.Logs.Append(c.ID, serverlog.Info, "starts in a sandbox")
	return nil
}

func (d *Dialer) private() []string {
	if d.Private == nil {
		return nil
	}
	return d.Private()
}

// ownProgram returns our own executable, which no confined server may replace.
func ownProgram() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path}
}

// refusedPath matches what programs write when the system refuses access to a file.
var refusedPath = lazyregexp.New(`(?:EACCES|EPERM|[Pp]ermission denied)\b.*?['":]\s*['"]?(/[^'":\s]+)|['"\s](/[^'":\s]+)['"]?: [Pp]ermission denied`)

// Limits on what a refusalDetector reads and reports.
const (
	maxRefusalLine = 4 << 10
	maxRefusals    = 20
)

// refusalDetector reads the stderr of a confined process and reports each path that the sandbox
// refused, once. The zero values of line and reported are ready.
type refusalDetector struct {
	rules  sandbox.Rules
	report func(sandbox.Refusal)

	mu       sync.Mutex // guards the rest
	line     []byte
	reported map[string]bool
}

func (r *refusalDetector) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rest := p; len(rest) > 0; {
		head, tail, complete := bytes.Cut(rest, []byte("\n"))
		r.line = append(r.line, head[:min(len(head), maxRefusalLine-min(len(r.line), maxRefusalLine))]...)
		if complete {
			r.read(r.line)
			r.line = r.line[:0]
		}
		rest = tail
	}
	return len(p), nil
}

// read reports a refused path in one line of stderr.
func (r *refusalDetector) read(line []byte) {
	if len(r.reported) >= maxRefusals || !bytes.Contains(line, []byte("EACCES")) && !bytes.Contains(line, []byte("EPERM")) && !bytes.Contains(line, []byte("ermission denied")) {
		return
	}
	m := refusedPath().FindSubmatch(line)
	if m == nil {
		return
	}
	path := string(m[1]) + string(m[2])
	if r.reported[path] || r.rules.MayWrite(path) { // refused by the permissions of the file, if at all
		return
	}
	if r.reported == nil {
		r.reported = make(map[string]bool)
	}
	r.reported[path] = true
	r.report(sandbox.Refusal{Path: path, Unreadable: !r.rules.MayRead(path)})
}

// sandboxState holds the rules of the sandbox with which each server was last started, or would
// have been if it is only observed, and what was refused since. The zero value is ready to use.
type sandboxState struct {
	mu       sync.Mutex // guards the rest
	byServer map[string]sandbox.Rules
	refused  map[string][]sandbox.Refusal
}

func (a *sandboxState) setRules(server string, r sandbox.Rules) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byServer == nil {
		a.byServer, a.refused = map[string]sandbox.Rules{}, map[string][]sandbox.Refusal{}
	}
	a.byServer[server] = r
	delete(a.refused, server)
}

func (a *sandboxState) addRefusal(server string, one sandbox.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.refused[server]) < maxRefusals && !slices.Contains(a.refused[server], one) {
		a.refused[server] = append(a.refused[server], one)
	}
}

// SandboxRefusals returns what the sandbox of a server refused since its newest start, as far as the
// server wrote it to stderr.
func (d *Dialer) SandboxRefusals(server string) []sandbox.Refusal {
	d.sandboxes.mu.Lock()
	defer d.sandboxes.mu.Unlock()
	return slices.Clone(d.sandboxes.refused[server])
}

// SandboxRules returns the rules of the sandbox of a server, of its newest start. ok is false if it
// was not started with sandbox "on" or "observe" since Drawbridge started; the rules then only say
// what is private and what starts programs.
func (d *Dialer) SandboxRules(server string) (r sandbox.Rules, ok bool) {
	d.sandboxes.mu.Lock()
	r, ok = d.sandboxes.byServer[server]
	d.sandboxes.mu.Unlock()
	if !ok {
		home, _ := os.UserHomeDir() // without one, no server is started in a sandbox
		r = sandbox.Protected(home, d.private(), ownProgram())
	}
	return r, ok
}
