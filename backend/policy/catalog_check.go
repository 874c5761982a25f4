package policy

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// offered refuses a call of a tool or prompt that its server's View does not hold: one
// that the server does not have, or that the configuration hides. The target's Raw is
// nil when the server has not been listed, so that the question is still open.
func (p *Policy) offered(call *core.Call, s *server) (registry.Target, error) {
	if call.Local != nil {
		return listed, nil
	}
	var kind core.Kind
	var word string
	switch call.Method {
	case "tools/call":
		kind, word = core.Tools, "tool"
	case "prompts/get":
		kind, word = core.Prompts, "prompt"
	default:
		word = "resource"
	}
	if call.Server == "" {
		// A name of a server whose list is incomplete may be one that was left out. Who is
		// bound to a profile hears nothing of servers outside of it.
		if id, name, split := strings.Cut(call.PublicName, "__"); split && kind != "" && call.Profile == "" {
			if view, ok := p.Views.Server(id); ok {
				if err := incomplete(id, view, word, name); err != nil {
					return registry.Target{}, err
				}
			}
		}
		return registry.Target{}, core.Errorf(core.CodeNotFound, "no %s is called %q", word, shown(call))
	}
	view, ok := p.Views.Server(call.Server)
	if !ok && call.ByPerson && p.rules.Load().servers[call.Server] != nil {
		e := core.Errorf(core.CodeUnavailable, "server %q offers nothing now: it is disabled, or was just added", call.Server)
		e.Hint = "See: drawbridge status. A disabled one is turned on with: drawbridge enable " + call.Server + "."
		return registry.Target{}, e
	}
	if !ok {
		return registry.Target{}, core.Errorf(core.CodeNotFound, "no server is called %q", call.Server)
	}
	if kind == "" {
		return listed, nil // servers answer for URIs and completions that they do not list
	}
	target, ok := view.Own(kind, call.Name)
	if ok && kind == core.Tools && s.filter != nil && s.filter.Hidden(call.Name) != "" {
		ok = false // the view is about to follow a new configuration
	}
	if w, held := view.Withheld(call.Name); held && !ok && kind == core.Tools {
		return target, withheld(call.Server, w)
	}
	if !ok && s.filter.Hidden(call.Name) == "" {
		if err := incomplete(call.Server, view, word, call.Name); err != nil {
			return target, err
		}
	}
	if !ok {
		return target, core.Errorf(core.CodeNotFound, "server %q has no %s %q", call.Server, word, call.Name)
	}
	return target, nil
}

// withheld is the refusal of a tool that the server offers and nobody has accepted.
func withheld(server string, w registry.Withheld) error {
	return &core.Error{
		Code:    core.CodeRejected,
		Message: fmt.Sprintf("tool %q of server %q is withheld: %s", w.Name, server, w.Why),
		Hint:    fmt.Sprintf("Look at the change in Drawbridge, or with: drawbridge tools changes %s. Accept it there, or with: drawbridge tools accept %s %s.", server, server, w.Name),
	}
}

// incomplete is the refusal of what a server may have and does not list; nil when its
// list is complete.
func incomplete(server string, view *registry.View, word, name string) error {
	for _, o := range view.Offers() {
		if left := leftOut(o.Catalog, word); left != "" {
			e := core.Errorf(core.CodeDegraded, "server %q offers no %s %q, and less than it has: %s", server, word, name, left)
			e.Hint = "See its log: drawbridge logs " + server + "."
			return e
		}
	}
	return nil
}

// leftOut is what a server's list lacks, in words, or "".
func leftOut(c *core.Catalog, word string) string {
	if c == nil {
		return ""
	}
	for _, w := range c.Warnings {
		if strings.Contains(w, word) {
			return w
		}
	}
	return ""
}

// listed stands for what needs not be listed.
var listed = registry.Target{Raw: []byte("{}")}

func shown(call *core.Call) string {
	if call.PublicName != "" {
		return call.PublicName
	}
	return call.Name
}
