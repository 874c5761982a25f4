package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// callback is the path of the redirect URI.
const callback = "/callback"

func redirectTo(port int) string { return fmt.Sprintf("http://127.0.0.1:%d%s", port, callback) }

// register chooses the client for the sign-in: the client ID metadata document if the authorization
// server supports it, otherwise the client from the configuration, otherwise a dynamically
// registered one (RFC 7591). It also opens the callback listener, because its port is part of the
// registered redirect URI.
func (a *account) register(ctx context.Context, s Server, l *login) (net.Listener, error) {
	meta := &l.place.server
	var err error
	switch {
	case s.ClientDocument != "" && meta.ClientIDMetadataDocumentSupported:
		l.client = client{ID: s.ClientDocument, Method: authNone, Source: fromDocument}
	case s.ClientID != "":
		l.client = client{ID: s.ClientID, Secret: s.ClientSecret, Method: methodFor(meta, s.ClientSecret != ""), Source: fromConfig}
	case meta.RegistrationEndpoint == "":
		return nil, errors.New("its authorization server wants to know us beforehand: register a client there and set oauth.clientId")
	default:
		return a.dynamic(ctx, s, l)
	}
	listener, port, err := listen(ctx, s.Port)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the answer: %w", err)
	}
	l.port, l.redirect = port, redirectTo(port)
	return listener, nil
}

// dynamic reuses the stored registration at the issuer or registers a new client. Every issuer has
// its own registration, so that no issuer sees the client id or secret of another.
func (a *account) dynamic(ctx context.Context, s Server, l *login) (net.Listener, error) {
	meta := &l.place.server
	known, err := a.k.registered(ctx, meta.Issuer)
	if err != nil {
		return nil, err
	}
	if known != nil && (s.Port == 0 || s.Port == known.Port) {
		// The redirect URI is part of the registration. If another program uses its port by now, a
		// new registration is needed.
		if listener, port, err := listen(ctx, known.Port); err == nil {
			l.client, l.until, l.port, l.redirect = known.Client, known.Expires, port, redirectTo(port)
			return listener, nil
		}
	}
	listener, port, err := listen(ctx, s.Port)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the answer: %w", err)
	}
	l.port, l.redirect = port, redirectTo(port)
	if l.client, l.until, err = a.registerAt(ctx, meta, l.redirect); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

func (a *account) registerAt(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string) (c client, until time.Time, err error) {
	if _, err := a.guard.check("registration_endpoint", meta.RegistrationEndpoint); err != nil {
		return client{}, until, err
	}
	wanted := methodFor(meta, false)
	got, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Drawbridge", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: wanted,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, ApplicationType: "native",
	}, a.guard.http)
	if err != nil {
		err = unwrapped(err)
		if strings.HasPrefix(err.Error(), "failed to decode successful") {
			err = errors.New("its answer cannot be read") // the response may contain a secret
		}
		return client{}, until, fmt.Errorf("its authorization server does not register us: %w", err)
	}
	c = client{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod, Source: fromRegistration}
	switch c.Method {
	case authNone, authBasic, authPost:
	case "":
		if c.Method = wanted; c.Secret != "" && wanted == authNone && !slices.Contains(meta.TokenEndpointAuthMethodsSupported, authNone) {
			c.Method = authBasic // default of RFC 7591, section 2
		}
	default:
		return client{}, until, fmt.Errorf("its authorization server wants us to prove ourselves by %s, which is not known here", cut(c.Method, 60))
	}
	if c.Method != authNone && c.Secret == "" {
		c.Method = authNone
	}
	if len(c.ID) > 2048 || len(c.Secret) > maxToken {
		return client{}, until, errors.New("its authorization server gives us a name that is too long")
	}
	a.k.remember(c.Secret)
	return c, got.ClientSecretExpiresAt, nil
}

// methodFor selects the client authentication method. A program on the user's machine is a public
// client (RFC 6749, section 2.1), so "none" is preferred unless the user configured a client
// secret.
func methodFor(meta *oauthex.AuthServerMeta, secret bool) string {
	supported := meta.TokenEndpointAuthMethodsSupported
	order := []string{authNone, authBasic, authPost}
	if secret {
		order = []string{authBasic, authPost}
	}
	for _, m := range order {
		if len(supported) == 0 || slices.Contains(supported, m) {
			return m
		}
	}
	if secret {
		return authBasic
	}
	return authNone
}

// proven stores a registration after a successful sign-in. A registration without one is not
// reused: the authorization server may have forgotten it, and would report that only to the user in
// the browser.
func (k *Keeper) proven(ctx context.Context, l *login) {
	err := k.put(ctx, nameOfClient(l.place.server.Issuer), &registration{Issuer: l.place.server.Issuer, Client: l.client, Port: l.port, Expires: l.until, Proven: true})
	if err != nil {
		k.o.Log.Warn("Cannot keep a registration", "issuer", l.place.server.Issuer, "error", err)
	}
}

// unproven deletes a dynamic registration whose sign-in failed.
func (k *Keeper) unproven(l *login) {
	if l.client.Source != fromRegistration {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, vaultLimit)
	defer cancel()
	if _, err := k.o.Vault.Remove(ctx, nameOfClient(l.place.server.Issuer)); err != nil {
		k.o.Log.Warn("Cannot forget a registration", "issuer", l.place.server.Issuer, "error", err)
	}
}

// vaultLimit is the timeout of vault operations in the background.
const vaultLimit = 10 * time.Second
