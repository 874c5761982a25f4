package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// SignIn authorizes requests to remote servers.
type SignIn interface {
	// Client returns the HTTP client for requests to a server at address. clientSecret is the
	// expanded value from its configuration. An error with core.CodeUnavailable makes the server
	// wait.
	Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error)
	// Await blocks until the user has completed the sign-in with the id, or ctx is done.
	Await(ctx context.Context, id string) error
}

// signIn returns the HTTP client for a remote server. It returns nil, for a default client, if
// the configuration contains the server's credentials or turns sign-in off.
func (d *Dialer) signIn(ctx context.Context, c *config.Server, at *Remote, env environment) (*http.Client, error) {
	if d.SignIn == nil || c.OAuth.Off || at.Header.Get("Authorization") != "" {
		return nil, nil
	}
	secret, err := env.expand("oauth.clientSecret", c.OAuth.ClientSecret)
	if err != nil {
		return nil, err
	}
	own, err := d.SignIn.Client(ctx, c, at.URL, secret)
	if core.CodeOf(err) == core.CodeUnavailable {
		return nil, fmt.Errorf("%w: %w", ErrDependencyMissing, err) // the tokens exist, so the server waits for the keyring
	}
	return own, err
}

// asMissingLogin turns the error of a server that asks for a sign-in into a MissingDependency, so
// that the server waits for the user.
func (d *Dialer) asMissingLogin(id string, err error) error {
	if d.SignIn == nil || !errors.Is(err, core.ErrNeedsLogin) {
		return err
	}
	return &MissingDependency{Cause: fmt.Errorf("%w: %w", ErrDependencyMissing, err), Wait: func(ctx context.Context) error { return d.SignIn.Await(ctx, id) }}
}
