package policy

import "drawbridge/backend/hub"

// Offered refuses a call of a tool or prompt that its server's View does not hold.
func (p *Policy) Offered(call *hub.Call) error {
	_, err := p.offered(call)
	return err
}

// offered also reports whether the server has been listed, that is, whether the
// question could be answered.
func (p *Policy) offered(call *hub.Call) (listed bool, err error) {
	var kind hub.Kind
	var word string
	switch call.Method {
	case "tools/call":
		kind, word = hub.Tools, "tool"
	case "prompts/get":
		kind, word = hub.Prompts, "prompt"
	default:
		word = "resource"
	}
	if call.Server == "" {
		return false, hub.Errorf(hub.CodeNotFound, "no %s is called %q", word, shown(call))
	}
	view, ok := p.views.Server(call.Server)
	if !ok {
		return false, hub.Errorf(hub.CodeNotFound, "no server is called %q", call.Server)
	}
	if kind == "" {
		return true, nil // servers answer for URIs and completions that they do not list
	}
	target, ok := view.Lookup(kind, call.Name)
	if !ok {
		return true, hub.Errorf(hub.CodeNotFound, "server %q has no %s %q", call.Server, word, call.Name)
	}
	return target.Raw != nil, nil
}

func shown(call *hub.Call) string {
	if call.PublicName != "" {
		return call.PublicName
	}
	return call.Name
}
