package clientconf

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ClientFeatures says what passes end to end between one client and the servers.
type ClientFeatures struct {
	Token    string           `json:"token" doc:"Name of the client's access token; may be empty"`
	Name     string           `json:"name" doc:"Name that the application reports"`
	Version  string           `json:"version"`
	Era      core.Era         `json:"era" enum:"legacy,modern"`
	Protocol string           `json:"protocolVersion"`
	LastSeen time.Time        `json:"lastSeen"`
	Servers  []ServerFeatures `json:"servers" nullable:"false"`
}

// ServerFeatures is what passes between a client and one server.
type ServerFeatures struct {
	Server   string           `json:"server"`
	Era      core.Era         `json:"era" enum:",legacy,modern" doc:"Protocol era of the connection that this client's calls use; empty if unknown"`
	Known    bool             `json:"known" doc:"False until the features of the server are known: features is empty"`
	Features []bridge.Feature `json:"features" nullable:"false"`
}

type featuresInput struct {
	Client string `query:"client" maxLength:"256" doc:"Only this client, by the name of its access token or application"`
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
}

func (f *Feature) listFeatures(_ context.Context, in *featuresInput) (*web.Answer[web.List[ClientFeatures]], error) {
	servers := web.NonNil(f.Servers.Statuses())
	if in.Server != "" {
		one, ok := f.Servers.Status(in.Server)
		if !ok {
			return nil, web.ErrNoSuchServer
		}
		servers = []core.ServerStatus{one}
	}
	list := web.List[ClientFeatures]{Items: []ClientFeatures{}}
	for _, p := range f.Bridge.ClientInfos() {
		if in.Client != "" && in.Client != p.Token && in.Client != p.Name {
			continue
		}
		c := ClientFeatures{
			Token: p.Token, Name: p.Name, Version: p.Version, Era: p.Era, Protocol: p.Protocol, LastSeen: p.LastSeen.UTC(),
			Servers: make([]ServerFeatures, 0, len(servers)),
		}
		for _, s := range servers {
			c.Servers = append(c.Servers, f.featuresOf(p.Peer, s))
		}
		list.Items = append(list.Items, c)
	}
	return web.Reply(list)
}

func (f *Feature) featuresOf(client bridge.Peer, s core.ServerStatus) ServerFeatures {
	out := ServerFeatures{Server: s.ID, Era: s.Era, Features: []bridge.Feature{}}
	if client.Era == core.Modern && f.Servers.HasBothEras(s.ID) {
		out.Era = core.Modern
	}
	v, ok := f.Views.Server(s.ID)
	if !ok || len(v.Offers()) == 0 || v.Offers()[0].Catalog == nil {
		return out
	}
	server := bridge.Peer{Era: out.Era, Capabilities: v.Offers()[0].Catalog.Capabilities}
	if c, ok := f.Config().Server(s.ID); ok {
		server.OwnConnection = cmp.Or(c.Session, config.SessionShared) != config.SessionShared && c.Session != config.SessionPerRoot
	}
	out.Known = true
	out.Features = bridge.FeatureMatrix(client, server, true)
	return out
}

// AddActivity completes a connection by what was observed: whether the client connected, how many
// tools it was sent, and what the user has to do until then.
func (f *Feature) AddActivity(c *Connection, s Status) {
	if !s.Connected {
		return
	}
	servers := s.Choice.listed()
	c.ByServer = len(servers) > 0
	cost, mode, why := f.ListCost(s.Client.ID, servers, "")
	c.ToolMode, c.ModeReason, c.Tokens = mode, why, cost.Tokens(mode)
	tools, instructions := f.visibleToClient(s, c.ToolMode)
	c.Offered = len(tools)
	c.Warnings = append(c.Warnings, LimitWarnings(s.Client, tools, instructions)...)
	c.Warnings = append(c.Warnings, f.excludedServers(s)...)
	c.Own = f.ownServers(s)
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
	for _, session := range f.Bridge.Sessions() {
		if session.Client.Token == s.Client.ID {
			c.Sessions++
			came(session.LastUsed)
		}
	}
	for _, p := range f.Bridge.ClientInfos() {
		if p.Token == s.Client.ID {
			came(p.LastSeen)
		}
	}
	for _, p := range f.Bridge.ClientActivities() {
		if p.Token == s.Client.ID && !p.Last.Before(s.At) {
			came(p.First)
			came(p.Last)
			c.Tools += p.Tools
		}
	}
	if !c.Live && s.State == Connected {
		c.Next = nextStep(s.Client)
	}
}

// excludedServers returns a warning if the profile of a client excludes servers that its entries point to.
func (f *Feature) excludedServers(s Status) []string {
	profile := f.Config().Clients[s.Client.ID].Profile
	var out []string
	for _, one := range s.Choice.Servers {
		if _, known := f.Views.Server(one.Server); known && profile != "" {
			if _, in := f.Views.ProfileServer(profile, one.Server); !in {
				out = append(out, one.Name)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Its profile %q does not include %s: %s shows errors there.", profile, strings.Join(out, ", "), s.Client.Name)}
}

// ownServers returns the names of the servers in the files of a client that it runs itself.
func (f *Feature) ownServers(s Status) []string {
	names := []string{}
	if p, err := f.Connector.locatePlan(Choice{Client: s.Client.ID, Project: s.Project}); err == nil {
		all, _ := f.Connector.readServers(p)
		for _, one := range all {
			if one.SkipReason == "" && one.Scope == "" && !slices.Contains(names, one.Name) {
				names = append(names, one.Name)
			}
		}
	}
	return names
}

// listed returns the ids of the servers whose lists a client gets: none if one entry provides all.
func (c Choice) listed() (ids []string) {
	for _, one := range c.Servers {
		if one.Server != "" && !slices.Contains(ids, one.Server) {
			ids = append(ids, one.Server)
		}
	}
	return ids
}

// EntriesOf returns the servers that the entries of the client with a token point to: none if one entry provides
// all, or if it is not connected.
func (f *Feature) EntriesOf(token string) []string {
	records, _ := f.Connector.records() // without a record, it gets one list
	var own Choice
	for _, r := range records {
		switch {
		case r.Choice.Client != token || r.Choice.Project != "" || r.RemovedByUser:
		case len(r.Choice.listed()) == 0: // an entry for all servers
			return nil
		default:
			own.Servers = append(own.Servers, r.Choice.Servers...)
		}
	}
	return own.listed()
}

// serverView returns what a client with the profile, or without one, sees at the entry for one server.
func (f *Feature) serverView(profile, id string) (*registry.View, bool) {
	if profile != "" {
		return f.Views.ProfileServer(profile, id)
	}
	return f.Views.Server(id)
}

// nextStep is the action that makes a client read its new configuration.
func nextStep(c Client) string {
	return cmp.Or(c.ApplyHint(), "Restart "+c.Name+".")
}

// visibleToClient lists the tools that a client gets now, through all of its entries, and the size of
// the instructions of its servers where they are merged.
func (f *Feature) visibleToClient(s Status, mode string) (tools []OfferedTool, instructions int) {
	profile := f.Config().Clients[s.Client.ID].Profile
	for _, one := range s.Choice.Servers {
		view, ok := f.serverView(profile, one.Server)
		switch {
		case one.Server == "" || !ok:
		case bridge.SavesAtServer(view, mode):
			tools = append(tools, offeredTools(view, one.Name, mode)...)
		default:
			tools = append(tools, offeredTools(view, one.Name, config.ToolsAll)...)
		}
	}
	if len(s.Choice.listed()) > 0 {
		return tools, 0
	}
	view, ok := f.Views.Profile(profile, s.Client.MaxToolName)
	if !ok {
		view = f.Views.WithNameLimit(s.Client.MaxToolName)
	}
	return offeredTools(view, EntryName, mode), bridge.InstructionUnits(view)
}

// offeredTools lists the tools of one entry in a tool mode.
func offeredTools(v *registry.View, entry, mode string) (tools []OfferedTool) {
	for _, item := range v.Items(core.Tools) {
		switch mode {
		case config.ToolsSearch:
		case config.ToolsDeferred:
			tools = append(tools, OfferedTool{Entry: entry, Name: item.Public})
		default:
			tools = append(tools, OfferedTool{entry, item.Public, bridge.DescriptionUnits(item.Raw)})
		}
	}
	for _, name := range bridge.ModeTools(mode) {
		tools = append(tools, OfferedTool{Entry: entry, Name: name})
	}
	return tools
}
