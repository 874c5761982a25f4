package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// unusedDays is the number of days without a call after which a tool is unused.
const unusedDays = 30

// bytesPerToken is an estimate for JSON.
const bytesPerToken = 4

// ContextCost is the size of the tool lists in the context of a model. Tokens are an estimate,
// because each model counts differently.
type ContextCost struct {
	Lists      []ListCost   `json:"lists" nullable:"false" doc:"The endpoint of all servers first, then one per server"`
	Tools      []ToolCost   `json:"tools" nullable:"false" doc:"Largest first"`
	Clients    []ClientCost `json:"clients" nullable:"false"`
	Unused     []ToolCost   `json:"unused" nullable:"false" doc:"Not called for unusedDays, largest first"`
	UnusedDays int          `json:"unusedDays"`
}

// ListCost is one list of tools.
type ListCost struct {
	Address string `json:"address" doc:"/mcp or /s/SERVER/mcp"`
	Server  string `json:"server,omitempty"`
	Tools   int    `json:"tools"`
	Bytes   int    `json:"bytes"`
	Tokens  int    `json:"tokens" doc:"Estimate"`
}

// ToolCost is one tool.
type ToolCost struct {
	Server   string     `json:"server"`
	Tool     string     `json:"tool"`
	Name     string     `json:"name" doc:"Public name"`
	Bytes    int        `json:"bytes"`
	Tokens   int        `json:"tokens" doc:"Estimate"`
	Calls    int64      `json:"calls" doc:"Calls in the last 30 days"`
	LastUsed *time.Time `json:"lastUsed,omitempty"`
}

// ClientCost is the number of tools that one client was sent and used in the last 30 days.
type ClientCost struct {
	Client        string `json:"client"`
	Token         string `json:"token"`
	Tools         int    `json:"tools" doc:"Number of tools that it called"`
	TokensUsed    int    `json:"tokensUsed" doc:"Estimate for the tools that it called"`
	TokensOffered int    `json:"tokensOffered" doc:"Estimate for the tool list of all servers"`
	Calls         int64  `json:"calls"`
}

func estimateTokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

func (a *API) contextCost(ctx context.Context, _ *none) (*answer[ContextCost], error) {
	now := time.Now()
	used, err := a.Upkeep.Usage(ctx, store.UsageQuery{From: now.AddDate(0, 0, -unusedDays), To: now})
	if err != nil {
		return nil, err
	}
	type key struct{ server, tool string }
	byTool := make(map[key]*store.Use, len(used.ByTool))
	for i := range used.ByTool {
		u := &used.ByTool[i]
		byTool[key{u.Server, u.Tool}] = u
	}
	view := a.Views.All()
	all := ListCost{Address: "/mcp", Bytes: len(view.ListResult(core.Tools))}
	cost := ContextCost{Tools: []ToolCost{}, Unused: []ToolCost{}, Clients: []ClientCost{}, UnusedDays: unusedDays}
	servers := map[string]*ListCost{}
	sizes := make(map[key]int)
	for _, item := range view.Items(core.Tools) {
		t := ToolCost{Server: item.Server, Tool: item.Name, Name: item.Public, Bytes: len(item.Raw), Tokens: estimateTokens(len(item.Raw))}
		sizes[key{item.Server, item.Name}] = t.Tokens
		if u := byTool[key{item.Server, item.Name}]; u != nil {
			t.Calls, t.LastUsed = u.Calls, newUse(u).LastUsed
		}
		all.Tools++
		s := servers[item.Server]
		if s == nil {
			s = &ListCost{Address: "/s/" + item.Server + "/mcp", Server: item.Server}
			servers[item.Server] = s
		}
		s.Tools++
		s.Bytes += t.Bytes
		cost.Tools = append(cost.Tools, t)
		if t.Calls == 0 {
			cost.Unused = append(cost.Unused, t)
		}
	}
	largest := func(x, y ToolCost) int { return cmp.Or(y.Bytes-x.Bytes, cmp.Compare(x.Name, y.Name)) }
	slices.SortFunc(cost.Tools, largest)
	slices.SortFunc(cost.Unused, largest)
	all.Tokens = estimateTokens(all.Bytes)
	for _, s := range servers {
		s.Tokens = estimateTokens(s.Bytes)
		cost.Lists = append(cost.Lists, *s)
	}
	slices.SortFunc(cost.Lists, func(x, y ListCost) int { return cmp.Or(y.Bytes-x.Bytes, cmp.Compare(x.Server, y.Server)) })
	cost.Lists = append([]ListCost{all}, cost.Lists...)
	for _, c := range used.ByClient {
		one := ClientCost{Client: c.Client, Token: c.Token, Calls: c.Calls, TokensOffered: all.Tokens}
		of, err := a.Upkeep.Usage(ctx, store.UsageQuery{From: now.AddDate(0, 0, -unusedDays), To: now, Client: c.Client})
		if err != nil {
			return nil, err
		}
		for _, u := range of.ByTool {
			if size, offered := sizes[key{u.Server, u.Tool}]; offered {
				one.Tools++
				one.TokensUsed += size
			}
		}
		cost.Clients = append(cost.Clients, one)
		if len(cost.Clients) == 50 {
			break
		}
	}
	return reply(cost)
}
