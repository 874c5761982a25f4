package api

import (
	"cmp"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// addActivity completes a connection by what was observed: whether the client connected, how many
// tools it was sent, and what the user has to do until then.
func (a *API) addActivity(c *Connection, s clientconf.Status) {
	if !s.Connected {
		return
	}
	tools := a.visibleToClient(s)
	c.Offered = len(tools)
	c.Warnings = append(c.Warnings, clientconf.LimitWarnings(s.Client, tools)...)
	came := func(at time.Time) {
		if at = at.UTC(); at.Before(s.At) {
			return // that was the previous connection
		}
		c.Live = true
		if c.Since == nil || at.Before(*c.Since) {
			c.Since = &at
		}
		if c.LastSeen == nil || c.LastSeen.Before(at) {
			c.LastSeen = &at
		}
	}
	for _, session := range a.Bridge.Sessions() {
		if session.Client.Token == s.Client.ID {
			c.Sessions++
			came(session.LastUsed)
		}
	}
	for _, p := range a.Bridge.ClientInfos() {
		if p.Token == s.Client.ID {
			came(p.LastSeen)
		}
	}
	for _, p := range a.Bridge.ClientActivities() {
		if p.Token == s.Client.ID && !p.Last.Before(s.At) {
			came(p.First)
			came(p.Last)
			c.Tools += p.Tools
		}
	}
	if !c.Live && s.State == clientconf.Connected {
		c.Next = nextStep(s.Client)
	}
}

// nextStep is the action that makes a client read its new configuration.
func nextStep(c clientconf.Client) string {
	return cmp.Or(c.ApplyHint(), "Restart "+c.Name+".")
}

// visibleToClient lists the tools that a client sees now, through all of its entries.
func (a *API) visibleToClient(s clientconf.Status) (tools []clientconf.OfferedTool) {
	wanted := map[string]string{} // server to entry
	for _, one := range s.Choice.Servers {
		if one.Server != "" {
			wanted[one.Server] = one.Name
		}
	}
	for _, item := range a.Views.All().Items(core.Tools) {
		entry, ok := wanted[item.Server]
		switch {
		case len(wanted) == 0:
			tools = append(tools, clientconf.OfferedTool{Entry: clientconf.EntryName, Name: item.Public})
		case ok:
			tools = append(tools, clientconf.OfferedTool{Entry: entry, Name: item.Name})
		}
	}
	return tools
}
