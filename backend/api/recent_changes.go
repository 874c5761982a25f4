package api

import (
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"

	"github.com/danielgtaylor/huma/v2"
)

var _ Observer = (*sandbox.DestinationSampler)(nil)

// RecentChange is a change of a server in the last days.
type RecentChange struct {
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Kind   string    `json:"kind" enum:"server,version,command,tool,definition,warning,destination"`
	Name   string    `json:"name" doc:"Of the tool or other definition, or the destination"`
	Action string    `json:"action" enum:"new,changed,accepted,blocked,returned,warned"`
	Detail string    `json:"detail"`
}

// Limits of recent changes.
const (
	maxRecentDays    = 90
	maxRecentChanges = 1000
)

func (a *API) registerObservations(doc huma.API) {
	op(a, doc, "GET", "/api/v1/servers/{id}/destinations", "Hosts and ports that the processes of a server connect to", a.destinations)
	op(a, doc, "GET", "/api/v1/recent-changes", "What changed in recent days: versions, definitions, new tools and new destinations, newest first", a.recentChanges)
}

type recentInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
	Days   int    `query:"days" minimum:"1" maximum:"90" default:"7"`
}

func (a *API) recentChanges(ctx context.Context, in *recentInput) (*answer[List[RecentChange]], error) {
	since := time.Now().AddDate(0, 0, -min(in.Days, maxRecentDays))
	list := []RecentChange{}
	for before := int64(0); len(list) < maxRecentChanges; {
		events, next, err := a.Trust.Events(ctx, in.Server, before, 500)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.At.Before(since) {
				next = 0
				break
			}
			list = append(list, recentChange(e))
		}
		if before = next; before == 0 {
			break
		}
	}
	found, err := a.Observer.Destinations(ctx, in.Server)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if !d.FirstAt.Before(since) {
			list = append(list, RecentChange{At: d.FirstAt, Server: d.Server, Kind: "destination", Name: destinationName(d), Action: trust.EventNew})
		}
	}
	slices.SortStableFunc(list, func(x, y RecentChange) int { return y.At.Compare(x.At) })
	return reply(List[RecentChange]{Items: list[:min(len(list), maxRecentChanges)]})
}

func recentChange(e trust.Event) RecentChange {
	c := RecentChange{At: e.At, Server: e.Server, Kind: "definition", Name: e.Name, Action: e.Action, Detail: e.Detail}
	switch {
	case e.Kind == trust.Server && e.Name == trust.VersionName:
		c.Kind, c.Name = "version", ""
	case e.Kind == trust.Server && e.Action == trust.EventNew:
		c.Kind = "server"
	case e.Kind == trust.Server:
		c.Kind = "command"
	case e.Action == trust.EventWarned:
		c.Kind = "warning"
	case e.Kind == trust.Tool && e.Action == trust.EventNew:
		c.Kind = "tool"
	case e.Kind == trust.Instructions:
		c.Name = "instructions"
	case e.Kind != trust.Tool:
		c.Name = e.Kind + " " + e.Name
	}
	return c
}
