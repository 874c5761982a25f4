package oauth

import (
	"context"
	"errors"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Logout deletes the tokens of a server. If the authorization server supports revocation (RFC
// 7009), they are also revoked there, in the background.
func (k *Keeper) Logout(ctx context.Context, id string) error {
	a, err := k.account(id)
	if err != nil {
		return err
	}
	a.cancelLogin(errors.New("you signed out of the server"))
	a.mu.Lock()
	rec := a.rec
	a.mu.Unlock()
	if _, err := k.opts.Vault.Remove(ctx, recordName(id)); err != nil {
		return err
	}
	a.mu.Lock()
	a.rec, a.missingScopes, a.lastFailure = nil, nil, ""
	a.stepUps = map[string]int{}
	notify := func() {}
	if rec != nil {
		a.lastChallenge = challenge{metadata: rec.Metadata}
		notify = a.setState(core.LoginNeeded, "you signed out")
	}
	s := a.server
	a.mu.Unlock()
	notify()
	if rec == nil {
		return core.Errorf(core.CodeNotFound, "you are not signed in to server %q", id)
	}
	a.base.CloseIdleConnections()
	k.work.Go(func() { k.revokeTokens(a.guard, rec, s) })
	return nil
}

// revokeTokens revokes the tokens of a record at their authorization server. If that fails, they stay
// valid until they expire.
func (k *Keeper) revokeTokens(g *guard, rec *record, s Server) {
	if rec.RevocationEndpoint == "" {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, refreshTimeout)
	defer cancel()
	c := rec.Client
	if c.Source == sourceConfig {
		c.Secret = s.ClientSecret
	}
	for _, one := range [][2]string{{"refresh_token", rec.Refresh}, {"access_token", rec.Access}} {
		if one[1] == "" {
			continue
		}
		resp, err := g.postForm(ctx, rec.RevocationEndpoint, c, url.Values{"token": {one[1]}, "token_type_hint": {one[0]}})
		if err != nil {
			k.opts.Log.Info("Cannot revoke a token", "server", s.ID, "error", err)
			return
		}
		drain(resp)
	}
}
