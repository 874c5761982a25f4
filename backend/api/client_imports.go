package api

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/danielgtaylor/huma/v2"
)

// ImportPlan describes the changes of an import, planned or made.
type ImportPlan struct {
	ID      string             `json:"id" doc:"Identifies the import for undo; empty in a plan, or if nothing was imported"`
	Path    string             `json:"path" doc:"Changes to the configuration"`
	Diff    string             `json:"diff"`
	Servers []ImportableServer `json:"servers" nullable:"false"`
	Secrets []string           `json:"secrets" nullable:"false" doc:"Names of the secrets that are moved to the secret store"`
}

// TakenImport is an import that can be undone.
type TakenImport struct {
	ID      string    `json:"id"`
	Client  string    `json:"client"`
	At      time.Time `json:"at"`
	Servers []string  `json:"servers" nullable:"false"`
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

func (a *API) registerClientImports(doc huma.API) {
	op(a, doc, "POST", "/api/v1/connections/{key}/import/plan", "Preview the import of a client's servers; nothing is written", a.planImport)
	op(a, doc, "POST", "/api/v1/connections/{key}/import", "Import servers of a client into the configuration", a.importServers)
	op(a, doc, "GET", "/api/v1/imports", "Imports that can be undone, newest first", a.listImports)
	op(a, doc, "POST", "/api/v1/imports/{id}/undo", "Undo an import", a.undoImport)
	op(a, doc, "GET", "/api/v1/connections/{key}/snippet", "Instructions to connect a client manually", a.manualSetup)
	op(a, doc, "GET", "/api/v1/connections/{key}/bundle", "Extension that connects a client without changing its configuration file", a.bundle)
	op(a, doc, "POST", "/api/v1/tokens/{name}/{action}", "Create, rotate or revoke a client's token; its entries with a URL are updated", a.changeToken)
}

// planClientImport plans the import of a shared file.
func (a *API) planClientImport(in *importInput) (*clientconf.ImportPlan, *ImportPlan, error) {
	c, err := a.connector()
	if err != nil {
		return nil, nil, err
	}
	t, err := c.PlanImport(clientconf.Choice{Client: in.Key}, in.Body.Servers)
	if err != nil {
		return nil, nil, err
	}
	p := &ImportPlan{Path: t.Path, Diff: t.Diff, Servers: importable(t.Servers), Secrets: []string{}}
	for _, i := range t.Servers {
		p.Secrets = append(p.Secrets, i.SecretNames...)
	}
	return t, p, nil
}

func (a *API) planImport(_ context.Context, in *importInput) (*answer[ImportPlan], error) {
	_, p, err := a.planClientImport(in)
	if err != nil {
		return nil, err
	}
	return reply(*p)
}

func (a *API) importServers(ctx context.Context, in *importInput) (*answer[ImportPlan], error) {
	t, p, err := a.planClientImport(in)
	if err != nil {
		return nil, err
	}
	if in.Body.Diff != "" && in.Body.Diff != p.Diff {
		return nil, &core.Error{Code: core.CodeConflict, Retriable: true, Message: "the configuration has changed since the preview", Hint: "Nothing was written. Review it again."}
	}
	if p.ID, err = t.Apply(ctx); err != nil {
		return nil, err
	}
	return reply(*p)
}

func (a *API) listImports(context.Context, *none) (*answer[List[TakenImport]], error) {
	c, err := a.connector()
	if err != nil {
		return nil, err
	}
	all, err := c.Imports()
	if err != nil {
		return nil, err
	}
	out := List[TakenImport]{Items: []TakenImport{}}
	for _, t := range all {
		out.Items = append(out.Items, TakenImport{t.ID, t.Client, t.At, append([]string{}, t.Servers...)})
	}
	return reply(out)
}

func (a *API) undoImport(ctx context.Context, in *importIDInput) (*answer[Undone], error) {
	c, err := a.connector()
	if err != nil {
		return nil, err
	}
	how, err := c.UndoImport(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return reply(Undone{Key: in.ID, Result: string(how)})
}

func (a *API) manualSetup(_ context.Context, in *manualSetupInput) (*answer[clientconf.ManualSetup], error) {
	c, err := a.connector()
	if err != nil {
		return nil, err
	}
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
	h, err := c.ManualSetup(choice)
	if err != nil {
		return nil, err
	}
	return reply(h)
}

func (a *API) bundle(_ context.Context, in *connectionInput) (*bundleAnswer, error) {
	c, err := a.connector()
	if err != nil {
		return nil, err
	}
	if client, err := clientconf.ByID(in.Key); err != nil || !clientconf.HasBundle(client) {
		return nil, core.Errorf(core.CodeNotFound, "%q does not support extensions", in.Key)
	}
	content, err := c.Bundle(in.Key, a.Version)
	if err != nil {
		return nil, err
	}
	// The token is created first, because the client may start the shim immediately.
	if _, err := a.Tokens.Create(in.Key); err != nil {
		return nil, err
	}
	return &bundleAnswer{"application/zip", `attachment; filename="` + clientconf.BundleName + `"`, content}, nil
}

func (a *API) changeToken(ctx context.Context, in *tokenInput) (*answer[TokenChange], error) {
	c, err := a.connector()
	if err != nil {
		return nil, err
	}
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
		would := c.PreviewRemoveTokenEntries(in.Name)
		if in.Action == "rotate" {
			if would, err = c.PreviewUpdate(in.Name); err != nil {
				return nil, err
			}
		}
		out.Rewritten = append(out.Rewritten, would...)
		return reply(out)
	}
	if in.Action == "revoke" {
		if err := a.Tokens.Revoke(in.Name); err != nil {
			return nil, err
		}
		out.Rewritten = append(out.Rewritten, c.RemoveTokenEntries(ctx, in.Name)...)
		return reply(out)
	}
	token, err := a.Tokens.Rotate(in.Name)
	if err != nil {
		return nil, err
	}
	done, err := c.UpdateEntries(ctx, in.Name, "", a.tokenFor)
	if err != nil {
		return nil, err
	}
	if out.Rewritten = append(out.Rewritten, done...); len(done) == 0 {
		out.Token = token.Token
	}
	return reply(out)
}

// createToken creates the token of a client that has none: an existing token is never shown again.
func (a *API) createToken(name string, taken bool) (*answer[TokenChange], error) {
	if taken {
		return nil, core.Errorf(core.CodeConflict, "%q already has a token; rotate it instead", name)
	}
	token, err := a.Tokens.Create(name)
	if err != nil {
		return nil, err
	}
	return reply(TokenChange{Name: name, Rewritten: []clientconf.EntryUpdate{}, Token: token.Token})
}

func (a *API) tokenFor(client string) (string, error) {
	t, err := a.Tokens.Create(client)
	return t.Token, err
}
