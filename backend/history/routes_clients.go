package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Client is an application that connected, or a token without a client yet.
type Client struct {
	Token    string     `json:"token"`
	HasToken bool       `json:"hasToken" doc:"Whether the access token exists"`
	Name     string     `json:"name"`
	Version  string     `json:"version"`
	Sessions int        `json:"sessions" doc:"Open legacy sessions"`
	LastSeen *time.Time `json:"lastSeen,omitempty"`
	Calls    int64      `json:"calls" doc:"Recorded calls"`
}

// listClients joins the clients of the history, connected clients, and tokens.
func (f *Feature) listClients(ctx context.Context, _ *web.None) (*web.Answer[web.List[Client]], error) {
	used, err := f.Store.Clients(ctx)
	if err != nil && core.CodeOf(err) != core.CodeUnavailable {
		return nil, err
	}
	all := make(map[core.Client]*Client)
	of := func(c core.Client) *Client {
		if all[c] == nil {
			all[c] = &Client{Token: c.Token, Name: c.Name, Version: c.Version}
		}
		return all[c]
	}
	seen := func(c *Client, at time.Time) {
		if at = at.UTC(); c.LastSeen == nil || c.LastSeen.Before(at) {
			c.LastSeen = &at
		}
	}
	for _, u := range used {
		c := of(u.Client)
		c.Calls = u.Calls
		seen(c, u.LastSeen)
	}
	for _, s := range f.Sessions() {
		c := of(s.Client)
		c.Sessions++
		seen(c, s.LastUsed)
	}
	tokens, err := f.Tokens.ListWithSecrets()
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		known := false
		for c, one := range all {
			if c.Token == t.Name {
				known, one.HasToken = true, true
			}
		}
		if !known {
			of(core.Client{Token: t.Name}).HasToken = true
		}
	}
	list := web.List[Client]{Items: make([]Client, 0, len(all))}
	for _, c := range all {
		list.Items = append(list.Items, *c)
	}
	slices.SortFunc(list.Items, func(x, y Client) int {
		return cmp.Or(-cmp.Compare(unix(x.LastSeen), unix(y.LastSeen)), cmp.Compare(x.Token, y.Token), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Version, y.Version))
	})
	return web.Reply(list)
}

func unix(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}
