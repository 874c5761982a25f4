package trust

import (
	"context"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Feature is the review of changed definitions, as the API shows it.
type Feature struct {
	Baseline *Baseline
	Views    interface{ All() *registry.View } // what clients see
	// Destinations returns where the processes of a server connect to; of all servers for "".
	Destinations func(ctx context.Context, server string) ([]store.Destination, error)
}

// ToolTrust is the trust state of a tool.
type ToolTrust struct {
	Server     string `json:"server"`
	Tool       string `json:"tool" doc:"The server's own name for the tool; empty for the server's instructions"`
	PublicName string `json:"publicName" doc:"Empty while the tool is withheld from clients"`
	ToolStatus
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/tool-changes", "Tools that are withheld because they changed or were blocked, with their changes", f.toolChanges)
	web.Op(r, "POST", "/api/v1/tool-changes", "Accept a tool change, always accept changes, block a tool, or require approval again", f.answerTool)
	web.Op(r, "GET", "/api/v1/tool-changes/log", "Log of tool definition changes, newest first", f.toolLog)
	web.Op(r, "GET", "/api/v1/tool-trust", "Tools that are new, withheld, suspicious, or always accepted", f.toolTrust)
	web.Op(r, "GET", "/api/v1/recent-changes", "What changed in recent days: versions, definitions, new tools and new destinations, newest first", f.recentChanges)
}

type trustInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
}

func (f *Feature) toolChanges(ctx context.Context, in *trustInput) (*web.Answer[web.List[ToolChange]], error) {
	list, err := f.Baseline.Changes(ctx, in.Server)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[ToolChange]{Items: list})
}

// AnswerToolInputBody answers one changed definition.
type AnswerToolInputBody struct {
	Server string `json:"server" minLength:"1" maxLength:"256" server:"name" doc:"Server id or name"`
	Kind   string `json:"kind,omitempty" enum:"tool,instructions,prompt,resource,template" doc:"Default: tool"`
	Tool   string `json:"tool,omitempty" maxLength:"1024" doc:"The server's own name for the tool or prompt, or a URI"`
	Action string `json:"action" enum:"accept,always,block,ask" doc:"always also accepts all later changes; ask undoes always and block"`
	Hash   string `json:"hash,omitempty" maxLength:"64" doc:"newHash of the reviewed change; if it has changed since, the response is a conflict"`
}

type answerToolInput struct{ Body AnswerToolInputBody }

func (f *Feature) answerTool(ctx context.Context, in *answerToolInput) (*web.None, error) {
	b := in.Body
	if b.Kind == "" {
		b.Kind = Tool
	}
	if err := f.Baseline.Decide(ctx, Decision{Server: b.Server, Kind: b.Kind, Name: b.Tool, Hash: b.Hash, Action: b.Action}); err != nil {
		return nil, err
	}
	return &web.None{}, nil
}

type toolLogInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
	Before string `query:"before" pattern:"^[0-9]{0,18}$" doc:"The value of 'next' in the previous page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

func (f *Feature) toolLog(ctx context.Context, in *toolLogInput) (*web.Answer[web.List[Event]], error) {
	before := web.ParseID(in.Before)
	events, next, err := f.Baseline.Events(ctx, in.Server, before, in.Limit)
	if err != nil {
		return nil, err
	}
	return web.Reply(web.List[Event]{Items: events, Next: web.NextPage(next)})
}

func (f *Feature) toolTrust(_ context.Context, in *trustInput) (*web.Answer[web.List[ToolTrust]], error) {
	list := web.List[ToolTrust]{Items: []ToolTrust{}}
	view := f.Views.All()
	public := map[[2]string]string{}
	for _, item := range view.Items(core.Tools) {
		public[[2]string{item.Server, item.Name}] = item.Public
	}
	for _, offer := range view.Offers() {
		if offer.Catalog == nil || in.Server != "" && offer.Server != in.Server {
			continue
		}
		standings := f.Baseline.ToolStatuses(offer.Server)
		for _, tool := range offer.Catalog.Tools {
			if st, ok := standings[tool.Name]; ok && needsAttention(st) {
				list.Items = append(list.Items, ToolTrust{offer.Server, tool.Name, public[[2]string{offer.Server, tool.Name}], st})
			}
		}
		if st, ok := f.Baseline.Instructions(offer.Server); ok && needsAttention(st) {
			list.Items = append(list.Items, ToolTrust{Server: offer.Server, ToolStatus: st})
		}
	}
	return web.Reply(list)
}

func needsAttention(st ToolStatus) bool {
	return st.New || st.Always || st.Withheld != "" || len(st.Warnings) > 0
}

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

type recentInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only this server, by id or name"`
	Days   int    `query:"days" minimum:"1" maximum:"90" default:"7"`
}

func (f *Feature) recentChanges(ctx context.Context, in *recentInput) (*web.Answer[web.List[RecentChange]], error) {
	since := time.Now().AddDate(0, 0, -min(in.Days, maxRecentDays))
	list := []RecentChange{}
	for before := int64(0); len(list) < maxRecentChanges; {
		events, next, err := f.Baseline.Events(ctx, in.Server, before, 500)
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
	found, err := f.Destinations(ctx, in.Server)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if !d.FirstAt.Before(since) {
			list = append(list, RecentChange{At: d.FirstAt, Server: d.Server, Kind: "destination", Name: destinationName(d), Action: EventNew})
		}
	}
	slices.SortStableFunc(list, func(x, y RecentChange) int { return y.At.Compare(x.At) })
	return web.Reply(web.List[RecentChange]{Items: list[:min(len(list), maxRecentChanges)]})
}

func recentChange(e Event) RecentChange {
	c := RecentChange{At: e.At, Server: e.Server, Kind: "definition", Name: e.Name, Action: e.Action, Detail: e.Detail}
	switch {
	case e.Kind == Server && e.Name == VersionName:
		c.Kind, c.Name = "version", ""
	case e.Kind == Server && e.Action == EventNew:
		c.Kind = "server"
	case e.Kind == Server:
		c.Kind = "command"
	case e.Action == EventWarned:
		c.Kind = "warning"
	case e.Kind == Tool && e.Action == EventNew:
		c.Kind = "tool"
	case e.Kind == Instructions:
		c.Name = "instructions"
	case e.Kind != Tool:
		c.Name = e.Kind + " " + e.Name
	}
	return c
}

func destinationName(d store.Destination) string {
	text := net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	if d.Protocol != "tcp" {
		text += "/" + d.Protocol
	}
	return text
}
