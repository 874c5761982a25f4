package bridge

import (
	"fmt"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

const (
	// autoBudget is the size of a tool list, in bytes, up to which a client gets it whole: no other
	// mode saves enough to be worth its detours.
	autoBudget = 8000 * bytesPerToken
	// autoTools is the number of tools that a long session is assumed to use.
	autoTools = 10
)

// ModeTools returns the names of the tools that are listed in a mode in addition to those of servers,
// or in place of them.
func ModeTools(mode string) []string {
	switch mode {
	case ToolsSearch:
		return []string{findTools, callTool}
	case ToolsDeferred:
		return []string{describeTools}
	}
	return nil
}

// AutoMode returns how the mode ToolsAuto lists the tools of a view for a client with these limits:
// "" (all), ToolsDeferred or ToolsSearch, and why, as a sentence. describe is as for CostOf. It never chooses a mode that costs
// more than listing all tools if a session uses ten tools with the largest definitions and fails once
// with each, except for a client that does not support that many tools.
func AutoMode(v *registry.View, limits ClientLimits, describe string) (mode, reason string) {
	mode, all, least := chooseMode(v, limits, describe)
	switch {
	case exceedsTools(v, limits):
		return mode, fmt.Sprintf("The client supports at most %d tools.", limits.Tools)
	case limits.SearchesItself:
		return mode, "The client searches tools by itself."
	case mode != "":
		return mode, fmt.Sprintf("Even a session that uses %d tools saves at least %s tokens.", autoTools, FormatTokens(EstimateTokens(all-least)))
	case all <= autoBudget:
		return mode, "The list is short."
	}
	return mode, "No other tool listing is sure to save tokens."
}

// FormatTokens writes a number of tokens with thousands.
func FormatTokens(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return FormatTokens(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// chooseMode is AutoMode without the reason, for each request. all is the size of all tools, and least what
// a session reads at most in the mode, in bytes.
func chooseMode(v *registry.View, limits ClientLimits, describe string) (mode string, all, least int) {
	tooMany := exceedsTools(v, limits)
	if limits.SearchesItself && !tooMany {
		return "", 0, 0
	}
	cost := CostOf(v, limits, describe)
	all = cost.Lists[""]
	deferred, search := cost.Lists[ToolsDeferred]+cost.largest, cost.Lists[ToolsSearch]+cost.largest+autoTools*cost.search
	switch {
	case tooMany:
		return ToolsSearch, all, search
	case all <= autoBudget:
	case cost.Lists[ToolsDeferred] <= autoBudget && deferred < all:
		return ToolsDeferred, all, deferred
	case search < all:
		return ToolsSearch, all, search
	}
	return "", all, all
}

func exceedsTools(v *registry.View, limits ClientLimits) bool {
	return limits.Tools > 0 && len(v.Items(core.Tools)) > limits.Tools
}

// SavesAtServer reports whether a mode makes the list of one server shorter. Where it does not, that server's
// own endpoint lists all tools.
func SavesAtServer(v *registry.View, mode string) bool {
	cost := CostOf(v, ClientLimits{}, "")
	size, known := cost.Lists[mode] // not of ToolsAuto
	return known && size < cost.Lists[""]
}
