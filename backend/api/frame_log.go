package api

import (
	"context"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

type framesInput struct {
	PageInput
	Session string `query:"session" maxLength:"200" doc:"Session of a client that history.debugClients includes"`
	Server  string `query:"server" maxLength:"256" server:"name" doc:"Server with debug: true, or one that a debugged client called"`
}

// Message is one JSON-RPC message as it went over a connection.
type Message struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	From    string    `json:"from" enum:"client,server,drawbridge"`
	Session string    `json:"session,omitempty"`
	Client  string    `json:"client,omitempty"`
	Server  string    `json:"server,omitempty"`
	Bytes   int       `json:"bytes" doc:"Size of the complete message"`
	Text    string    `json:"text" doc:"Secrets are redacted; at most 8 KiB"`
	HTTP    string    `json:"http,omitempty" doc:"Remote servers only: request line or status, and headers, one per line; secrets are redacted"`
}

func (a *API) frames(_ context.Context, in *framesInput) (*answer[List[Message]], error) {
	if (in.Session == "") == (in.Server == "") {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid",
			Fields: []core.FieldError{{Field: "query.session", Error: "specify either a session or a server"}}}
	}
	list := List[Message]{Items: []Message{}}
	before := parseID(in.Before)
	page, next := a.FrameLog.Frames(in.Session, in.Server, before, in.Limit)
	for _, f := range page {
		list.Items = append(list.Items, Message{strconv.FormatInt(f.ID, 10), f.At, f.From, f.Session, f.Client, f.Server, f.Bytes, f.Text, f.HTTP})
	}
	list.Next = nextPage(next)
	return reply(list)
}
