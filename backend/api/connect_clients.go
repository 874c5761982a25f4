package api

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Connection is one client application of this machine and the state of our entry in its file.
type Connection struct {
	Key          string `json:"key"` // identifies the connection in the routes below
	ID           string `json:"id"`  // of the client
	Name         string `json:"name"`
	Kind         string `json:"kind"`
	Project      string `json:"project"` // "" for the file of the user
	Path         string `json:"path"`    // of the file; "" if there is none on this system
	Detected     bool   `json:"detected"`
	State        string `json:"state"`     // notConnected, connected, vanished, changed or unreadable
	Connected    bool   `json:"connected"` // whether the file contains our entry, unchanged or not
	Problem      string `json:"problem"`
	HTTP         bool   `json:"http"`         // connected by URL
	SupportsHTTP bool   `json:"supportsHttp"` // whether it could be connected by URL
	Reload       string `json:"reload"`       // how the client reads its changed file, a sentence
	MaxTools     int    `json:"maxTools"`     // limit of tools of the client; 0 if unknown
	Tested       bool   `json:"tested"`       // whether the format was verified with the real program

	Live     bool       `json:"live" doc:"Whether it has initialized a session since it was connected"`
	Since    *time.Time `json:"since,omitempty" doc:"First initialization since the daemon started"`
	LastSeen *time.Time `json:"lastSeen,omitempty"`
	Sessions int        `json:"sessions" doc:"Open legacy sessions"`
	Tools    int        `json:"tools" doc:"Number of tools in its last tool list"`
	Offered  int        `json:"offered" doc:"Number of tools that a new list would contain"`
	Next     string     `json:"next" doc:"Next step for this client; empty if there is none"`
	Warnings []string   `json:"warnings" nullable:"false" doc:"Limits of the client that are exceeded"`
	Moved    []Moved    `json:"moved" nullable:"false" doc:"Servers that were moved from it"`
	Link     bool       `json:"link" doc:"Whether it can be connected by a link"`
	Bundle   bool       `json:"bundle" doc:"Whether it can be connected by an extension"`
}

// Moved is one server of a client that our entry replaces.
type Moved struct {
	Name   string `json:"name" doc:"Name in the client's file"`
	Scope  string `json:"scope"`
	Server string `json:"server" doc:"Server id in Drawbridge"`
}

// ConnectionRequest says how to connect a client.
type ConnectionRequest struct {
	Project     string   `json:"project,omitempty"`     // project folder with its own file
	HTTP        bool     `json:"http,omitempty"`        // a URL instead of the shim
	Move        bool     `json:"move,omitempty"`        // move the servers of the client to Drawbridge
	SingleEntry bool     `json:"singleEntry,omitempty"` // with move: one entry for all
	Servers     []string `json:"servers,omitempty"`     // with move: only these
	Diff        string   `json:"diff,omitempty"`        // the diff that the user saw; a different one is refused
	Outside     []string `json:"outside,omitempty" doc:"Files outside the home folder that may be changed, as the plan names them"`
}

// ConnectionPlan describes the changes of connecting.
type ConnectionPlan struct {
	ID       string   `json:"id"` // of the client
	Key      string   `json:"key"`
	Path     string   `json:"path"`
	Action   string   `json:"action"` // create, add, update or equal
	Diff     string   `json:"diff"`   // secrets are masked
	Warnings []string `json:"warnings"`
	Reload   string   `json:"reload"`
	Outside  string   `json:"outside" doc:"The file that would be changed, if the client's file is a link out of the home folder. It must be confirmed"`
}

// ImportableServer is one server of a client and its converted entry.
type ImportableServer struct {
	Name       string   `json:"name"`
	Scope      string   `json:"scope"`  // project, or ""
	Label      string   `json:"label"`  // its name in our configuration
	Entry      string   `json:"entry"`  // JSON text
	Exists     bool     `json:"exists"` // whether our configuration already has it
	AlsoIn     []string `json:"alsoIn"` // other clients with the same server
	Notes      []string `json:"notes"`
	SkipReason string   `json:"skipReason"` // why it cannot be imported

	Secrets []string `json:"secrets" nullable:"false" doc:"Names under which its literal tokens will be stored"`
}

// Undone is the result of removing a connection.
type Undone struct {
	Key    string `json:"key"`
	Result string `json:"result"` // restored, removed, wasAbsent, whole, entry or forgotten
}

type connectionInput struct {
	Key string `path:"key"`
}

type connectionRequestInput struct {
	Key  string `path:"key"`
	Body ConnectionRequest
}

type connectionActionInput struct {
	Key    string `path:"key"`
	Action string `path:"action" enum:"undo,restore,forget"`
	Body   *struct {
		Servers []string `json:"servers,omitempty" doc:"With undo: only these moves, by the names in the client's file"`
	}
}

func (a *API) registerConnections(r *web.Router) {
	web.Op(r, "GET", "/api/v1/connections", "Client applications on this machine", a.listConnections)
	web.Op(r, "GET", "/api/v1/connections/{key}/servers", "A client's servers that can be imported", a.listImportable)
	web.Op(r, "POST", "/api/v1/connections/{key}/plan", "Preview what connecting a client would change; nothing is written", a.planConnection)
	web.Op(r, "POST", "/api/v1/connections/{key}/connect", "Connect a client, or move its servers", a.connect)
	web.Op(r, "POST", "/api/v1/connections/{key}/{action}", "Undo a connection, restore a lost entry, or stop tracking a client", a.changeConnection)
	a.registerClientImports(r)
	a.registerTakeover(r)
}

func (a *API) listConnections(context.Context, *web.None) (*web.Answer[web.List[Connection]], error) {
	out := web.List[Connection]{Items: []Connection{}}
	for _, s := range a.Connector.List() {
		one := NewConnection(s)
		a.addActivity(&one, s)
		out.Items = append(out.Items, one)
	}
	return &web.Answer[web.List[Connection]]{Body: out}, nil
}

// NewConnection returns the document of a client, without its activity, which only the daemon knows.
func NewConnection(s clientconf.Status) Connection {
	c := Connection{
		Key: s.Key, ID: s.Client.ID, Name: s.Client.Name, Kind: s.Client.Kind, Project: s.Project, Path: s.Path,
		Detected: s.Detected, State: string(s.State), Connected: s.Connected, Problem: s.Problem, HTTP: s.Choice.HTTP,
		SupportsHTTP: s.Client.HTTP != nil, Reload: s.Client.ApplyHint(), MaxTools: s.Client.MaxTools, Tested: s.Client.Confidence == "M",
		Link: clientconf.HasLink(s.Client), Bundle: clientconf.HasBundle(s.Client), Moved: []Moved{}, Warnings: []string{},
	}
	for _, one := range s.Choice.Servers {
		c.Moved = append(c.Moved, Moved{one.Name, one.Scope, one.Server})
	}
	return c
}

func (a *API) listImportable(_ context.Context, in *connectionInput) (*web.Answer[web.List[ImportableServer]], error) {
	all, err := a.Connector.Servers(clientconf.Choice{Client: in.Key})
	if err != nil {
		return nil, err
	}
	out := web.List[ImportableServer]{Items: []ImportableServer{}}
	out.Items = importable(all)
	return &web.Answer[web.List[ImportableServer]]{Body: out}, nil
}

func importable(all []clientconf.ImportedServer) []ImportableServer {
	out := []ImportableServer{}
	for _, i := range all {
		out = append(out, ImportableServer{
			Name: i.Name, Scope: i.Scope, Label: i.Label, Entry: string(i.Entry), Exists: i.Exists,
			AlsoIn: append([]string{}, i.SharedWith...), Notes: append([]string{}, i.Notes...), SkipReason: i.SkipReason,
			Secrets: append([]string{}, i.SecretNames...),
		})
	}
	return out
}

// plan prepares the requested change.
func (a *API) plan(in *connectionRequestInput) (*clientconf.Plan, error) {
	choice := clientconf.Choice{Client: in.Key, HTTP: in.Body.HTTP, URL: a.URL}
	if in.Body.Project != "" {
		choice.Project = filepath.Clean(in.Body.Project)
	}
	if in.Body.HTTP {
		t, err := a.Tokens.Create(in.Key)
		if err != nil {
			return nil, err
		}
		choice.Token = t.Token
	} else {
		choice.URL = ""
	}
	if in.Body.Move {
		return a.Connector.PlanMove(choice, in.Body.Servers, in.Body.SingleEntry)
	}
	return a.Connector.Plan(choice)
}

// NewConnectionPlan returns the document of a plan.
func NewConnectionPlan(p *clientconf.Plan) ConnectionPlan {
	return ConnectionPlan{
		ID: p.Client.ID, Key: p.Key(), Path: p.Path, Action: string(p.Action), Diff: p.Diff,
		Warnings: append([]string{}, p.Warnings...), Reload: p.Client.ApplyHint(), Outside: p.Outside(),
	}
}

// checkOutside refuses plans that change files outside the home folder which are not in confirmed.
func checkOutside(confirmed []string, plans ...*clientconf.Plan) error {
	for _, p := range plans {
		if target := p.Outside(); target != "" && !slices.Contains(confirmed, target) {
			return &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("the file of %s is a link to %s, outside your home folder", p.Client.Name, target), Hint: "Nothing was written. Confirm this file, too."}
		}
	}
	return nil
}

func (a *API) planConnection(_ context.Context, in *connectionRequestInput) (*web.Answer[ConnectionPlan], error) {
	p, err := a.plan(in)
	if err != nil {
		return nil, err
	}
	return web.Reply(NewConnectionPlan(p))
}

func (a *API) connect(ctx context.Context, in *connectionRequestInput) (*web.Answer[ConnectionPlan], error) {
	p, err := a.plan(in)
	if err != nil {
		return nil, err
	}
	if in.Body.Diff != "" && in.Body.Diff != p.Diff {
		return nil, &core.Error{Code: core.CodeConflict, Retriable: true, Message: "the file has changed since the preview", Hint: "Nothing was written. Review it again."}
	}
	if err := checkOutside(in.Body.Outside, p); err != nil {
		return nil, err
	}
	// The token is created first, because the client may start the shim immediately.
	if _, err := a.Tokens.Create(in.Key); err != nil {
		return nil, err
	}
	if err := a.Connector.Apply(ctx, p); err != nil {
		return nil, err
	}
	return web.Reply(NewConnectionPlan(p))
}

func (a *API) changeConnection(ctx context.Context, in *connectionActionInput) (*web.Answer[Undone], error) {
	out := Undone{Key: in.Key}
	switch in.Action {
	case "undo":
		var how clientconf.UndoOutcome
		var err error
		if in.Body != nil && len(in.Body.Servers) > 0 {
			how, err = a.Connector.UndoServers(ctx, in.Key, in.Body.Servers, false)
		} else {
			how, err = a.Connector.Undo(ctx, in.Key, false)
		}
		if err != nil {
			return nil, err
		}
		out.Result = string(how)
	case "restore":
		whole, err := a.Connector.Restore(ctx, in.Key, a.tokenFor)
		if err != nil {
			return nil, err
		}
		if out.Result = "entry"; whole {
			out.Result = "whole"
		}
	case "forget":
		if err := a.Connector.Forget(in.Key); err != nil {
			return nil, err
		}
		out.Result = "forgotten"
	}
	return &web.Answer[Undone]{Body: out}, nil
}

type manualSetupInput struct {
	Key  string `path:"key"`
	HTTP bool   `query:"http"`
}

// Bundle is an extension file.
type bundleAnswer struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (a *API) manualSetup(_ context.Context, in *manualSetupInput) (*web.Answer[clientconf.ManualSetup], error) {
	choice := clientconf.Choice{Client: in.Key, HTTP: in.HTTP}
	if in.HTTP {
		if _, err := clientconf.ByID(in.Key); err != nil {
			return nil, err // before the token is created
		}
		t, err := a.Tokens.Create(in.Key)
		if err != nil {
			return nil, err
		}
		choice.URL, choice.ByVariable, choice.Token = a.URL, true, t.Token
	}
	h, err := a.Connector.ManualSetup(choice)
	if err != nil {
		return nil, err
	}
	return web.Reply(h)
}

func (a *API) bundle(_ context.Context, in *connectionInput) (*bundleAnswer, error) {
	if client, err := clientconf.ByID(in.Key); err != nil || !clientconf.HasBundle(client) {
		return nil, core.Errorf(core.CodeNotFound, "%q does not support extensions", in.Key)
	}
	content, err := a.Connector.Bundle(in.Key, a.Version)
	if err != nil {
		return nil, err
	}
	// The token is created first, because the client may start the shim immediately.
	if _, err := a.Tokens.Create(in.Key); err != nil {
		return nil, err
	}
	return &bundleAnswer{"application/zip", `attachment; filename="` + clientconf.BundleName + `"`, content}, nil
}

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
