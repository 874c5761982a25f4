package bridge

import (
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// ListCost is what the tools of a view cost a client in each tool mode, in bytes. It is immutable.
type ListCost struct {
	Instructions int
	Lists        map[string]int // size of the tool list; "" is all tools
	search       int            // mean size of an answer of find_tools
	definition   int            // mean size of a definition
	largest      int            // sum of the autoTools largest definitions

	Definitions map[[2]string]int // size of each in the list of all, by server and the server's name of the tool
}

// CostOf returns the cost of a view for a client with these limits, where tools name their server as with
// Options.DescribeServer. It is calculated once.
func CostOf(v *registry.View, limits ClientLimits, describe string) *ListCost {
	type key struct {
		limits   ClientLimits
		describe string
	}
	return v.Derived(key{limits, describe}, func() any { return newListCost(v, limits, describe) }).(*ListCost)
}

// CostOfServers returns the cost of one tool list from each of these views, which are each of one server.
func CostOfServers(views []*registry.View) *ListCost {
	c := &ListCost{Lists: map[string]int{}, Definitions: map[[2]string]int{}}
	for _, v := range views {
		one := CostOf(v, ClientLimits{}, "")
		c.Instructions += len(endpointInstructions(endpoint{server: "one"}, v.Offers()))
		for mode, size := range one.Lists {
			c.Lists[mode] += min(size, one.Lists[""])
		}
		maps.Copy(c.Definitions, one.Definitions)
		c.search, c.definition = max(c.search, one.search), max(c.definition, one.definition)
	}
	return c
}

// EstimateTokens estimates the context size of JSON; each model counts differently.
func EstimateTokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// Tokens returns the estimated context size of the tool list in a mode, which is otherwise all, and of the
// instructions.
func (c *ListCost) Tokens(mode string) int {
	size, known := c.Lists[mode]
	if !known {
		size = c.Lists[""]
	}
	return EstimateTokens(size + c.Instructions)
}

// sampledTools is about how many tools the mean size of an answer of find_tools is calculated from.
const sampledTools = 500

func newListCost(v *registry.View, limits ClientLimits, describe string) *ListCost {
	c := &ListCost{Lists: map[string]int{}, Definitions: map[[2]string]int{}}
	c.Instructions = len(endpointInstructions(endpoint{limits: limits}, v.Offers()))
	vs, labels := &views{Options: &Options{DescribeServer: func() string { return describe }}}, labelsOf(v)
	for _, mode := range []string{"", ToolsSearch, ToolsDeferred} {
		c.Lists[mode] = len(vs.toolList(endpoint{toolMode: mode, limits: limits}, v))
	}
	items := v.Items(core.Tools)
	lines, sampled, all, sizes := 0, 0, 0, make([]int, len(items))
	for i, item := range items {
		if i%(1+len(items)/sampledTools) == 0 { // reading a schema takes most of the time
			lines += len(signature(item))
			sampled++
		}
		raw, _ := endpoint{limits: limits}.withinLimits(annotateTool(item, describe, labels[item.Server]), item.Public, false)
		all += len(raw)
		sizes[i] = len(raw)
		c.Definitions[[2]string{item.Server, item.Name}] = len(raw)
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for _, n := range sizes[:min(autoTools, len(sizes))] {
		c.largest += n
	}
	c.search, c.definition = defaultSearchResults*lines/max(sampled, 1), all/max(len(items), 1)
	return c
}

// Discovery returns an upper bound of the bytes that a session reads before it calls a tool for the first
// time: its definition, and in the mode ToolsSearch also an answer of find_tools.
func (c *ListCost) Discovery(mode, server, name string) int {
	definition, ok := c.Definitions[[2]string{server, name}]
	if !ok {
		definition = c.definition // it is not listed any more
	}
	switch mode {
	case ToolsSearch:
		return c.search + definition
	case ToolsDeferred:
		return definition
	}
	return 0
}
