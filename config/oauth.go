package config

import (
	"net/url"
	"strings"
)

// OAuth configures signing in to an http or sse server. The zero value discovers everything
// when the server requires it.
type OAuth struct {
	Off bool `json:",omitempty"` // a 401 of the server is an error, not a request to sign in
	// ClientID and ClientSecret are of a client that the user registered with the
	// authorization server. The secret is as written: ${secret:NAME} is expanded at use.
	ClientID     string `json:",omitempty"`
	ClientSecret string `json:",omitempty"`
	// ClientMetadataURL is the https address of a document that describes the client.
	ClientMetadataURL string   `json:",omitempty"`
	Scopes            []string `json:",omitempty"` // to request instead of those that the server names
	Issuer            string   `json:",omitempty"` // which of the authorization servers that the server names
	CallbackPort      int      `json:",omitempty"` // port of the redirect URI on this machine; 0 is any
}

// oauthFields are the keys of the section "oauth". The key scope is scopes in one string.
func oauthFields(o *OAuth, scope *string) []field {
	return []field{
		str("clientId", &o.ClientID, validateNotBlank),
		str("clientSecret", &o.ClientSecret, validateNotBlank),
		str("clientMetadataUrl", &o.ClientMetadataURL, validateDocumentURL),
		list("scopes", &o.Scopes),
		str("scope", scope),
		str("issuer", &o.Issuer, validateHTTPURL),
		count("callbackPort", &o.CallbackPort, 0, 65535),
		booleanSetter("enabled", func(on bool) { o.Off = !on }),
	}
}

func oauthField(o *OAuth) field {
	var scope string
	section := section("oauth", oauthFields(o, &scope)...)
	return field{"oauth", func(r *reader, name string, at Position, n *node) {
		section.read(r, name, at, n)
		if len(o.Scopes) == 0 {
			o.Scopes = strings.Fields(scope)
		}
		if o.ClientSecret != "" && o.ClientID == "" {
			r.report(n.at, "oauth.clientSecret", false, "set the 'clientId' that it belongs to", "'clientSecret' without 'clientId'%s", r.inServer())
		}
	}}
}

func validateDocumentURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || len(u.Path) < 2 || u.User != nil || u.Fragment != "" {
		return "must be an https URL with a path"
	}
	return ""
}
