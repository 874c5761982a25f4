package secret

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the secrets of the configuration, as the API shows them.
type Feature struct {
	Store   *Store
	Config  func() *config.Config
	Servers interface {
		Status(id string) (core.ServerStatus, bool)
		Restart(ctx context.Context, id string) error
	}
	Log *slog.Logger
}

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

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/secrets", "Names of the secrets and state of the secret store; never values", f.listSecrets)
	web.Op(r, "PUT", "/api/v1/secrets/{name}", "Store a secret; servers that use it restart", f.putSecret)
	web.Op(r, "DELETE", "/api/v1/secrets/{name}", "Remove a secret", f.deleteSecret)
	web.Op(r, "POST", "/api/v1/secrets/unlock", "Unlock the keyring, which may open a system prompt", f.unlockSecrets)
}

func (f *Feature) listSecrets(ctx context.Context, _ *web.None) (*web.Answer[Secrets], error) {
	st := f.Store.Status(ctx)
	out := Secrets{Items: []Secret{}, Missing: []string{}, Home: string(st.Home), Locked: st.Locked, Notice: st.Notice}
	used := config.ReferencedSecrets(f.Config())
	if !st.Locked {
		all, err := f.Store.List(ctx)
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
	return web.Reply(out)
}

func (f *Feature) putSecret(ctx context.Context, in *secretInput) (*web.None, error) {
	// Pasted text often ends with a line break, which no token contains.
	if err := f.Store.Set(ctx, in.Name, strings.TrimRight(in.Body.Value, "\r\n")); err != nil {
		return nil, err
	}
	f.restartServers(ctx, config.ReferencedSecrets(f.Config())[in.Name])
	return &web.None{}, nil
}

// restartServers restarts servers that use a new secret. A failed start is in the state of the
// server.
func (f *Feature) restartServers(ctx context.Context, ids []string) {
	for _, id := range ids {
		if st, ok := f.Servers.Status(id); ok && st.State != core.StateDisabled && st.State != core.StateStopped && st.State != core.StatePaused {
			if err := f.Servers.Restart(ctx, id); err != nil {
				f.Log.Warn("Cannot restart a server after its secret changed", "server", id, "error", err)
			}
		}
	}
}

func (f *Feature) deleteSecret(ctx context.Context, in *secretNameInput) (*web.None, error) {
	ok, err := f.Store.Remove(ctx, in.Name)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "there is no secret named %q", in.Name)
	}
	return &web.None{}, err
}

func (f *Feature) unlockSecrets(ctx context.Context, _ *web.None) (*web.Answer[Secrets], error) {
	if err := f.Store.Unlock(ctx); err != nil {
		return nil, err
	}
	return f.listSecrets(ctx, nil)
}
