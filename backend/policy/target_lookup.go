package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// lookupTarget returns the tool, prompt or resource of a call. It refuses one that the server does
// not list or that the configuration hides. The Raw of the returned target is nil if the server has
// not been listed yet, so that the call has to be checked again later.
func (p *Policy) lookupTarget(call *core.Call, s *server) (registry.Target, error) {
	if call.Local != nil {
		return anyTarget, nil
	}
	var kind core.Kind
	var word string
	switch call.Method {
	case "tools/call":
		kind, word = core.Tools, "tool"
	case "prompts/get":
		kind, word = core.Prompts, "prompt"
	case "completion/complete":
		word = "prompt or resource"
	case "tasks/get", "tasks/result", "tasks/update":
		if word = "task"; call.Name != "" {
			kind, word = core.Tools, "tool"
		}
	default:
		word = "resource"
	}
	if call.Server == "" {
		// If the list of the server is incomplete, the name may have been left out. Clients that
		// are bound to a profile get no information about servers outside of it.
		if id, name, split := strings.Cut(call.PublicName, "__"); split && kind != "" && call.Profile == "" {
			if view, ok := p.Views.Server(id); ok {
				if err := incompleteError(id, view, word, name); err != nil {
					return registry.Target{}, err
				}
			}
		}
		return registry.Target{}, core.Errorf(core.CodeNotFound, "there is no %s named %q", word, displayName(call))
	}
	view, ok := p.Views.Server(call.Server)
	if configured := p.rules.Load().servers[call.Server]; !ok && call.ByUser && configured != nil {
		return registry.Target{}, unlistedError(configured)
	}
	if !ok {
		return registry.Target{}, core.Errorf(core.CodeNotFound, "there is no server named %q", call.Server)
	}
	if kind == "" {
		return anyTarget, nil // servers accept URIs and completions that they do not list
	}
	target, ok := view.LookupOwnName(kind, call.Name)
	if ok && kind == core.Tools && s.filter != nil && s.filter.HiddenBy(call.Name) != "" {
		ok = false // the view does not reflect the new configuration yet
	}
	if w, held := view.Withheld(kind, call.Name); held && !ok {
		return target, withheldError(call.Server, word, w)
	}
	if !ok && s.filter.HiddenBy(call.Name) == "" {
		if err := incompleteError(call.Server, view, word, call.Name); err != nil {
			return target, err
		}
	}
	if !ok {
		return target, core.Errorf(core.CodeNotFound, "server %q has no %s %q", call.Server, word, call.Name)
	}
	return target, nil
}

// unlistedError returns the error for a configured server that offers nothing.
func unlistedError(s *server) error {
	if s.disabled {
		return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q is disabled", s.id), Hint: "Enable it: drawbridge enable " + s.id + "."}
	}
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q has just been added and is not available yet", s.id),
		Hint: "Try again in a moment. See: drawbridge status."}
}

// withheldError returns the error for a tool or prompt whose changed definition has not been
// accepted.
func withheldError(server, word string, w registry.Withheld) error {
	title := w.Name
	if word != "tool" {
		title = strconv.Quote(word + " " + w.Name)
	}
	return &core.Error{
		Code:    core.CodeRejected,
		Message: fmt.Sprintf("%s %q of server %q is withheld: %s", word, w.Name, server, w.Why),
		Hint:    fmt.Sprintf("Review the change in the web UI, or with: drawbridge tools changes %s. Accept it there, or with: drawbridge tools accept %s %s.", server, server, title),
	}
}

// incompleteError returns the error for a name that may be missing from an incomplete list of a
// server. It returns nil if the list is complete.
func incompleteError(server string, view *registry.View, word, name string) error {
	for _, o := range view.Offers() {
		if left := incompleteWarning(o.Catalog, word); left != "" {
			e := core.Errorf(core.CodeDegraded, "server %q does not list %s %q, and its list is incomplete: %s", server, word, name, left)
			e.Hint = "See its log: drawbridge logs " + server + "."
			return e
		}
	}
	return nil
}

// incompleteWarning returns the warning that a server's list is incomplete, or "".
func incompleteWarning(c *core.Catalog, word string) string {
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

// anyTarget is the target of calls whose names need not be listed.
var anyTarget = registry.Target{Raw: []byte("{}")}

func displayName(call *core.Call) string {
	if call.PublicName != "" {
		return call.PublicName
	}
	return call.Name
}
