package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// SessionCost is what a recorded session costs in each tool mode, with the tools as they are now.
type SessionCost struct {
	Session string    `json:"session"`
	Client  string    `json:"client"`
	Token   string    `json:"token"`
	At      time.Time `json:"at" doc:"First tool call"`
	Calls   int64     `json:"calls"`
	Tools   int       `json:"tools" doc:"Number of different tools that it called"`

	ResultTokens int64      `json:"resultTokens" doc:"Results, the same in each mode"`
	Mode         string     `json:"mode" enum:"all,search,deferred" doc:"How tools are listed to the client now"`
	Searches     bool       `json:"searches" doc:"Whether the client searches tools by itself: then the mode all costs it less"`
	Modes        []ModeCost `json:"modes" nullable:"false" doc:"all, search and deferred"`
}

// ModeCost is the cost of a session in one tool mode, in estimated tokens.
type ModeCost struct {
	Mode      string `json:"mode" enum:"all,search,deferred"`
	Turns     int64  `json:"turns" doc:"Requests to the model: one for each call, one for each tool that had to be discovered, and a last one"`
	List      int64  `json:"list" doc:"Instructions and tool list"`
	Discovery int64  `json:"discovery" doc:"At most: answers of find_tools or describe_tools before the first call of each tool"`
	Once      int64  `json:"once" doc:"List, discovery and results, each read once: what a prompt cache leaves to pay in full"`
	Total     int64  `json:"total" doc:"List and discovery in each turn, and the results"`
}

type sessionCostsInput struct {
	Days   int    `query:"days" minimum:"1" maximum:"365" default:"30"`
	Client string `query:"client" maxLength:"1000" doc:"Name of the application, or of its access token"`
}

// pricedSessions is how many of the newest sessions are priced.
const pricedSessions = 200

func (f *Feature) sessionCosts(ctx context.Context, in *sessionCostsInput) (*web.Answer[web.List[SessionCost]], error) {
	used, err := f.Store.SessionTools(ctx, time.Now().AddDate(0, 0, -in.Days), pricedSessions)
	if err != nil {
		return nil, err
	}
	list := web.List[SessionCost]{Items: []SessionCost{}}
	clients := map[string]clientLists{}
	for len(used) > 0 {
		n := slices.IndexFunc(used, func(t store.SessionTool) bool { return t.Session != used[0].Session })
		if n < 0 {
			n = len(used)
		}
		if c := used[0].Client; in.Client == "" || in.Client == c.Name || in.Client == c.Token {
			lists, known := clients[c.Token]
			if !known {
				lists.cost, lists.mode = f.ListCost(c.Token)
				clients[c.Token] = lists
			}
			list.Items = append(list.Items, f.price(used[:n], lists))
		}
		used = used[n:]
	}
	return web.Reply(list)
}

// clientLists are the tool lists of one client now.
type clientLists struct {
	cost *bridge.ListCost
	mode string
}

// price prices a session by its tools.
func (f *Feature) price(tools []store.SessionTool, lists clientLists) SessionCost {
	client := tools[0].Client
	cost := SessionCost{Session: tools[0].Session, Client: client.Name, Token: client.Token, At: tools[0].First, Tools: len(tools), Mode: lists.mode, Searches: f.Limits(client.Token).SearchesItself}
	var results int64
	for _, t := range tools {
		cost.Calls += t.Calls
		results += t.ResultBytes
		if t.First.Before(cost.At) {
			cost.At = t.First
		}
	}
	cost.ResultTokens = tokens(results)
	for _, mode := range []string{"", bridge.ToolsSearch, bridge.ToolsDeferred} {
		cost.Modes = append(cost.Modes, priceMode(lists.cost, mode, tools, cost))
	}
	return cost
}

// priceMode prices a session in one mode. Discovery counts in each turn, as if all of it came first.
func priceMode(list *bridge.ListCost, mode string, tools []store.SessionTool, cost SessionCost) ModeCost {
	m := ModeCost{Mode: cmp.Or(mode, config.ToolsAll), Turns: cost.Calls + 1, List: tokens(int64(list.Instructions + list.Lists[mode]))}
	for _, t := range tools {
		if n := list.Discovery(mode, t.Server, t.Name); n > 0 {
			m.Discovery += tokens(int64(n))
			m.Turns++
		}
	}
	m.Once = m.List + m.Discovery + cost.ResultTokens
	m.Total = (m.List+m.Discovery)*m.Turns + cost.ResultTokens
	return m
}

func tokens(bytes int64) int64 { return int64(bridge.EstimateTokens(int(bytes))) }
