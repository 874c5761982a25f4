package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
