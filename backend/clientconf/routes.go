package clientconf

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
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
	Reloads      bool   `json:"reloads"`      // whether it reads its changed file by itself, at least in most cases
	MaxTools     int    `json:"maxTools"`     // limit of tools of the client; 0 if unknown
	Tested       bool   `json:"tested"`       // whether the format was verified with the real program

	Live       bool       `json:"live" doc:"Whether it has initialized a session since it was connected"`
	Since      *time.Time `json:"since,omitempty" doc:"First initialization that is known"`
	LastSeen   *time.Time `json:"lastSeen,omitempty"`
	LeftAt     *time.Time `json:"leftAt,omitempty" doc:"When it was found disconnected; missing if it is connected, or was not since Drawbridge started"`
	Sessions   int        `json:"sessions" doc:"Open legacy sessions"`
	Tools      int        `json:"tools" doc:"Number of tools in its last tool list"`
	Offered    int        `json:"offered" doc:"Number of tools that a new list would contain"`
	Next       string     `json:"next" doc:"Next step for this client; empty if there is none"`
	Warnings   []string   `json:"warnings" nullable:"false" doc:"Limits of the client that are exceeded"`
	ToolMode   string     `json:"toolMode" enum:",all,search,deferred" doc:"How tools are listed to it now; empty if it is not connected"`
	Tokens     int        `json:"tokens" doc:"Estimated context size of the tool lists and instructions that it gets now; 0 if it is not connected"`
	ByServer   bool       `json:"byServer" doc:"Whether each of its entries points to one server: it gets a list from each"`
	ModeReason string     `json:"modeReason" doc:"With the tool mode auto: why that was chosen; else empty"`
	Moved      []Moved    `json:"moved" nullable:"false" doc:"Servers that were moved from it"`
	Own        []string   `json:"own" nullable:"false" doc:"If it is connected: servers in its files that Drawbridge does not run for it; their tools are not counted"`
	Link       bool       `json:"link" doc:"Whether it can be connected by a link"`
	Bundle     bool       `json:"bundle" doc:"Whether it can be connected by an extension"`
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
	Notes    []string `json:"notes" nullable:"false" doc:"Sentences about the result that need no attention"`
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
		Keep    bool     `json:"keep,omitempty" doc:"With undo: the servers that were moved stay in Drawbridge, too"`
	}
}

// Feature connects clients, as the API shows it.
type Feature struct {
	Version   string
	URL       string // of the daemon
	Connector *Connector
	Tokens    *loopback.Tokens
	Config    func() *config.Config
	Servers   Servers
	Views     *registry.Registry
	Bridge    Bridge
	// Limits returns what is known of the client with a token.
	Limits func(token string) bridge.ClientLimits
	// ListCost returns what one list from each of these servers costs a client now, or without servers its list of
	// all, and how its tools are listed, and why if Drawbridge chose it. A mode replaces the one that is set.
	ListCost func(token string, servers []string, mode string) (cost *bridge.ListCost, listed, why string)

	mu   sync.Mutex
	left map[string]*time.Time // when connections were found disconnected; nil: connected when last listed
}

// Servers knows the servers; *supervisor.Supervisor implements it.
type Servers interface {
	Statuses() []core.ServerStatus
	Status(id string) (core.ServerStatus, bool)
	HasBothEras(id string) bool // whether a server has a connection in each era
}

// Bridge reports on the connected clients; *bridge.Bridge implements it.
type Bridge interface {
	Sessions() []bridge.Session
	ClientInfos() []bridge.ClientInfo
	ClientActivities() []bridge.ClientActivity // which clients connected, and which tools they were sent
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/connections", "Client applications on this machine", f.listConnections)
	web.Op(r, "GET", "/api/v1/sources", "Other gateways and plugins on this machine whose servers can be imported", f.listSources)
	web.Op(r, "GET", "/api/v1/connections/{key}/servers", "A client's servers that can be imported", f.listImportable)
	web.Op(r, "POST", "/api/v1/connections/{key}/plan", "Preview what connecting a client would change; nothing is written", f.planConnection)
	web.Op(r, "POST", "/api/v1/connections/{key}/connect", "Connect a client, or move its servers", f.connect)
	web.Op(r, "POST", "/api/v1/connections/{key}/{action}", "Undo a connection, restore a lost entry, or stop tracking a client", f.changeConnection)
	web.Op(r, "GET", "/api/v1/connections/{key}/undo", "Preview what undoing a connection would change; nothing is written", f.planUndo)
	web.Op(r, "POST", "/api/v1/connections/{key}/import/plan", "Preview the import of a client's servers; nothing is written", f.planImport)
	web.Op(r, "POST", "/api/v1/connections/{key}/import", "Import a client's servers into the configuration", f.importServers)
	web.Op(r, "GET", "/api/v1/imports", "Imports that can be undone, newest first", f.listImports)
	web.Op(r, "POST", "/api/v1/imports/{id}/undo", "Undo an import", f.undoImport)
	web.Op(r, "GET", "/api/v1/connections/{key}/snippet", "Instructions for connecting a client manually", f.manualSetup)
	web.Op(r, "GET", "/api/v1/manual-entry", "Configuration entry for a client that is not in the list", f.manualEntry)
	web.Op(r, "GET", "/api/v1/connections/{key}/bundle", "Extension that connects a client without changing its configuration file", f.bundle)
	web.Op(r, "POST", "/api/v1/tokens/{name}/{action}", "Create, rotate or revoke a client's access token; the client's entries that use a URL are updated", f.changeToken)
	web.Op(r, "GET", "/api/v1/takeover", "Preview moving the servers of all clients to Drawbridge; nothing is written", f.planTakeover)
	web.Op(r, "POST", "/api/v1/takeover", "Move the servers of all clients to Drawbridge, one client at a time", f.takeOver)
	web.Op(r, "POST", "/api/v1/takeover/undo", "Undo the moves, newest first", f.undoTakeover)
	web.Op(r, "GET", "/api/v1/features", "Features that work end to end, for each server and each client that was seen", f.listFeatures)
}

func (f *Feature) listConnections(context.Context, *web.None) (*web.Answer[web.List[Connection]], error) {
	out := web.List[Connection]{Items: []Connection{}}
	for _, s := range f.Connector.List() {
		one := NewConnection(s)
		f.AddActivity(&one, s)
		f.noteLeaving(&one)
		out.Items = append(out.Items, one)
	}
	return &web.Answer[web.List[Connection]]{Body: out}, nil
}

// noteLeaving remembers which connections exist, so that what a client called before it was disconnected, here or by
// the command line, is not taken for use by another file.
func (f *Feature) noteLeaving(c *Connection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == nil {
		f.left = map[string]*time.Time{}
	}
	at, known := f.left[c.Key]
	switch {
	case c.Connected:
		f.left[c.Key] = nil
	case known && at == nil:
		now := time.Now().UTC()
		f.left[c.Key] = &now
		fallthrough
	default:
		c.LeftAt = f.left[c.Key]
	}
}

func (f *Feature) listSources(context.Context, *web.None) (*web.Answer[web.List[Source]], error) {
	return web.Reply(web.List[Source]{Items: f.Connector.Sources()})
}

// NewConnection returns the document of a client, without its activity, which only the daemon knows.
func NewConnection(s Status) Connection {
	c := Connection{
		Key: s.Key, ID: s.Client.ID, Name: s.Client.Name, Kind: s.Client.Kind, Project: s.Project, Path: s.Path,
		Detected: s.Detected, State: string(s.State), Connected: s.Connected, Problem: s.Problem, HTTP: s.Choice.HTTP,
		SupportsHTTP: s.Client.HTTP != nil, Reload: s.Client.ApplyHint(), Reloads: s.Client.ReloadsAutomatically(), MaxTools: s.Client.MaxTools, Tested: s.Client.Confidence == "M",
		Link: HasLink(s.Client), Bundle: HasBundle(s.Client), Moved: []Moved{}, Own: []string{}, Warnings: []string{},
	}
	for _, one := range s.Choice.Servers {
		c.Moved = append(c.Moved, Moved{one.Name, one.Scope, one.Server})
	}
	return c
}

func (f *Feature) listImportable(_ context.Context, in *connectionInput) (*web.Answer[web.List[ImportableServer]], error) {
	all, err := f.Connector.Servers(Choice{Client: in.Key})
	if err != nil {
		return nil, err
	}
	out := web.List[ImportableServer]{Items: []ImportableServer{}}
	out.Items = importable(all)
	return &web.Answer[web.List[ImportableServer]]{Body: out}, nil
}

func importable(all []ImportedServer) []ImportableServer {
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

// plan plans a connection. With a URL, the entry has the token; previewToken stands for one that does not exist.
func (f *Feature) plan(in *connectionRequestInput) (*Plan, error) {
	choice := Choice{Client: in.Key, HTTP: in.Body.HTTP, URL: f.URL}
	if in.Body.Project != "" {
		choice.Project = filepath.Clean(in.Body.Project)
	}
	if in.Body.HTTP {
		var err error
		if choice.Token, err = previewTokenOf(f.Tokens, in.Key); err != nil {
			return nil, err
		}
	} else {
		choice.URL = ""
	}
	if in.Body.Move {
		return f.Connector.PlanMove(choice, in.Body.Servers, in.Body.SingleEntry)
	}
	return f.Connector.Plan(choice)
}

// NewConnectionPlan returns the document of a plan.
func NewConnectionPlan(p *Plan) ConnectionPlan {
	return ConnectionPlan{
		ID: p.Client.ID, Key: p.Key(), Path: p.Path, Action: string(p.Action), Diff: p.Diff,
		Warnings: append([]string{}, p.Warnings...), Notes: append([]string{}, p.Notes...), Reload: p.Client.ApplyHint(), Outside: p.Outside(),
	}
}

// checkOutside refuses plans that change files outside the home folder which are not in confirmed.
func checkOutside(confirmed []string, plans ...*Plan) error {
	for _, p := range plans {
		if target := p.Outside(); target != "" && !slices.Contains(confirmed, target) {
			return &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("the file of %s is a link to %s, outside your home folder", p.Client.Name, target), Hint: "Nothing was written. Confirm this file, too."}
		}
	}
	return nil
}

func (f *Feature) planConnection(_ context.Context, in *connectionRequestInput) (*web.Answer[ConnectionPlan], error) {
	p, err := f.plan(in)
	if err != nil {
		return nil, err
	}
	out := NewConnectionPlan(p)
	if !in.Body.Move { // of servers that it moves, tools are not known
		mode := ""
		if p.config != nil && p.config.ToolMode != "" {
			mode = config.ToolsAuto
		}
		cost, mode, _ := f.ListCost(p.Client.ID, nil, mode)
		out.Notes = append(out.Notes, fmt.Sprintf("The tools of all servers will use about %s tokens in each session (tool listing: %s).", bridge.FormatTokens(cost.Tokens(mode)), mode))
	}
	return web.Reply(out)
}

func (f *Feature) connect(ctx context.Context, in *connectionRequestInput) (*web.Answer[ConnectionPlan], error) {
	p, err := f.plan(in)
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
	if _, err := f.Tokens.CreateForEntry(in.Key); err != nil {
		return nil, err
	}
	if in.Body.HTTP { // now with the token
		shown := p.before
		if p, err = f.plan(in); err == nil && !bytes.Equal(p.before, shown) {
			err = changedError()
		}
		if err != nil {
			return nil, err
		}
	}
	if err := f.Connector.Apply(ctx, p); err != nil {
		return nil, err
	}
	return web.Reply(NewConnectionPlan(p))
}

func (f *Feature) planUndo(_ context.Context, in *connectionInput) (*web.Answer[UndoPlan], error) {
	p, err := f.Connector.PlanUndo(in.Key)
	if err != nil {
		return nil, err
	}
	return web.Reply(p)
}

func (f *Feature) changeConnection(ctx context.Context, in *connectionActionInput) (*web.Answer[Undone], error) {
	out := Undone{Key: in.Key}
	switch in.Action {
	case "undo":
		var how UndoOutcome
		var err error
		switch {
		case in.Body == nil || len(in.Body.Servers) == 0:
			how, err = f.Connector.Undo(ctx, in.Key, UndoOptions{KeepServers: in.Body != nil && in.Body.Keep})
		case in.Body.Keep:
			err = core.Errorf(core.CodeValidation, "'keep' is for all servers: omit 'servers'")
		default:
			how, err = f.Connector.UndoServers(ctx, in.Key, in.Body.Servers, false)
		}
		if err == nil {
			err = f.revokeUnused(in.Key)
		}
		if err != nil {
			return nil, err
		}
		out.Result = string(how)
	case "restore":
		whole, err := f.Connector.Restore(ctx, in.Key, f.TokenFor)
		if err != nil {
			return nil, err
		}
		if out.Result = "entry"; whole {
			out.Result = "whole"
		}
	case "forget":
		if err := f.Connector.Forget(in.Key); err != nil {
			return nil, err
		}
		out.Result = "forgotten"
	}
	return &web.Answer[Undone]{Body: out}, nil
}

// revokeUnused revokes the token of a client that was disconnected, unless another of its connections or an open
// session uses it. A token that the user was shown stays.
func (f *Feature) revokeUnused(key string) error {
	client, _, _ := strings.Cut(key, "@")
	records, err := f.Connector.records()
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Choice.Client == client {
			return nil
		}
	}
	if slices.ContainsFunc(f.Bridge.Sessions(), func(s bridge.Session) bool { return s.Client.Token == client }) {
		return nil
	}
	return f.Tokens.RevokeForEntry(client)
}

type manualSetupInput struct {
	Key  string `path:"key"`
	HTTP bool   `query:"http"`
}

func (f *Feature) manualSetup(_ context.Context, in *manualSetupInput) (*web.Answer[ManualSetup], error) {
	choice := Choice{Client: in.Key, HTTP: in.HTTP}
	if in.HTTP {
		if _, err := ByID(in.Key); err != nil {
			return nil, err // before the token is created
		}
		t, err := f.Tokens.Show(in.Key)
		if err != nil {
			return nil, err
		}
		choice.URL, choice.ByVariable, choice.Token = f.URL, true, t.Token
	}
	h, err := f.Connector.ManualSetup(choice)
	if err != nil {
		return nil, err
	}
	return web.Reply(h)
}

// ManualEntry is the entry for a client that is not known.
type ManualEntry struct {
	Text string `json:"text" doc:"JSON text"`
}

func (f *Feature) manualEntry(context.Context, *web.None) (*web.Answer[ManualEntry], error) {
	return web.Reply(ManualEntry{f.Connector.GenericEntry()})
}

func (f *Feature) bundle(_ context.Context, in *connectionInput) (*web.Download, error) {
	if client, err := ByID(in.Key); err != nil || !HasBundle(client) {
		return nil, core.Errorf(core.CodeNotFound, "%q does not support extensions", in.Key)
	}
	content, err := f.Connector.Bundle(in.Key, f.Version)
	if err != nil {
		return nil, err
	}
	// The token is created first, because the client may start the shim immediately.
	if _, err := f.Tokens.Create(in.Key); err != nil {
		return nil, err
	}
	return web.Zip(BundleName, content), nil
}

// ImportPlan describes the changes of an import, planned or made.
type ImportPlan struct {
	ID      string             `json:"id" doc:"Identifies the import for undo; empty in a plan, or if nothing was imported"`
	Path    string             `json:"path" doc:"Changes to the configuration"`
	Diff    string             `json:"diff"`
	Servers []ImportableServer `json:"servers" nullable:"false"`
	Secrets []string           `json:"secrets" nullable:"false" doc:"Names of the secrets that are moved to the secret store"`
}

type importInput struct {
	Key  string `path:"key"`
	Body struct {
		Servers []string `json:"servers,omitempty" doc:"Only these servers"`
		Diff    string   `json:"diff,omitempty" doc:"Diff that was shown; any other one is rejected"`
	}
}

type importIDInput struct {
	ID string `path:"id"`
}

func (f *Feature) planClientImport(in *importInput) (*PlannedImport, *ImportPlan, error) {
	t, err := f.Connector.PlanImport(Choice{Client: in.Key}, in.Body.Servers)
	if err != nil {
		return nil, nil, err
	}
	p := &ImportPlan{Path: t.Path, Diff: t.Diff, Servers: importable(t.Servers), Secrets: []string{}}
	for _, i := range t.Servers {
		p.Secrets = append(p.Secrets, i.SecretNames...)
	}
	return t, p, nil
}

func (f *Feature) planImport(_ context.Context, in *importInput) (*web.Answer[ImportPlan], error) {
	_, p, err := f.planClientImport(in)
	if err != nil {
		return nil, err
	}
	return web.Reply(*p)
}

func (f *Feature) importServers(ctx context.Context, in *importInput) (*web.Answer[ImportPlan], error) {
	t, p, err := f.planClientImport(in)
	if err != nil {
		return nil, err
	}
	if in.Body.Diff != "" && in.Body.Diff != p.Diff {
		return nil, &core.Error{Code: core.CodeConflict, Retriable: true, Message: "the configuration has changed since the preview", Hint: "Nothing was written. Review it again."}
	}
	if p.ID, err = t.Apply(ctx); err != nil {
		return nil, err
	}
	return web.Reply(*p)
}

func (f *Feature) listImports(context.Context, *web.None) (*web.Answer[web.List[CompletedImport]], error) {
	all, err := f.Connector.Imports()
	if err != nil {
		return nil, err
	}
	out := web.List[CompletedImport]{Items: []CompletedImport{}}
	for _, t := range all {
		out.Items = append(out.Items, t.CompletedImport)
	}
	return web.Reply(out)
}

func (f *Feature) undoImport(ctx context.Context, in *importIDInput) (*web.Answer[Undone], error) {
	how, err := f.Connector.UndoImport(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return web.Reply(Undone{Key: in.ID, Result: string(how)})
}

// TokenChange describes the changes of a rotated or revoked token in the files of clients.
type TokenChange struct {
	Name      string        `json:"name"`
	Rewritten []EntryUpdate `json:"rewritten" nullable:"false"`
	Token     string        `json:"token,omitempty" doc:"New access token, for the user to enter in a client, if no client's file was updated"`
}

type tokenInput struct {
	Name   string `path:"name"`
	Action string `path:"action" enum:"create,rotate,revoke"`
	Body   *struct {
		DryRun bool `json:"dryRun,omitempty" doc:"Only report what would change; the access token is kept"`
	}
}

func (f *Feature) changeToken(ctx context.Context, in *tokenInput) (*web.Answer[TokenChange], error) {
	_, ok, err := f.Tokens.Get(in.Name)
	if in.Action == "create" && err == nil {
		return f.createToken(in.Name, ok)
	}
	if err != nil || !ok {
		if err == nil {
			err = core.Errorf(core.CodeNotFound, "there is no access token named %q", in.Name)
		}
		return nil, err
	}
	out := TokenChange{Name: in.Name, Rewritten: []EntryUpdate{}}
	if in.Body != nil && in.Body.DryRun {
		would := f.Connector.PreviewRemoveTokenEntries(in.Name)
		if in.Action == "rotate" {
			if would, err = f.Connector.PreviewUpdate(in.Name); err != nil {
				return nil, err
			}
		}
		out.Rewritten = append(out.Rewritten, would...)
		return web.Reply(out)
	}
	if in.Action == "revoke" {
		if err := f.Tokens.Revoke(in.Name); err != nil {
			return nil, err
		}
		out.Rewritten = append(out.Rewritten, f.Connector.RemoveTokenEntries(ctx, in.Name)...)
		return web.Reply(out)
	}
	token, err := f.Tokens.Rotate(in.Name)
	if err != nil {
		return nil, err
	}
	done, err := f.Connector.UpdateEntries(ctx, in.Name, "", f.TokenFor)
	if err != nil {
		return nil, err
	}
	if out.Rewritten = append(out.Rewritten, done...); len(done) == 0 {
		out.Token = token.Token
	}
	return web.Reply(out)
}

// createToken creates the token of a client that has none: an existing token is never shown again.
func (f *Feature) createToken(name string, taken bool) (*web.Answer[TokenChange], error) {
	if taken {
		return nil, core.Errorf(core.CodeConflict, "%q already has an access token; rotate it instead", name)
	}
	token, err := f.Tokens.Create(name)
	if err != nil {
		return nil, err
	}
	return web.Reply(TokenChange{Name: name, Rewritten: []EntryUpdate{}, Token: token.Token})
}

// TokenFor returns the token of a client, and creates it if there is none.
func (f *Feature) TokenFor(client string) (string, error) {
	t, err := f.Tokens.Create(client)
	return t.Token, err
}

// RenameServer updates the entries of clients that name a renamed server.
func (f *Feature) RenameServer(ctx context.Context, from, to, label string) (warnings []string) {
	return f.Connector.RenameServer(context.WithoutCancel(ctx), from, to, label, f.TokenFor)
}
