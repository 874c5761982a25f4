package api

import (
	"context"
	"net"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Observer reports where servers connect to; *observe.Sampler implements it.
type Observer interface {
	Available(server string) (ok bool, why string)
	Destinations(ctx context.Context, server string) ([]store.Destination, error)
	Renamed(from, to string)
	Notices() []core.Notice
	Dismiss(subject string) bool
}

// Destinations is where the processes of a server connect to.
type Destinations struct {
	Available bool                `json:"available" doc:"Whether connections of this server can be observed"`
	Reason    string              `json:"reason" doc:"Why not, in one sentence"`
	Items     []store.Destination `json:"items" nullable:"false" doc:"Newest first"`
}

func (a *API) destinations(ctx context.Context, in *serverInput) (*answer[Destinations], error) {
	if _, ok := a.Servers.Status(in.ID); !ok {
		return nil, errNoSuchServer
	}
	d := Destinations{Items: []store.Destination{}}
	d.Available, d.Reason = a.Observer.Available(in.ID)
	list, err := a.Observer.Destinations(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	d.Items = nonNil(list)
	return reply(d)
}

func destinationName(d store.Destination) string {
	text := net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	if d.Protocol != "tcp" {
		text += "/" + d.Protocol
	}
	return text
}
