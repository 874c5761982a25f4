package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"

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

func (a *API) registerClientImports(doc huma.API) {
	op(a, doc, "POST", "/api/v1/connections/{key}/import/plan", "Preview the import of a client's servers; nothing is written", a.planImport)
	op(a, doc, "POST", "/api/v1/connections/{key}/import", "Import a client's servers into the configuration", a.importServers)
	op(a, doc, "GET", "/api/v1/imports", "Imports that can be undone, newest first", a.listImports)
	op(a, doc, "POST", "/api/v1/imports/{id}/undo", "Undo an import", a.undoImport)
	op(a, doc, "GET", "/api/v1/connections/{key}/snippet", "Instructions for connecting a client manually", a.manualSetup)
	op(a, doc, "GET", "/api/v1/connections/{key}/bundle", "Extension that connects a client without changing its configuration file", a.bundle)
	op(a, doc, "POST", "/api/v1/tokens/{name}/{action}", "Create, rotate or revoke a client's token; the client's entries that use a URL are updated", a.changeToken)
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
		return nil, conflictError()
	}
	if p.ID, err = t.Apply(ctx); err != nil {
		return nil, err
	}
	return reply(*p)
}

func (a *API) listImports(context.Context, *none) (*answer[List[clientconf.CompletedImport]], error) {
	all, err := a.Connector.Imports()
	if err != nil {
		return nil, err
	}
	out := List[clientconf.CompletedImport]{Items: []clientconf.CompletedImport{}}
	for _, t := range all {
		out.Items = append(out.Items, t.CompletedImport)
	}
	return reply(out)
}

func (a *API) undoImport(ctx context.Context, in *importIDInput) (*answer[Undone], error) {
	how, err := a.Connector.UndoImport(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return reply(Undone{Key: in.ID, Result: string(how)})
}
