package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// listClients joins the clients of the history, connected clients, and tokens.
func (a *API) listClients(ctx context.Context, _ *web.None) (*web.Answer[web.List[Client]], error) {
	used, err := a.History.Clients(ctx)
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
	for _, s := range a.Bridge.Sessions() {
		c := of(s.Client)
		c.Sessions++
		seen(c, s.LastUsed)
	}
	tokens, err := a.Tokens.ListWithSecrets()
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

func (a *API) registerClientImports(r *web.Router) {
	web.Op(r, "POST", "/api/v1/connections/{key}/import/plan", "Preview the import of a client's servers; nothing is written", a.planImport)
	web.Op(r, "POST", "/api/v1/connections/{key}/import", "Import a client's servers into the configuration", a.importServers)
	web.Op(r, "GET", "/api/v1/imports", "Imports that can be undone, newest first", a.listImports)
	web.Op(r, "POST", "/api/v1/imports/{id}/undo", "Undo an import", a.undoImport)
	web.Op(r, "GET", "/api/v1/connections/{key}/snippet", "Instructions for connecting a client manually", a.manualSetup)
	web.Op(r, "GET", "/api/v1/connections/{key}/bundle", "Extension that connects a client without changing its configuration file", a.bundle)
	web.Op(r, "POST", "/api/v1/tokens/{name}/{action}", "Create, rotate or revoke a client's token; the client's entries that use a URL are updated", a.changeToken)
}

// planClientImport plans the import of a shared file.
func (a *API) planClientImport(in *importInput) (*clientconf.ImportPlan, *ImportPlan, error) {
	t, err := a.Connector.PlanImport(clientconf.Choice{Client: in.Key}, in.Body.Servers)
	if err != nil {
		return nil, nil, err
	}
	p := &ImportPlan{Path: t.Path, Diff: t.Diff, Servers: importable(t.Servers), Secrets: []string{}}
	for _, i := range t.Servers {
		p.Secrets = append(p.Secrets, i.SecretNames...)
	}
	return t, p, nil
}

func (a *API) planImport(_ context.Context, in *importInput) (*web.Answer[ImportPlan], error) {
	_, p, err := a.planClientImport(in)
	if err != nil {
		return nil, err
	}
	return web.Reply(*p)
}

func (a *API) importServers(ctx context.Context, in *importInput) (*web.Answer[ImportPlan], error) {
	t, p, err := a.planClientImport(in)
	if err != nil {
		return nil, err
	}
	if in.Body.Diff != "" && in.Body.Diff != p.Diff {
		return nil, conflictError()
	}
	if p.ID, err = t.Apply(ctx); err != nil {
		return nil, err
	}
	return web.Reply(*p)
}

func (a *API) listImports(context.Context, *web.None) (*web.Answer[web.List[clientconf.CompletedImport]], error) {
	all, err := a.Connector.Imports()
	if err != nil {
		return nil, err
	}
	out := web.List[clientconf.CompletedImport]{Items: []clientconf.CompletedImport{}}
	for _, t := range all {
		out.Items = append(out.Items, t.CompletedImport)
	}
	return web.Reply(out)
}

func (a *API) undoImport(ctx context.Context, in *importIDInput) (*web.Answer[Undone], error) {
	how, err := a.Connector.UndoImport(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return web.Reply(Undone{Key: in.ID, Result: string(how)})
}

// TokenChange describes the changes of a rotated or revoked token in the files of clients.
type TokenChange struct {
	Name      string                   `json:"name"`
	Rewritten []clientconf.EntryUpdate `json:"rewritten" nullable:"false"`
	Token     string                   `json:"token,omitempty" doc:"New token, for the user to enter in a client, if no client's file was updated"`
}

type tokenInput struct {
	Name   string `path:"name"`
	Action string `path:"action" enum:"create,rotate,revoke"`
	Body   *struct {
		DryRun bool `json:"dryRun,omitempty" doc:"Only report what would change; the token is kept"`
	}
}

func (a *API) changeToken(ctx context.Context, in *tokenInput) (*web.Answer[TokenChange], error) {
	_, ok, err := a.Tokens.Get(in.Name)
	if in.Action == "create" && err == nil {
		return a.createToken(in.Name, ok)
	}
	if err != nil || !ok {
		if err == nil {
			err = core.Errorf(core.CodeNotFound, "there is no token named %q", in.Name)
		}
		return nil, err
	}
	out := TokenChange{Name: in.Name, Rewritten: []clientconf.EntryUpdate{}}
	if in.Body != nil && in.Body.DryRun {
		would := a.Connector.PreviewRemoveTokenEntries(in.Name)
		if in.Action == "rotate" {
			if would, err = a.Connector.PreviewUpdate(in.Name); err != nil {
				return nil, err
			}
		}
		out.Rewritten = append(out.Rewritten, would...)
		return web.Reply(out)
	}
	if in.Action == "revoke" {
		if err := a.Tokens.Revoke(in.Name); err != nil {
			return nil, err
		}
		out.Rewritten = append(out.Rewritten, a.Connector.RemoveTokenEntries(ctx, in.Name)...)
		return web.Reply(out)
	}
	token, err := a.Tokens.Rotate(in.Name)
	if err != nil {
		return nil, err
	}
	done, err := a.Connector.UpdateEntries(ctx, in.Name, "", a.tokenFor)
	if err != nil {
		return nil, err
	}
	if out.Rewritten = append(out.Rewritten, done...); len(done) == 0 {
		out.Token = token.Token
	}
	return web.Reply(out)
}

// createToken creates the token of a client that has none: an existing token is never shown again.
func (a *API) createToken(name string, taken bool) (*web.Answer[TokenChange], error) {
	if taken {
		return nil, core.Errorf(core.CodeConflict, "%q already has a token; rotate it instead", name)
	}
	token, err := a.Tokens.Create(name)
	if err != nil {
		return nil, err
	}
	return web.Reply(TokenChange{Name: name, Rewritten: []clientconf.EntryUpdate{}, Token: token.Token})
}

func (a *API) tokenFor(client string) (string, error) {
	t, err := a.Tokens.Create(client)
	return t.Token, err
}

// TakeoverPlan describes the changes of moving the servers of all clients.
type TakeoverPlan struct {
	Servers int              `json:"servers" doc:"Number of servers to move"`
	Clients []TakeoverClient `json:"clients" nullable:"false" doc:"In the order in which they are changed"`
	Skipped []TakeoverSkip   `json:"skipped" nullable:"false"`
	Plan    string           `json:"plan" doc:"Identifies this plan in the request that applies it"`
}

// TakeoverClient describes the changes for one client.
type TakeoverClient struct {
	Key      string   `json:"key"`
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	Servers  int      `json:"servers"`
	Diff     string   `json:"diff" doc:"Changes to the configuration and to the client's file; secrets are masked"`
	Warnings []string `json:"warnings" nullable:"false"`
	Outside  string   `json:"outside" doc:"The file that would be changed, if the client's file is a link out of the home folder. It must be confirmed"`
}

// TakeoverSkip is a skipped client.
type TakeoverSkip struct {
	Client string `json:"client"`
	Reason string `json:"reason"`
}

// TakeoverRequest executes a plan that was shown.
type TakeoverRequest struct {
	Plan string `json:"plan" minLength:"1" maxLength:"64" doc:"Id of the plan that was shown; any other one is rejected"`

	Outside []string `json:"outside,omitempty" doc:"Files outside the home folder that may be changed, as the plan names them"`
}

// TakeoverResult is the result for one client.
type TakeoverResult struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Servers int    `json:"servers" doc:"Number of its servers that were moved"`
	Error   string `json:"error" doc:"Why it was not changed; empty on success"`
	Reload  string `json:"reload" doc:"How the client picks up the change, a sentence"`
}

// TakeoverUndone is the result of restoring one client.
type TakeoverUndone struct {
	Key    string `json:"key"`
	Result string `json:"result" doc:"restored, removed or wasAbsent; empty after an error"`
	Error  string `json:"error"`
}

type takeoverInput struct{ Body TakeoverRequest }

type takeoverUndoInput struct {
	Body struct {
		Keys []string `json:"keys" minItems:"1" maxItems:"200" doc:"Keys of the clients whose servers were moved"`
	}
}

func (a *API) registerTakeover(r *web.Router) {
	web.Op(r, "GET", "/api/v1/takeover", "Preview moving the servers of all clients to Drawbridge; nothing is written", a.planTakeover)
	web.Op(r, "POST", "/api/v1/takeover", "Move the servers of all clients to Drawbridge, one client at a time", a.takeOver)
	web.Op(r, "POST", "/api/v1/takeover/undo", "Undo the moves, newest first", a.undoTakeover)
}

func (a *API) planTakeover(context.Context, *web.None) (*web.Answer[TakeoverPlan], error) {
	return web.Reply(takeoverPlan(a.Connector.PlanMoveAll()))
}

func takeoverPlan(t *clientconf.Batch) TakeoverPlan {
	out := TakeoverPlan{Servers: t.ServerCount(), Clients: []TakeoverClient{}, Skipped: []TakeoverSkip{}}
	digest := sha256.New()
	for _, p := range t.Plans {
		out.Clients = append(out.Clients, TakeoverClient{
			Key: p.Key(), Name: p.Client.Name, Path: p.Path, Servers: p.MovedCount(), Diff: p.Diff,
			Warnings: append([]string{}, p.Warnings...), Outside: p.Outside(),
		})
		digest.Write([]byte(p.Key() + "\x00" + p.Diff + "\x00"))
	}
	for _, s := range t.Skipped {
		out.Skipped = append(out.Skipped, TakeoverSkip(s))
	}
	out.Plan = hex.EncodeToString(digest.Sum(nil))
	return out
}

func (a *API) takeOver(ctx context.Context, in *takeoverInput) (*web.Answer[web.List[TakeoverResult]], error) {
	t := a.Connector.PlanMoveAll()
	if takeoverPlan(t).Plan != in.Body.Plan {
		return nil, &core.Error{Code: core.CodeConflict, Retriable: true, Message: "a file has changed since the preview", Hint: "Nothing was written. Review it again."}
	}
	if err := checkOutside(in.Body.Outside, t.Plans...); err != nil {
		return nil, err
	}
	token := func(client string) error { // the client may start the shim immediately
		_, err := a.Tokens.Create(client)
		return err
	}
	out := web.List[TakeoverResult]{Items: []TakeoverResult{}}
	_ = t.Apply(ctx, token, func(d clientconf.ClientResult) { // each result has its own error
		one := TakeoverResult{Key: d.Client.ID, Name: d.Client.Name, Servers: d.Servers, Error: d.Reason()}
		if one.Error == "" {
			one.Reload = d.Client.ApplyHint()
		}
		out.Items = append(out.Items, one)
	})
	return web.Reply(out)
}

func (a *API) undoTakeover(ctx context.Context, in *takeoverUndoInput) (*web.Answer[web.List[TakeoverUndone]], error) {
	out := web.List[TakeoverUndone]{Items: []TakeoverUndone{}}
	failed := a.Connector.UndoKeys(ctx, in.Body.Keys, func(u clientconf.UndoResult) {
		out.Items = append(out.Items, TakeoverUndone{Key: u.Key, Result: string(u.Undone), Error: u.Error})
	})
	if failed != nil && len(out.Items) == 0 { // otherwise each result has its own error
		return nil, failed
	}
	return web.Reply(out)
}

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

func (a *API) registerFeatures(r *web.Router) {
	web.Op(r, "GET", "/api/v1/features", "Features that work end to end, for each server and each client seen since Drawbridge started", a.listFeatures)
}

func (a *API) listFeatures(_ context.Context, in *featuresInput) (*web.Answer[web.List[ClientFeatures]], error) {
	servers := web.NonNil(a.Servers.Statuses())
	if in.Server != "" {
		one, ok := a.Servers.Status(in.Server)
		if !ok {
			return nil, web.ErrNoSuchServer
		}
		servers = []core.ServerStatus{one}
	}
	list := web.List[ClientFeatures]{Items: []ClientFeatures{}}
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
	return web.Reply(list)
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
