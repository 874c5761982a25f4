package approvals

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ConfigEditor reads and edits the configuration; *config.Reloader implements it.
type ConfigEditor interface {
	Current() *config.Config
	// AddArgumentRule adds a rule before the one with the key before, or as the last one.
	AddArgumentRule(ctx context.Context, before string, rule json.RawMessage) error
	SetTools(ctx context.Context, id string, tools []string, set map[string]json.RawMessage) error
}

// allowAlways writes a permanent permission into the configuration: for the client of the call, or
// for all clients if clients have no tokens.
func (f *Feature) allowAlways(ctx context.Context, item *Item, where json.RawMessage) error {
	if item.Held.Rule != "" || where != nil {
		return f.Config.AddArgumentRule(ctx, item.Held.Rule, allowRule(item, where))
	}
	if item.Client.Token == "" {
		return f.Config.SetTools(ctx, item.Server, []string{item.Held.Tool}, map[string]json.RawMessage{"approval": json.RawMessage(`"never"`)})
	}
	var names []string
	if c, ok := f.Config.Current().Server(item.Server); ok && c.Filter != nil {
		names = slices.Clone(c.Filter.Tools[item.Held.Tool].AllowClients)
	}
	if !slices.Contains(names, item.Client.Token) {
		names = append(names, item.Client.Token)
	}
	raw, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return f.Config.SetTools(ctx, item.Server, []string{item.Held.Tool}, map[string]json.RawMessage{"allowClients": raw})
}

// allowRule returns the rule that allows such calls of the client from now on.
func allowRule(item *Item, where json.RawMessage) json.RawMessage {
	rule := struct {
		Tool    string          `json:"tool"`
		Clients []string        `json:"clients,omitempty"`
		Where   json.RawMessage `json:"where,omitempty"`
		Then    string          `json:"then"`
	}{Tool: item.Server + "__" + item.Held.Tool, Where: where, Then: config.RuleAllow}
	if item.Client.Token != "" {
		rule.Clients = []string{item.Client.Token}
	}
	raw, _ := json.Marshal(rule) // where was parsed before: cannot fail
	return raw
}

// checkWhere refuses a condition that cannot be read or does not match the call about which the
// user is asked.
func (f *Feature) checkWhere(item *Item, scope string, where json.RawMessage) error {
	invalid := func(message string) error {
		return &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "body.where", Error: message}}}
	}
	if scope == Once {
		return invalid("requires a scope: minutes, session or always")
	}
	c, problems := config.ParseCondition(where)
	if len(problems) > 0 {
		return invalid(problems[0].Key + ": " + problems[0].Message)
	}
	if !f.Holds(&c, HeldCall(item)) {
		return invalid("does not match the arguments of this call")
	}
	return nil
}
