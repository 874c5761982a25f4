package api

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

type logInput struct {
	ID    string    `path:"id" maxLength:"256" server:"name" doc:"Server id or name"`
	Level string    `query:"level" enum:"debug,info,warn,error,stderr,lifecycle" doc:"Minimum level (lines of stderr count as info); stderr: only output of the server; lifecycle: only its events"`
	After time.Time `query:"after" doc:"Only lines after this time"`
	Limit int       `query:"limit" minimum:"1" maximum:"10000" default:"500" doc:"Maximum number of lines; the newest are returned"`
}

// serverLog returns the lines of one server, oldest first, escaped for display.
func (a *API) serverLog(_ context.Context, in *logInput) (*answer[List[serverlog.Line]], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, errNoSuchServer
	}
	wants, ok := serverlog.Filter(in.Level)
	if !ok {
		return nil, core.Errorf(core.CodeValidation, "level must be one of %s", serverlog.FilterChoices)
	}
	list := List[serverlog.Line]{Items: []serverlog.Line{}}
	all := a.Logs.Tail(in.ID, 0)
	begin := len(all)
	for left := in.Limit; begin > 0 && left > 0 && all[begin-1].At.After(in.After); begin-- {
		if wants(all[begin-1]) {
			left--
		}
	}
	for _, line := range all[begin:] {
		if wants(line) {
			line.Text = serverlog.Clean(line.Text)
			list.Items = append(list.Items, line)
		}
	}
	return reply(list)
}
