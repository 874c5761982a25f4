package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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

func (a *API) changeToken(ctx context.Context, in *tokenInput) (*answer[TokenChange], error) {
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
		return reply(out)
	}
	if in.Action == "revoke" {
		if err := a.Tokens.Revoke(in.Name); err != nil {
			return nil, err
		}
		out.Rewritten = append(out.Rewritten, a.Connector.RemoveTokenEntries(ctx, in.Name)...)
		return reply(out)
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
