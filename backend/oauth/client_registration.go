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

// clientIdentity is our OAuth client at one authorization server.
type clientIdentity struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Method string `json:"method"` // authentication method at the token endpoint
	Source string `json:"source"` // one of the sources below
}

// Sources of a client.
const (
	sourceDocument     = "document"     // client ID metadata document; the id is its URL
	sourceConfig       = "config"       // registered by the user
	sourceRegistration = "registration" // dynamic client registration
)

// Client authentication methods (RFC 7591, section 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// callbackPath is the path of the redirect URI.
const callbackPath = "/callback"

func redirectURI(port int) string { return fmt.Sprintf("http://127.0.0.1:%d%s", port, callbackPath) }

// chooseClient chooses the client for the sign-in: the client ID metadata document if the
// authorization server supports it, otherwise the client from the configuration, otherwise a
// dynamically registered one (RFC 7591). It also opens the callback listener, because its port is
// part of the registered redirect URI.
func (a *account) chooseClient(ctx context.Context, s Server, l *login) (net.Listener, error) {
	meta := &l.target.server
	var err error
	switch {
	case s.ClientDocument != "" && meta.ClientIDMetadataDocumentSupported:
		l.client = clientIdentity{ID: s.ClientDocument, Method: authNone, Source: sourceDocument}
	case s.ClientID != "":
		l.client = clientIdentity{ID: s.ClientID, Secret: s.ClientSecret, Method: authMethod(meta, s.ClientSecret != ""), Source: sourceConfig}
	case meta.RegistrationEndpoint == "":
		return nil, errors.New("its authorization server requires a registered client: register one there and set oauth.clientId")
	default:
		return a.dynamicClient(ctx, s, l)
	}
	listener, port, err := listenCallback(ctx, s.Port)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the callback: %w", err)
	}
	l.port, l.redirectURI = port, redirectURI(port)
	return listener, nil
}

// dynamicClient reuses the stored registration at the issuer or registers a new client. Every
// issuer has its own registration, so that no issuer sees the client id or secret of another.
func (a *account) dynamicClient(ctx context.Context, s Server, l *login) (net.Listener, error) {
	meta := &l.target.server
	known, err := a.keeper.loadRegistration(ctx, meta.Issuer)
	if err != nil {
		return nil, err
	}
	if known != nil && (s.Port == 0 || s.Port == known.Port) {
		// The redirect URI is part of the registration. If another program uses its port by now, a
		// new registration is needed.
		if listener, port, err := listenCallback(ctx, known.Port); err == nil {
			l.client, l.clientExpires, l.port, l.redirectURI = known.Client, known.Expires, port, redirectURI(port)
			return listener, nil
		}
	}
	listener, port, err := listenCallback(ctx, s.Port)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the callback: %w", err)
	}
	l.port, l.redirectURI = port, redirectURI(port)
	if l.client, l.clientExpires, err = a.registerClient(ctx, meta, l.redirectURI); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

func (a *account) registerClient(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string) (c clientIdentity, until time.Time, err error) {
	if _, err := a.guard.parseURL("registration_endpoint", meta.RegistrationEndpoint); err != nil {
		return clientIdentity{}, until, err
	}
	wanted := authMethod(meta, false)
	got, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Drawbridge", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: wanted,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, ApplicationType: "native",
	}, a.guard.client)
	if err != nil {
		err = stripURL(err)
		if strings.HasPrefix(err.Error(), "failed to decode successful") {
			err = errors.New("its response is not valid") // the response may contain a secret
		}
		return clientIdentity{}, until, fmt.Errorf("cannot register a client at its authorization server: %w", err)
	}
	c = clientIdentity{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod, Source: sourceRegistration}
	switch c.Method {
	case authNone, authBasic, authPost:
	case "":
		if c.Method = wanted; c.Secret != "" && wanted == authNone && !slices.Contains(meta.TokenEndpointAuthMethodsSupported, authNone) {
			c.Method = authBasic // default of RFC 7591, section 2
		}
	default:
		return clientIdentity{}, until, fmt.Errorf("its authorization server requires the client authentication method %s, which is not supported", sanitize(c.Method, 60))
	}
	if c.Method != authNone && c.Secret == "" {
		c.Method = authNone
	}
	if len(c.ID) > 2048 || len(c.Secret) > maxToken {
		return clientIdentity{}, until, errors.New("its authorization server issued a client id or secret that is too long")
	}
	a.keeper.addKnownSecrets(c.Secret)
	return c, got.ClientSecretExpiresAt, nil
}

// authMethod selects the client authentication method. A program on the user's machine is a public
// client (RFC 6749, section 2.1), so "none" is preferred unless the user configured a client
// secret.
func authMethod(meta *oauthex.AuthServerMeta, secret bool) string {
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

// saveRegistration stores a registration after a successful sign-in. A registration without one is
// not reused: the authorization server may have forgotten it, and would report that only to the
// user in the browser.
func (k *Keeper) saveRegistration(ctx context.Context, l *login) {
	err := k.saveJSON(ctx, registrationName(l.target.server.Issuer), &registration{Issuer: l.target.server.Issuer, Client: l.client, Port: l.port, Expires: l.clientExpires, Proven: true})
	if err != nil {
		k.opts.Log.Warn("Cannot store a client registration", "issuer", l.target.server.Issuer, "error", err)
	}
}

// deleteRegistration deletes a dynamic registration whose sign-in failed.
func (k *Keeper) deleteRegistration(l *login) {
	if l.client.Source != sourceRegistration {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, vaultTimeout)
	defer cancel()
	if _, err := k.opts.Vault.Remove(ctx, registrationName(l.target.server.Issuer)); err != nil {
		k.opts.Log.Warn("Cannot delete a client registration", "issuer", l.target.server.Issuer, "error", err)
	}
}

// vaultTimeout is the timeout of vault operations in the background.
const vaultTimeout = 10 * time.Second
