package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/danielgtaylor/huma/v2"
)

// Secret is one secret by its name; its value is never sent.
type Secret struct {
	Name      string    `json:"name"`
	ChangedAt time.Time `json:"changedAt"`
	Servers   []string  `json:"servers" doc:"Ids of the servers whose configuration refers to it"`
}

// Secrets lists the secrets and the state of their store.
type Secrets struct {
	Items   []Secret `json:"items" nullable:"false"`
	Home    string   `json:"home" doc:"Where the encryption key is: keyring or file; empty while nothing is stored"`
	Locked  bool     `json:"locked" doc:"Whether the keyring is locked: items is empty, and servers that need a secret wait"`
	Notice  string   `json:"notice" doc:"Problem with the storage of secrets; empty if there is none"`
	Missing []string `json:"missing" nullable:"false" doc:"Names that servers refer to and that are not stored; empty while locked"`
}

type secretNameInput struct {
	Name string `path:"name" maxLength:"200"`
}

type secretInput struct {
	Name string `path:"name" maxLength:"200"`
	Body struct {
		Value string `json:"value" minLength:"1" maxLength:"65536"`
	}
}

func (a *API) registerSecrets(doc huma.API) {
	op(a, doc, "GET", "/api/v1/secrets", "Names of the secrets and state of the secret store; never values", a.listSecrets)
	op(a, doc, "PUT", "/api/v1/secrets/{name}", "Store a secret; servers that use it restart", a.putSecret)
	op(a, doc, "DELETE", "/api/v1/secrets/{name}", "Remove a secret", a.deleteSecret)
	op(a, doc, "POST", "/api/v1/secrets/unlock", "Unlock the keyring, which may open a system prompt", a.unlockSecrets)
}

func (a *API) listSecrets(ctx context.Context, _ *none) (*answer[Secrets], error) {
	st := a.Secrets.Status(ctx)
	out := Secrets{Items: []Secret{}, Missing: []string{}, Home: string(st.Home), Locked: st.Locked, Notice: st.Notice}
	used := config.ReferencedSecrets(a.ConfigEditor.Current())
	if !st.Locked {
		all, err := a.Secrets.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			out.Items = append(out.Items, Secret{e.Name, e.ChangedAt, append([]string{}, used[e.Name]...)})
			delete(used, e.Name)
		}
		for name := range used {
			out.Missing = append(out.Missing, name)
		}
		slices.Sort(out.Missing)
	}
	return reply(out)
}

func (a *API) putSecret(ctx context.Context, in *secretInput) (*none, error) {
	// Pasted text often ends with a line break, which no token contains.
	if err := a.Secrets.Set(ctx, in.Name, strings.TrimRight(in.Body.Value, "\r\n")); err != nil {
		return nil, err
	}
	a.restartServers(ctx, config.ReferencedSecrets(a.ConfigEditor.Current())[in.Name])
	return &none{}, nil
}

// restartServers restarts servers that use a new secret. A failed start is in the state of the
// server.
func (a *API) restartServers(ctx context.Context, ids []string) {
	for _, id := range ids {
		if st, ok := a.Servers.Status(id); ok && st.State != core.StateDisabled && st.State != core.StateStopped && st.State != core.StatePaused {
			if err := a.Servers.Restart(ctx, id); err != nil {
				a.Log.Warn("Cannot restart a server after its secret changed", "server", id, "error", err)
			}
		}
	}
}

func (a *API) deleteSecret(ctx context.Context, in *secretNameInput) (*none, error) {
	ok, err := a.Secrets.Remove(ctx, in.Name)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "there is no secret named %q", in.Name)
	}
	return &none{}, err
}

func (a *API) unlockSecrets(ctx context.Context, _ *none) (*answer[Secrets], error) {
	if err := a.Secrets.Unlock(ctx); err != nil {
		return nil, err
	}
	return a.listSecrets(ctx, nil)
}
