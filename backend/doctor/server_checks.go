package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// secrets reports secrets that servers refer to and cannot read.
func (o Options) secrets() (all []Finding) {
	if o.KeyringLocked {
		f := Finding{Check: "secret", Subject: "keyring", Level: Problem, Message: o.VaultProblem, Fix: "Unlock the keyring, or use: drawbridge secret unlock"}
		if o.Unlock != nil {
			f.Action, f.apply = "Unlock", o.Unlock
		}
		return []Finding{f}
	}
	if o.VaultProblem != "" {
		all = append(all, Finding{Check: "secret", Subject: "key", Level: Warning, Message: o.VaultProblem, Fix: "Install a keyring, such as gnome-keyring, to store the key there. Keep the file out of backups that others can read."})
	}
	for _, name := range slices.Sorted(maps.Keys(o.MissingSecrets)) {
		all = append(all, Finding{Check: "secret", Subject: name, Level: Problem,
			Message: "the secret is not stored, but is needed by " + strings.Join(o.MissingSecrets[name], ", "), Fix: "Store it with: drawbridge secret set " + name})
	}
	return all
}

// serverLevels has the states that are reported. A server in another one runs, or does not because
// the user wants it so.
var serverLevels = map[core.State]Level{
	core.StateFailed: Problem, core.StateDegraded: Problem,
	core.StateWaiting: Warning, core.StateRestarting: Warning, core.StateNeedsSignIn: Warning, core.StateNeedsApproval: Warning,
}

// servers reports a pause, servers that do not work, the warnings of all servers, and withheld
// definitions. It does not report a server whose program is missing: runtimes does, and a restart
// would not help.
func (o Options) servers() (all []Finding) {
	if slices.ContainsFunc(o.Servers, func(s core.ServerStatus) bool { return s.State == core.StatePaused }) {
		all = append(all, Finding{Check: "server", Level: Warning, Message: "Paused: all servers are stopped, and calls are refused", Fix: "Resume them with: drawbridge resume"})
	}
	for _, s := range o.Servers {
		for _, text := range s.Warnings {
			all = append(all, Finding{Check: "server", Subject: s.ID, Level: Warning, Message: text})
		}
		if n := o.Withheld[s.ID]; n > 0 {
			all = append(all, Finding{Check: "server", Subject: s.ID, Level: Warning, Message: core.Plural(n, "changed definition") + " withheld from clients", Fix: "Review: drawbridge tools changes " + s.ID})
		}
		level := serverLevels[s.State]
		if level == "" || o.programMissing(s.ID) {
			continue
		}
		command := cmp.Or(s.Remedy.Command, "drawbridge logs "+s.ID)
		f := Finding{Check: "server", Subject: s.ID, Level: level, Message: s.State.Word() + ": " + s.Reason, Fix: cmp.Or(s.Hint, "Run: "+command)}
		if level == Problem {
			setAction(&f, "Restart", o.Restart, s.ID)
		}
		all = append(all, f)
	}
	return all
}

func (o Options) programMissing(id string) bool {
	return o.Config != nil && slices.ContainsFunc(o.Config.Servers, func(s config.Server) bool {
		if s.ID != id || s.Type != "stdio" || s.Disabled || strings.Contains(s.Command, "$") {
			return false
		}
		_, err := o.LookPath(s.Command)
		return err != nil
	})
}

// toolLists reports clients whose tool list is out of date.
func (o Options) toolLists() (all []Finding) {
	for _, l := range o.ToolLists {
		if l.Shown == l.Offered {
			continue
		}
		fix := "Restart the client, so that it reloads the tools."
		if l.Reload != "" && !strings.HasPrefix(l.Reload, "nothing") { // it needs no action after a change of its file
			fix = "To make the client reload the tools, " + strings.TrimSuffix(l.Reload, ".") + "."
		}
		all = append(all, Finding{Check: "list", Subject: l.Client, Level: Warning,
			Message: fmt.Sprintf("%s received %s, but Drawbridge now offers %d", l.Name, core.Plural(l.Shown, "tool"), l.Offered), Fix: fix})
	}
	return all
}
