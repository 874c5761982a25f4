package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type toolsInput struct {
	Server string `query:"server" maxLength:"256" server:"name" doc:"Only the tools of this server, by id or name"`
}

func (a *API) listTools(_ context.Context, in *toolsInput) (*answer[List[Tool]], error) {
	list := List[Tool]{Items: []Tool{}}
	for _, item := range a.Views.All().Items(core.Tools) {
		if in.Server != "" && item.Server != in.Server {
			continue
		}
		tool := parseTool(core.Item{Name: item.Name, Raw: item.Raw})
		tool.Name, tool.Server = item.Public, item.Server
		list.Items = append(list.Items, tool)
	}
	if _, known := a.Servers.Status(in.Server); in.Server != "" && len(list.Items) == 0 && !known {
		return nil, errNoSuchServer
	}
	return reply(list)
}
