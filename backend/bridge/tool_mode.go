package bridge

import (
	"fmt"
	"slices"

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
// "" (all), ToolsDeferred or ToolsSearch, and why, as a sentence. It never chooses a mode that costs
// more than listing all tools if a session uses ten tools with the largest definitions and fails once
// with each.
func AutoMode(v *registry.View, limits ClientLimits) (mode, reason string) {
	if limits.SearchesItself {
		return "", "The client searches tools by itself."
	}
	all := len(v.ListResult(core.Tools))
	if all <= autoBudget {
		return "", fmt.Sprintf("All tools need about %d tokens.", all/bytesPerToken)
	}
	var definitions []int
	answer := 0
	for _, item := range v.Items(core.Tools) {
		definitions = append(definitions, len(item.Raw))
		answer += len(signature(item))
	}
	slices.SortFunc(definitions, func(a, b int) int { return b - a })
	later := 0 // the definitions that a session requests
	for _, n := range definitions[:min(autoTools, len(definitions))] {
		later += n
	}
	mode, least := "", all
	if deferred := ListSize(v, ToolsDeferred); deferred <= autoBudget && deferred+later < all {
		mode, least = ToolsDeferred, deferred+later
	} else if search := ListSize(v, ToolsSearch) + later + autoTools*defaultSearchResults*answer/max(len(definitions), 1); search < all {
		mode, least = ToolsSearch, search
	}
	if mode == "" {
		return "", fmt.Sprintf("No other mode is sure to save tokens: all tools need about %d.", all/bytesPerToken)
	}
	return mode, fmt.Sprintf("All tools need about %d tokens, and a long session in this mode at most %d.", all/bytesPerToken, least/bytesPerToken)
}

// autoModes caches the choices that were made last.
type autoModes struct {
	recent [16]struct {
		view     *registry.View
		searches bool
		mode     string
	}
	next int
}

// auto returns the AutoMode of a view. The choice is made once for each view.
func (l *toolListings) auto(v *registry.View, limits ClientLimits) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.modes.recent {
		if known.view == v && known.searches == limits.SearchesItself {
			return known.mode
		}
	}
	at := &l.modes.recent[l.modes.next]
	l.modes.next = (l.modes.next + 1) % len(l.modes.recent)
	at.view, at.searches = v, limits.SearchesItself
	at.mode, _ = AutoMode(v, limits)
	return at.mode
}
