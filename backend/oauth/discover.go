package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge holds the WWW-Authenticate parameters of a refused request.
type challenge struct {
	metadata  string   // URL of the protected resource metadata, "" if absent
	scopes    []string // scopes that the request requires
	errorCode string   // error code
}

// parseChallenge parses the WWW-Authenticate headers. Malformed headers count as absent: discovery
// then uses the well-known URLs.
func parseChallenge(h http.Header) (c challenge) {
	list, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range list {
		if one.Scheme != "bearer" && one.Scheme != "dpop" {
			continue
		}
		if c.metadata == "" && len(one.Params["resource_metadata"]) <= 4096 {
			c.metadata = one.Params["resource_metadata"]
		}
		if c.errorCode == "" {
			c.errorCode = one.Params["error"]
		}
		if c.scopes == nil {
			c.scopes = parseScopes(one.Params["scope"])
		}
	}
	return c
}

// maxScopes limits how many scopes of an untrusted response are requested.
const maxScopes = 100

// parseScopes splits a scope parameter. It drops invalid and repeated scopes.
func parseScopes(text string) (list []string) {
	for _, s := range strings.Fields(text) {
		if validScope(s) && !slices.Contains(list, s) && len(list) < maxScopes {
			list = append(list, s)
		}
	}
	return list
}

func validScope(s string) bool {
	if s == "" || len(s) > 512 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// authTarget describes where to sign in to a server.
type authTarget struct {
	metadata string // URL of the protected resource metadata, "" if there is none
	resource string // resource parameter (RFC 8707), exactly as the server wrote it
	scopes   []string
	server   oauthex.AuthServerMeta
}

// discover locates the authorization server of a server. wanted is the issuer that the
// configuration requires, or "" for the first one that the server names.
func (g *guard) discover(ctx context.Context, server *url.URL, c challenge, wanted string) (*authTarget, error) {
	g.determineZone(ctx)
	p := &authTarget{}
	prm, err := g.fetchResourceMetadata(ctx, server, c.metadata, p)
	if err != nil {
		return nil, err
	}
	if prm == nil {
		return p, g.discoverLegacy(ctx, server, p)
	}
	issuer, err := chooseIssuer(prm.AuthorizationServers, wanted)
	if err != nil {
		return nil, err
	}
	p.resource, p.scopes = prm.Resource, parseScopes(strings.Join(prm.ScopesSupported, " "))
	meta, err := g.fetchServerMetadata(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("its authorization server %s: %w", sanitize(issuer, 200), err)
	}
	if meta == nil {
		return nil, fmt.Errorf("its authorization server %s publishes no metadata", sanitize(issuer, 200))
	}
	p.server = *meta
	return p, nil
}

func chooseIssuer(list []string, wanted string) (string, error) {
	switch {
	case len(list) == 0:
		return "", errors.New("its metadata lists no authorization server")
	case wanted == "":
		return list[0], nil
	}
	for _, one := range list[:min(len(list), 50)] {
		if sameIssuer(one, wanted) {
			return one, nil
		}
	}
	return "", errors.New("its metadata does not list the issuer that is set in oauth.issuer")
}

// sameIssuer compares issuers as strings, except for a trailing slash, which many documents omit.
func sameIssuer(a, b string) bool {
	return a == b || strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// fetchResourceMetadata fetches the protected resource metadata (RFC 9728): from challengeURL, the
// URL in the challenge, otherwise from the well-known URL with the server's path, otherwise from
// the one without. It returns nil if there is none.
func (g *guard) fetchResourceMetadata(ctx context.Context, server *url.URL, challengeURL string, p *authTarget) (*oauthex.ProtectedResourceMetadata, error) {
	const known = "/.well-known/oauth-protected-resource"
	root := url.URL{Scheme: server.Scheme, Host: server.Host, Path: known}
	deep := root
	deep.Path = known + "/" + strings.TrimLeft(server.Path, "/")
	addresses := []string{}
	if challengeURL != "" {
		addresses = append(addresses, challengeURL)
	}
	if strings.Trim(server.Path, "/") != "" {
		addresses = append(addresses, deep.String())
	}
	addresses = append(addresses, root.String())
	for _, address := range addresses {
		body, ok, err := g.fetchJSON(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("cannot read its metadata: %w", err)
		}
		prm := &oauthex.ProtectedResourceMetadata{}
		if !ok || json.Unmarshal(body, prm) != nil || prm.Resource == "" && len(prm.AuthorizationServers) == 0 {
			continue
		}
		if !covers(prm.Resource, server) {
			return nil, fmt.Errorf("its metadata describes another server, %s", sanitize(prm.Resource, 200))
		}
		p.metadata = address
		return prm, nil
	}
	return nil, nil
}

// covers reports whether resource is the server's URL or a parent path of it at the same origin.
// Metadata of another resource would make us request a token for that resource.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) || r.Fragment != "" || r.User != nil || r.RawQuery != "" && r.RawQuery != server.RawQuery {
		return false
	}
	above := strings.TrimSuffix(r.EscapedPath(), "/")
	return above == "" || server.EscapedPath() == above || strings.HasPrefix(server.EscapedPath(), above+"/")
}

// fetchServerMetadata fetches the metadata of an authorization server: OAuth metadata (RFC 8414),
// then OpenID Connect Discovery, with the issuer's path in each position that servers use. It
// returns nil if there is none.
func (g *guard) fetchServerMetadata(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	base, err := g.parseURL("the issuer", issuer)
	if err != nil {
		return nil, err
	}
	if base.RawQuery != "" {
		return nil, errors.New("its URL has a query")
	}
	path := strings.Trim(base.EscapedPath(), "/")
	paths := []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}
	if path != "" {
		paths = []string{paths[0] + "/" + path, paths[1] + "/" + path, "/" + path + paths[1]}
	}
	for _, at := range paths {
		body, ok, err := g.fetchJSON(ctx, base.Scheme+"://"+base.Host+at)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		meta := &oauthex.AuthServerMeta{}
		if err := json.Unmarshal(body, meta); err != nil {
			return nil, errors.New("its metadata is not valid JSON")
		}
		return meta, g.validateMetadata(meta, issuer)
	}
	return nil, nil
}

// validateMetadata validates the metadata fields that the sign-in uses.
func (g *guard) validateMetadata(m *oauthex.AuthServerMeta, issuer string) error {
	switch {
	case !sameIssuer(m.Issuer, issuer):
		return fmt.Errorf("its metadata is for another issuer, %s", sanitize(m.Issuer, 200))
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return errors.New("its metadata does not list support for PKCE with S256")
	case m.AuthorizationEndpoint == "" || m.TokenEndpoint == "":
		return errors.New("the authorization or token endpoint is missing from its metadata")
	}
	for what, address := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint, "token_endpoint": m.TokenEndpoint,
		"registration_endpoint": m.RegistrationEndpoint, "revocation_endpoint": m.RevocationEndpoint,
	} {
		if address == "" {
			continue
		}
		if _, err := g.parseURL(what, address); err != nil {
			return err
		}
	}
	return nil
}

// discoverLegacy handles servers of revision 2025-03-26, which are their own authorization servers.
// They need not publish metadata; the default endpoints of that revision then apply.
func (g *guard) discoverLegacy(ctx context.Context, server *url.URL, p *authTarget) error {
	origin := server.Scheme + "://" + server.Host
	p.resource = origin + server.EscapedPath()
	meta, err := g.fetchServerMetadata(ctx, origin)
	if err != nil {
		return fmt.Errorf("its authorization server: %w", err)
	}
	if meta != nil {
		p.server = *meta
		return nil
	}
	p.server = oauthex.AuthServerMeta{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token", RegistrationEndpoint: origin + "/register",
	}
	return g.validateMetadata(&oauthex.AuthServerMeta{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token", CodeChallengeMethodsSupported: []string{"S256"},
	}, origin)
}

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
