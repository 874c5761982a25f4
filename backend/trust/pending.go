package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// pendingChanges is the kind of changed tools. They are not items of the inbox, because they have no
// deadline.
const pendingChanges approvals.Kind = "tools"

// PendingKind implements approvals.Source.
func (f *Feature) PendingKind() approvals.Kind { return pendingChanges }

// Pending returns one pending approval for each server with changed tools.
func (f *Feature) Pending() []approvals.Item {
	var list []approvals.Item
	for from, all := 0, f.Baseline.Waiting(); from < len(all); {
		to := from
		for to < len(all) && all[to].Server == all[from].Server {
			to++
		}
		list = append(list, toolsItem(all[from:to]))
		from = to
	}
	return list
}

// toolsItem identifies the changes of one server by their content, so that an answer applies to
// exactly the changes that the user saw.
func toolsItem(changes []ToolChange) approvals.Item {
	var names, warnings []string
	at := changes[0].At
	for _, c := range changes {
		name := c.Name
		switch c.Kind {
		case Tool:
		case Instructions:
			name = "its instructions"
		default:
			name = c.Kind + " " + name
		}
		if len(names) < 5 {
			names = append(names, name)
		}
		for _, w := range c.Warnings {
			if len(warnings) < 5 {
				warnings = append(warnings, name+": "+w.Reason)
			}
		}
		if c.At.Before(at) {
			at = c.At
		}
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text = "Changed since you trusted it, and withheld from clients: " + text
	if len(warnings) > 0 {
		text += "\n" + strings.Join(warnings, "\n")
	}
	return approvals.Item{ID: string(pendingChanges) + ":" + changes[0].Server + ":" + changesKey(changes), Kind: pendingChanges, Server: changes[0].Server, Message: core.Visible(text), At: at.UTC().Truncate(time.Microsecond)}
}

func changesKey(changes []ToolChange) string {
	sum := sha256.New()
	for _, c := range changes {
		fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", c.Kind, c.Name, c.NewHash)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Answer accepts all changes of a server that the user saw. Any other answer leaves them pending:
// single changes are answered elsewhere.
func (f *Feature) Answer(ctx context.Context, id, action string) (ended bool, err error) {
	server, key, _ := strings.Cut(strings.TrimPrefix(id, string(pendingChanges)+":"), ":")
	changes := slices.DeleteFunc(f.Baseline.Waiting(), func(c ToolChange) bool { return c.Server != server })
	if len(changes) == 0 || changesKey(changes) != key {
		return false, &core.Error{Code: core.CodeNotFound, Message: "these changes are no longer pending", Hint: "Review the changes that are pending now."}
	}
	if action != approvals.Accept {
		return false, nil
	}
	for _, c := range changes {
		if err := f.Baseline.Decide(ctx, Decision{Server: server, Kind: c.Kind, Name: c.Name, Hash: c.NewHash, Action: DecideAccept}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// WithheldSubject is the beginning of the subject of the notices about withheld definitions; the
// server follows.
const WithheldSubject = "withheld/"

// Withheld counts the definitions of each server that no client sees until the user accepts their
// change.
func (b *Baseline) Withheld() map[string]int {
	counts := map[string]int{}
	for _, c := range b.Waiting() {
		counts[c.Server]++
	}
	return counts
}

// Notices returns one notice for each server with withheld definitions.
func (b *Baseline) Notices() (list []core.Notice) {
	counts := b.Withheld()
	for _, server := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, core.Notice{Subject: WithheldSubject + server,
			Message: fmt.Sprintf("%s of server %q withheld from clients. Review: drawbridge tools --changes %s.", core.Plural(counts[server], "changed definition"), server, server)})
	}
	return list
}
