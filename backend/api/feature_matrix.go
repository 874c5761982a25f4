package api

import (
	"cmp"
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
)

// ClientFeatures says what passes end to end between one client and the servers.
type ClientFeatures struct {
	Token    string           `json:"token" doc:"Name of the client's token; may be empty"`
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
	Client string `query:"client" maxLength:"256" doc:"Only this client, by the name of its token or application"`
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
}

func (a *API) registerFeatures(doc huma.API) {
	op(a, doc, "GET", "/api/v1/features", "Features that work end to end, for each server and each client seen since Drawbridge started", a.listFeatures)
}

func (a *API) listFeatures(_ context.Context, in *featuresInput) (*answer[List[ClientFeatures]], error) {
	servers := nonNil(a.Servers.Statuses())
	if in.Server != "" {
		one, ok := a.Servers.Status(in.Server)
		if !ok {
			return nil, errNoSuchServer
		}
		servers = []core.ServerStatus{one}
	}
	list := List[ClientFeatures]{Items: []ClientFeatures{}}
	for _, p := range a.Bridge.ClientInfos() {
		if in.Client != "" && in.Client != p.Token && in.Client != p.Name {
			continue
		}
		c := ClientFeatures{
			Token: p.Token, Name: p.Name, Version: p.Version, Era: p.Era, Protocol: p.Protocol, LastSeen: p.LastSeen.UTC(),
			Servers: make([]ServerFeatures, 0, len(servers)),
		}
		for _, s := range servers {
			c.Servers = append(c.Servers, a.featuresOf(p.Peer, s))
		}
		list.Items = append(list.Items, c)
	}
	return reply(list)
}

func (a *API) featuresOf(client bridge.Peer, s core.ServerStatus) ServerFeatures {
	out := ServerFeatures{Server: s.ID, Era: s.Era, Features: []bridge.Feature{}}
	if client.Era == core.Modern && a.Servers.HasBothEras(s.ID) {
		out.Era = core.Modern
	}
	v, ok := a.Views.Server(s.ID)
	if !ok || len(v.Offers()) == 0 || v.Offers()[0].Catalog == nil {
		return out
	}
	server := bridge.Peer{Era: out.Era, Capabilities: v.Offers()[0].Catalog.Capabilities}
	if c, ok := a.ConfigEditor.Current().Server(s.ID); ok {
		server.OwnConnection = cmp.Or(c.Session, config.SessionShared) != config.SessionShared && c.Session != config.SessionPerRoot
	}
	out.Known = true
	out.Features = bridge.FeatureMatrix(client, server, true)
	return out
}
