package history

import (
	"encoding/json"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// recordedRequest returns the request of a recorded call, without its arguments, and what it counts
// for: the tool, the prompt, or all resources. of is "" if the request is not repeated.
func recordedRequest(c *core.Call) (one ComparedCall, of string) {
	switch c.Method {
	case "tools/call":
		one.Tool, of = c.Name, "tool\x00"+c.Name
	case "prompts/get":
		one.Prompt, of = c.Name, "prompt\x00"+c.Name
	case "resources/read":
		one.Resource, of = c.Name, "resources"
	}
	return one, of
}

// answered reports whether the server answered a recorded call, if only with an error.
func answered(c *core.Call) bool {
	return c.Outcome == core.OutcomeOK || c.Outcome == core.OutcomeToolError || c.Outcome == core.OutcomeProtocolError && c.Code == ""
}

// ofOtherAccount returns why a call with this account of the server is not sent, or "". Compared
// versions run with the credentials of the server itself, which must not get the calls of others.
func ofOtherAccount(account string) string {
	if account == "" || account == core.DefaultAccount {
		return ""
	}
	return fmt.Sprintf("it used account %q, but the versions are compared with account %q", account, core.DefaultAccount)
}

// notAllowed returns why a call must not be sent, or "". To get a prompt and to read a resource
// changes nothing.
func (r *VersionComparison) notAllowed(c *ComparedCall) string {
	if c.Tool == "" {
		return ""
	}
	return r.NotAllowed(c.Tool)
}

// fullArguments returns the arguments of a call, which may be left out.
func fullArguments(c *ComparedCall) []byte {
	if c.Arguments == "" {
		return []byte(`{}`)
	}
	return []byte(c.Arguments)
}

// request returns the request of a call.
func (r *VersionComparison) request(c *ComparedCall) *core.Call {
	if c.Resource != "" {
		uri, _ := json.Marshal(c.Resource)
		return &core.Call{
			Client: r.By, ByUser: true, Era: core.Legacy, Server: r.Server, Method: "resources/read", Name: c.Resource, PublicName: c.Resource,
			Params: append(append([]byte(`{"uri":`), uri...), '}'),
		}
	}
	call := ToolCall(r.By, r.Server, c.Tool+c.Prompt, fullArguments(c))
	if c.Prompt != "" {
		call.Method = "prompts/get"
	}
	return call
}

// compareDefinitions compares what the versions say about themselves and list, except tools, whose
// definitions are compared with the trusted ones. Lists that are empty in both versions are left
// out.
func (r *VersionComparison) compareDefinitions() []ComparedCall {
	all := []ComparedCall{}
	for _, name := range []string{"server", string(core.Prompts), string(core.Resources), string(core.Templates)} {
		before, now := definitionsOf(r.Old.Catalog(), name), definitionsOf(r.Candidate.Catalog(), name)
		if string(before) == "{}" && string(now) == "{}" {
			continue
		}
		known := newStableValue(before)
		known.add(definitionsOf(r.Repeat.Catalog(), name))
		c := ComparedCall{Definitions: name, Result: Alike, Changes: known.compare(now), Unstable: known.paths()}
		if len(c.Changes) > 0 {
			c.Result = Different
		}
		all = append(all, c)
	}
	return all
}

// definitionsOf returns definitions as one JSON object.
func definitionsOf(c *core.Catalog, name string) []byte {
	all := map[string]json.RawMessage{}
	put := func(items []core.Item) {
		for _, item := range items {
			all[item.Name] = item.Raw
		}
	}
	switch core.Kind(name) {
	case core.Prompts:
		put(c.Prompts)
	case core.Resources:
		put(c.Resources)
	case core.Templates:
		put(c.Templates)
	default:
		if len(c.Capabilities) > 0 {
			all["capabilities"] = c.Capabilities
		}
		if c.Instructions != "" {
			all["instructions"], _ = json.Marshal(c.Instructions)
		}
	}
	text, err := json.Marshal(all)
	if err != nil { // the catalog has only valid JSON
		return []byte("{}")
	}
	return text
}
