package profiles

import (
	"cmp"
	"context"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ToolModeTokens are numbers for each way to list tools.
type ToolModeTokens struct {
	All      int `json:"all"`
	Search   int `json:"search"`
	Deferred int `json:"deferred"`
	Auto     int `json:"auto" doc:"The same as one of the others"`

	Instructions int `json:"instructions" doc:"Part of each of these sizes"`
}

// ClientCost is what a profile costs one client, by the entries in its file.
type ClientCost struct {
	Token    string         `json:"token"`
	Profile  string         `json:"profile" doc:"Empty for none"`
	Tokens   ToolModeTokens `json:"tokens" doc:"Estimated context size of all its tool lists and instructions, by tool mode"`
	Auto     string         `json:"auto" enum:"all,search,deferred" doc:"What the tool mode auto is for it"`
	Reason   string         `json:"reason" doc:"Why"`
	Excluded []string       `json:"excluded" nullable:"false" doc:"Servers that its entries point to, and that the profile excludes"`
	Now      int            `json:"now" doc:"What the client pays now"`
	Tools    []ToolTokens   `json:"tools" nullable:"false" doc:"Its definitions, if all are listed; empty for profiles that it does not use"`
	Searches bool           `json:"searches" doc:"Whether the client searches tools by itself: then it does not read all definitions at once"`
}

// ToolTokens is the size of one definition.
type ToolTokens struct {
	Server string `json:"server" doc:"Id"`
	Tool   string `json:"tool" doc:"Name that the server uses"`
	Tokens int    `json:"tokens"`
}

// DraftCost is what a profile costs that is being edited.
type DraftCost struct {
	Tokens  ToolModeTokens `json:"tokens" doc:"For a client of which nothing is known"`
	Clients []ClientCost   `json:"clients" nullable:"false" doc:"For those that use it"`
}

type costInput struct {
	Body struct {
		Entry  web.JSON `json:"entry" doc:"JSON object of a profile that is being edited"`
		Name   string   `json:"name,omitempty" maxLength:"32" doc:"Its name, if it is in the configuration"`
		Client string   `json:"client,omitempty" maxLength:"64" doc:"Client for which it is made"`
	}
}

type clientCostsInput struct {
	Token string `path:"token" maxLength:"64"`
}

// lookup returns what a client sees with one profile, at the entry for one server or, with "", for all.
type lookup func(server string) (*registry.View, bool)

// saved is the lookup of a profile in the configuration, or with "" of none.
func (f *Feature) saved(profile string, limit int) lookup {
	return func(server string) (view *registry.View, ok bool) {
		switch {
		case server != "" && profile != "":
			return f.Views.ProfileServer(profile, server)
		case server != "":
			return f.Views.Server(server)
		}
		if view, ok = f.Views.Profile(profile, limit); !ok {
			view = f.Views.WithNameLimit(limit)
		}
		return view, true
	}
}

// listCost returns what one list from each of these servers costs, or without servers the list of all, and what
// the tool mode auto is then, and why.
func (f *Feature) listCost(of lookup, servers []string, limits bridge.ClientLimits) (cost *bridge.ListCost, auto, why string, excluded []string) {
	if len(servers) == 0 {
		view, _ := of("") // always known
		describe := f.Config.Current().Bridge.DescribeServer
		auto, why = bridge.AutoMode(view, limits, describe)
		return bridge.CostOf(view, limits, describe), cmp.Or(auto, config.ToolsAll), why, nil
	}
	var views []*registry.View
	for _, id := range servers {
		if view, ok := of(id); ok {
			views = append(views, view)
		} else {
			excluded = append(excluded, id)
		}
	}
	return bridge.CostOfServers(views), config.ToolsAll, "Entries for one server list all its tools, so that permissions by tool name stay valid. Search and Deferred work there, too.", excluded
}

// ListCost returns what one list from each of these servers costs the client with a token now, or without servers its
// list of all, and how its tools are listed: all, search or deferred; and with the mode auto, why. A mode replaces the
// one that is set.
func (f *Feature) ListCost(token string, servers []string, mode string) (cost *bridge.ListCost, listed, why string) {
	c, limits := f.Config.Current(), f.Limits(token)
	client := c.Clients[token]
	p, _ := c.Profile(client.Profile)
	cost, auto, why, _ := f.listCost(f.saved(client.Profile, limits.Name), servers, limits)
	if listed = cmp.Or(mode, client.ToolMode, p.ToolMode, config.ToolsAll); listed == config.ToolsAuto {
		return cost, auto, why
	}
	return cost, listed, ""
}

func tokensOf(cost *bridge.ListCost, auto string) ToolModeTokens {
	return ToolModeTokens{cost.Tokens(config.ToolsAll), cost.Tokens(config.ToolsSearch), cost.Tokens(config.ToolsDeferred), cost.Tokens(auto), bridge.EstimateTokens(cost.Instructions)}
}

// costOf completes a profile by what its view costs a client of which nothing is known.
func (f *Feature) costOf(p Profile, of lookup) Profile {
	view, _ := of("")
	cost, auto, _, _ := f.listCost(of, nil, bridge.ClientLimits{})
	p.Tools, p.Tokens = len(view.Items(core.Tools)), tokensOf(cost, auto)
	return p
}

// clientCost returns what a profile costs the client with a token, without its tools.
func (f *Feature) clientCost(token, profile string, of lookup) (ClientCost, *bridge.ListCost) {
	servers := f.Entries(token)
	limits := f.Limits(token)
	cost, auto, why, excluded := f.listCost(of, servers, limits)
	now, mode, _ := f.ListCost(token, servers, "")
	return ClientCost{Token: token, Profile: profile, Tokens: tokensOf(cost, auto), Auto: auto, Reason: why, Excluded: web.NonNil(excluded), Now: now.Tokens(mode), Searches: limits.SearchesItself, Tools: []ToolTokens{}}, cost
}

func (f *Feature) clientCosts(_ context.Context, in *clientCostsInput) (*web.Answer[web.List[ClientCost]], error) {
	c, limit := f.Config.Current(), f.Limits(in.Token).Name
	out := web.List[ClientCost]{Items: []ClientCost{}}
	for _, p := range append([]config.Profile{{}}, c.Profiles...) {
		one, cost := f.clientCost(in.Token, p.Name, f.saved(p.Name, limit))
		if c.Clients[in.Token].Profile == p.Name {
			for at, size := range cost.Definitions {
				one.Tools = append(one.Tools, ToolTokens{at[0], at[1], bridge.EstimateTokens(size)})
			}
			slices.SortFunc(one.Tools, func(x, y ToolTokens) int {
				return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool))
			})
		}
		out.Items = append(out.Items, one)
	}
	return web.Reply(out)
}

func (f *Feature) profileCost(_ context.Context, in *costInput) (*web.Answer[DraftCost], error) {
	p, err := f.draft([]byte(in.Body.Entry))
	if err != nil {
		return nil, err
	}
	type viewKey struct {
		server string
		limit  int
	}
	views := map[viewKey]*registry.View{} // clients with the same limits share them, and what they cost
	draft := func(limit int) lookup {
		return func(server string) (*registry.View, bool) {
			key := viewKey{server, limit}
			if _, known := views[key]; !known {
				views[key], _ = f.Views.Draft(p, server, limit)
			}
			return views[key], views[key] != nil
		}
	}
	out := DraftCost{Tokens: f.costOf(Profile{}, draft(0)).Tokens, Clients: []ClientCost{}}
	var clients []string
	for token, client := range f.Config.Current().Clients {
		if client.Profile == in.Body.Name && in.Body.Name != "" {
			clients = append(clients, token)
		}
	}
	if in.Body.Client != "" && !slices.Contains(clients, in.Body.Client) {
		clients = append(clients, in.Body.Client)
	}
	slices.Sort(clients)
	for _, token := range clients {
		one, _ := f.clientCost(token, in.Body.Name, draft(f.Limits(token).Name))
		out.Clients = append(out.Clients, one)
	}
	return web.Reply(out)
}
