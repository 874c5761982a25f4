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
	Searches bool           `json:"searches" doc:"Whether the client searches tools by itself: then it does not read all definitions at once"`
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
func listCost(of lookup, servers []string, limits bridge.ClientLimits) (cost *bridge.ListCost, auto, why string, excluded []string) {
	if len(servers) == 0 {
		view, _ := of("") // always known
		auto, why = bridge.AutoMode(view, limits)
		return bridge.CostOf(view, limits), cmp.Or(auto, config.ToolsAll), why, nil
	}
	var views []*registry.View
	for _, id := range servers {
		if view, ok := of(id); ok {
			views = append(views, view)
		} else {
			excluded = append(excluded, id)
		}
	}
	return bridge.CostOfServers(views), config.ToolsAll, "The entry for one server lists all its tools.", excluded
}

// ListCost returns what one list from each of these servers costs the client with a token now, or without servers its
// list of all, and how its tools are listed: all, search or deferred; and with the mode auto, why. A mode replaces the
// one that is set.
func (f *Feature) ListCost(token string, servers []string, mode string) (cost *bridge.ListCost, listed, why string) {
	c, limits := f.Config.Current(), f.Limits(token)
	client := c.Clients[token]
	p, _ := c.Profile(client.Profile)
	cost, auto, why, _ := listCost(f.saved(client.Profile, limits.Name), servers, limits)
	if listed = cmp.Or(mode, client.ToolMode, p.ToolMode, config.ToolsAll); listed == config.ToolsAuto {
		return cost, auto, why
	}
	return cost, listed, ""
}

func tokensOf(cost *bridge.ListCost, auto string) ToolModeTokens {
	return ToolModeTokens{cost.Tokens(config.ToolsAll), cost.Tokens(config.ToolsSearch), cost.Tokens(config.ToolsDeferred), cost.Tokens(auto), bridge.EstimateTokens(cost.Instructions)}
}

// costOf completes a profile by what its view costs a client of which nothing is known.
func costOf(p Profile, of lookup) Profile {
	view, _ := of("")
	cost, auto, _, _ := listCost(of, nil, bridge.ClientLimits{})
	p.Tools, p.Tokens = len(view.Items(core.Tools)), tokensOf(cost, auto)
	return p
}

// clientCost returns what a profile costs the client with a token.
func (f *Feature) clientCost(token, profile string, of lookup) ClientCost {
	servers := f.Entries(token)
	limits := f.Limits(token)
	cost, auto, why, excluded := listCost(of, servers, limits)
	now, mode, _ := f.ListCost(token, servers, "")
	return ClientCost{Token: token, Profile: profile, Tokens: tokensOf(cost, auto), Auto: auto, Reason: why, Excluded: web.NonNil(excluded), Now: now.Tokens(mode), Searches: limits.SearchesItself}
}

func (f *Feature) clientCosts(_ context.Context, in *clientCostsInput) (*web.Answer[web.List[ClientCost]], error) {
	limit := f.Limits(in.Token).Name
	out := web.List[ClientCost]{Items: []ClientCost{f.clientCost(in.Token, "", f.saved("", limit))}}
	for _, p := range f.Config.Current().Profiles {
		out.Items = append(out.Items, f.clientCost(in.Token, p.Name, f.saved(p.Name, limit)))
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
	out := DraftCost{Tokens: costOf(Profile{}, draft(0)).Tokens, Clients: []ClientCost{}}
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
		out.Clients = append(out.Clients, f.clientCost(token, in.Body.Name, draft(f.Limits(token).Name)))
	}
	return web.Reply(out)
}
