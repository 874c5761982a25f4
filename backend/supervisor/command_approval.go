package supervisor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// CommandApprovals stores which commands the user has approved, each with the sandbox in which it was
// last approved. key is a hash of everything that determines what is run.
type CommandApprovals interface {
	Approved(ctx context.Context, server, key string) (sandbox []byte, ok bool, err error)
	Approve(ctx context.Context, server, key string, sandbox []byte) error
}

// approval is an approved command, and the sandbox in which it may run.
type approval struct {
	key     string // commandKey
	sandbox config.Sandbox
}

// PendingCommand is a command that waits for the user's approval.
type PendingCommand struct {
	Server      string   `json:"server"`
	Key         string   `json:"key"`                   // identifies exactly this command; see Supervisor.Approve
	Command     string   `json:"command"`               // with its arguments, as in the configuration
	Previous    string   `json:"previous"`              // the command that ran before in this run; "" if none did
	Environment []string `json:"environment,omitempty"` // names, sorted; with the values of those that select programs and libraries
	Cwd         string   `json:"cwd,omitempty"`
	Sandbox     []string `json:"sandbox,omitempty"` // what it may do that its approved sandbox refuses, as in config.Sandbox.AllowsBeyond
}

// PendingCommands returns the commands that wait for approval, in the order of the configuration.
func (s *Supervisor) PendingCommands() []PendingCommand {
	list := []PendingCommand{}
	for _, r := range s.fleet.Load().order {
		if c := r.config(); r.needsApproval.Load() {
			previous, last := s.lastApproved(r.id)
			list = append(list, PendingCommand{Server: r.id, Key: pendingKey(c), Command: commandText(c), Previous: previous,
				Environment: environmentNames(c), Cwd: c.Cwd, Sandbox: c.Sandbox.AllowsBeyond(&last)})
		}
	}
	return list
}

// lastApproved returns the command and the sandbox in which a server ran last.
func (s *Supervisor) lastApproved(id string) (command string, sandbox config.Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastCommands[id], s.approved[id].sandbox
}

// Approve allows a server with a new command to run, in this and in later runs. If key is not "",
// it must be the key of the command that the user saw; otherwise Approve returns an error with
// core.CodeConflict, because the command has changed since.
func (s *Supervisor) Approve(ctx context.Context, id, key string) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	fl := s.fleet.Load()
	r := fl.byID[id]
	if r == nil {
		return fl.unknownError(id)
	}
	c := r.config()
	if key != "" && key != pendingKey(c) {
		return &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("the command of server %q has changed", id), Hint: "Review the new command, then approve it."}
	}
	if s.o.CommandApprovals != nil {
		if err := s.o.CommandApprovals.Approve(ctx, c.ID, commandKey(c), sandboxJSON(c)); err != nil {
			return fmt.Errorf("cannot save approval: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approved[id], s.lastCommands[id] = approval{commandKey(c), c.Sandbox}, commandText(c)
	if r.needsApproval.Swap(false) {
		s.o.Journal(id, slog.LevelInfo, "its command was approved: "+commandText(c))
		r.post(func() { r.applyConfig(true, true) })
	}
	return nil
}

// runsProgram reports whether c runs a program, on this machine or in a container.
func runsProgram(c *config.Server) bool { return c.Command != "" || c.Type == core.Docker }

// unapprovedError returns the error of a server whose command waits for approval.
func (r *shared) unapprovedError() error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q is waiting for approval of its new command or sandbox", r.id),
		Hint: "Review it and approve it in the web UI, or with: drawbridge approvals", Remedy: core.Remedy{Kind: core.RemedyApprove, Command: "drawbridge approvals"}}
}

// commandText returns the command as in the configuration, with variables unexpanded.
func commandText(c *config.Server) string {
	text := osutil.CommandLine(append([]string{c.Command}, c.Args...)...)
	if c.Type == core.Docker {
		return "in container " + c.Docker.Where() + ": " + text
	}
	return text
}

// commandChange returns how what c runs differs from what old runs, as the end of a sentence. Values of
// variables are not named.
func commandChange(old, c *config.Server) string {
	var parts []string
	differs := func(name, was, is string) {
		if was != is {
			parts = append(parts, name+cmp.Or(was, "unset")+" is now "+cmp.Or(is, "unset"))
		}
	}
	differs("", commandText(old), commandText(c))
	differs("cwd ", old.Cwd, c.Cwd)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if was, known := old.Env[name]; !known || was != c.Env[name] {
			parts = append(parts, "variable "+name+" is new or has another value")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old.Env)) {
		if _, known := c.Env[name]; !known {
			parts = append(parts, "variable "+name+" is gone")
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "its inherited variables, accounts or container differ")
}

// pendingKey returns a hash that identifies what the user approves: the command and its sandbox.
func pendingKey(c *config.Server) string {
	sum := sha256.Sum256(append([]byte(commandKey(c)), sandboxJSON(c)...))
	return hex.EncodeToString(sum[:16])
}

func sandboxJSON(c *config.Server) []byte {
	b, _ := json.Marshal(c.Sandbox)
	return b
}

// accountEnvs returns the variables of each account: like those of the server, they can change what
// its command does.
func accountEnvs(c *config.Server) map[string]map[string]string {
	var all map[string]map[string]string
	for name, a := range c.Accounts {
		if all == nil {
			all = map[string]map[string]string{}
		}
		all[name] = a.Env
	}
	return all
}

// environmentNames returns the variables of the server and of its accounts, as in PendingCommand.
func environmentNames(c *config.Server) (names []string) {
	add := func(env map[string]string) {
		for name, value := range env {
			if selectsPrograms().MatchString(name) {
				name += "=" + value
			}
			names = append(names, name)
		}
	}
	add(c.Env)
	for _, a := range c.Accounts {
		add(a.Env)
	}
	for _, name := range c.InheritEnv {
		names = append(names, name+" (inherited)")
	}
	slices.Sort(names)
	return slices.Compact(names)
}
