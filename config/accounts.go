package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// DefaultAccount is the account whose credentials are the server's own env, headers and sign-in.
const DefaultAccount = core.DefaultAccount

// maxAccounts is the maximum number of accounts of a server, besides DefaultAccount.
const maxAccounts = 64

// Account is one of several sets of credentials of a server. It inherits neither env nor headers,
// so that a mistyped name can never lead to the credentials of another account.
type Account struct {
	Env     map[string]string
	Headers map[string]string
	OAuth   OAuth // that of the server if the account has none of its own
	// Folders are absolute paths: calls of clients that work in or below one of them use the
	// account, unless their client or profile sets another one.
	Folders []string

	ownOAuth bool
}

func accountsField(to *map[string]Account, keys map[string]Position) field {
	return objects("accounts", func(r *reader, m member) {
		switch {
		case m.name == DefaultAccount:
			r.report(m.at, "", false, "choose another name", "'%s' is reserved for the account that uses the server's own env, headers and sign-in%s", DefaultAccount, r.inServer())
			return
		case !core.ValidServerID(m.name):
			r.report(m.at, "", false, "use letters, digits, '-' and '_'", "'%s' is not a valid account name%s", m.name, r.inServer())
			return
		case len(*to) >= maxAccounts:
			r.errorf(m.at, "", "more than %d accounts%s", maxAccounts, r.inServer())
			return
		}
		var a Account
		own := make(map[string]Position)
		r.object(m.value, accountFields(&a, own))
		a.ownOAuth = m.value.get("oauth") != nil
		prefix := "accounts." + m.name
		keys[prefix] = m.at
		for name, at := range own {
			keys[join(prefix, name)] = at
		}
		if *to == nil {
			*to = map[string]Account{}
		}
		(*to)[m.name] = a
	})
}

func accountFields(a *Account, keys map[string]Position) []field {
	return []field{
		stringMap("env", &a.Env, keys),
		stringMap("headers", &a.Headers, keys),
		oauthField(&a.OAuth),
		absolutePaths("folders", &a.Folders),
	}
}

// accounts checks the accounts of e and completes them.
func (r *reader) accounts(e *entry) {
	if len(e.Accounts) == 0 {
		return
	}
	at := e.keys["accounts"]
	switch {
	case e.Type == core.Replay:
		r.report(at, "accounts", true, "remove it", "'accounts' has no effect for replay server '%s'", e.Label)
		e.Accounts = nil
		return
	case e.URL != "" && e.Command != "":
		r.report(at, "accounts", false, "configure one server for each account", "'accounts'%s cannot be combined with both 'command' and 'url': a single program serves the url", r.inServer())
		return
	}
	remote := e.Type == core.HTTP || e.Type == core.SSE
	folders := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.Accounts)) {
		a := e.Accounts[name]
		key := "accounts." + name
		useless := func(present bool, part string) {
			if present {
				r.report(e.keys[key], join(key, part), true, "remove it", "'%s' of account '%s' has no effect for %s server '%s'", part, name, e.Type, e.Label)
			}
		}
		if remote {
			useless(a.Env != nil, "env")
			a.Env = nil
			r.checkHeaders(e, key, a.Headers)
			r.missingNames(e, key, name, "headers", e.Headers, a.Headers)
		} else {
			useless(a.Headers != nil, "headers")
			useless(a.ownOAuth, "oauth")
			a.Headers, a.OAuth = nil, OAuth{}
			r.checkEnv(e, key, a.Env)
			r.missingNames(e, key, name, "env", e.Env, a.Env)
		}
		if remote && !a.ownOAuth {
			a.OAuth = e.OAuth
		}
		a.ownOAuth = false
		for _, folder := range a.Folders {
			if other, taken := folders[folder]; taken {
				r.errorf(e.keys[key], join(key, "folders"), "accounts '%s' and '%s'%s have the same folder", other, name, r.inServer())
			}
			folders[folder] = name
		}
		e.Accounts[name] = a
	}
}

// missingNames warns about names of the server's own env or headers that an account does not set.
// An account that signs in by OAuth needs no Authorization header.
func (r *reader) missingNames(e *entry, key, account, part string, own, set map[string]string) {
	var missing []string
	for _, name := range sortedKeys(own) {
		has := func(other string) bool { return other == name || part == "headers" && strings.EqualFold(other, name) }
		if !slices.ContainsFunc(sortedKeys(set), has) && !strings.EqualFold(name, "Authorization") {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		r.report(e.keys[key], join(key, part), true, `set it for the account, or set it to "" to leave it empty`,
			"account '%s'%s does not set %s, which accounts do not inherit from the server", account, r.inServer(), strings.Join(missing, ", "))
	}
}

// checkEnv reports invalid names and values of environment variables below a key, which is "" for
// those of the server.
func (r *reader) checkEnv(e *entry, key string, env map[string]string) {
	for _, name := range sortedKeys(env) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env[name], "\x00") {
			key := join(key, "env")
			r.errorf(e.keys[key], key, "'%s' in server '%s' contains an invalid variable name or value", key, e.Label)
		}
	}
}

// checkHeaders reports invalid names and values of headers below a key.
func (r *reader) checkHeaders(e *entry, key string, headers map[string]string) {
	for _, name := range sortedKeys(headers) {
		if !isHeaderName(name) || strings.ContainsAny(headers[name], "\r\n") {
			at := join(join(key, "headers"), name)
			r.errorf(e.keys[at], at, "'%s' in server '%s' contains an invalid header name or value", join(key, "headers"), e.Label)
		}
	}
}

// WithAccount returns the server with the credentials of an account. ok is false if it has no such
// account.
func (s *Server) WithAccount(name string) (_ *Server, ok bool) {
	if name == "" || name == DefaultAccount {
		return s, true
	}
	a, ok := s.Accounts[name]
	if !ok {
		return nil, false
	}
	one := *s
	one.Account, one.Env, one.Headers, one.OAuth, one.Accounts = name, a.Env, a.Headers, a.OAuth, nil
	return &one, true
}

// SignInID identifies the sign-in of the server, or of its account, if WithAccount chose one. It
// is also what the user gives to: drawbridge login.
func (s *Server) SignInID() string {
	if s.Account == "" {
		return s.ID
	}
	return s.ID + "@" + s.Account
}

// AccountNames returns the names of all accounts, the default one first.
func (s *Server) AccountNames() []string {
	return append([]string{DefaultAccount}, slices.Sorted(maps.Keys(s.Accounts))...)
}

// SplitSignInID returns the server and the account of a sign-in; the account is "" for the server's
// own.
func SplitSignInID(id string) (server, account string) {
	server, account, _ = strings.Cut(id, "@")
	return server, account
}

// AccountOf returns the account that a client uses when it works in a folder under a profile; any
// of them may be "". It is "" if the server has no accounts. The client's choice has precedence
// over the profile's, and that over the longest folder of an account.
func (c *Config) AccountOf(s *Server, client, profile, folder string) string {
	if len(s.Accounts) == 0 {
		return ""
	}
	if name := c.Clients[client].Accounts[s.ID]; name != "" && client != "" {
		return name
	}
	if profile == "" && folder != "" {
		profile = c.ProfileOf(folder)
	}
	if p, ok := c.Profile(profile); ok && p.Accounts[s.ID] != "" {
		return p.Accounts[s.ID]
	}
	best, account := "", DefaultAccount
	if folder == "" || !slices.ContainsFunc(slices.Collect(maps.Values(s.Accounts)), func(a Account) bool { return len(a.Folders) > 0 }) {
		return account
	}
	folder = resolveFolder(folder)
	for name, a := range s.Accounts {
		for _, f := range a.Folders {
			if f = resolveFolder(f); len(f) > len(best) && Within(f, folder) {
				best, account = f, name
			}
		}
	}
	return account
}

// FolderDecides reports whether the folder of a client may decide which account of the server it
// uses.
func (c *Config) FolderDecides(s *Server) bool {
	for _, a := range s.Accounts {
		if len(a.Folders) > 0 {
			return true
		}
	}
	return len(s.Accounts) > 0 && slices.ContainsFunc(c.Profiles, func(p Profile) bool {
		return p.Accounts[s.ID] != "" && len(p.Folders) > 0
	})
}

// checkChosenAccounts checks the accounts that profiles and clients choose. at is the key of the
// choices. A choice that cannot be met must not lead to another account, so it is an error.
func (r *reader) checkChosenAccounts(c *Config, at string, chosen map[string]string) {
	report := func(id string, warning bool, suggestion, format string, args ...any) {
		r.problems = append(r.problems, Problem{File: lastOf(c.Files), Key: at + ".accounts." + id, Warning: warning,
			Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
	}
	var withAccounts []string
	for _, s := range c.Servers {
		if len(s.Accounts) > 0 {
			withAccounts = append(withAccounts, s.Label, s.ID)
		}
	}
	for _, id := range sortedKeys(chosen) {
		name := chosen[id]
		s, known := c.ServerNamed(id)
		if known && s.ID != id {
			if other, twice := chosen[s.ID]; twice && other != name {
				report(id, false, "remove one of the two", "'%s' sets two accounts for server '%s'", at, s.Label)
			}
			delete(chosen, id)
			chosen[s.ID] = name
		}
		switch near := Nearest(id, withAccounts); {
		case !known && near != "":
			report(id, false, fmt.Sprintf("did you mean '%s'?", near), "'%s' sets an account for server '%s', but that server is not configured", at, id)
		case !known:
			report(id, true, "", "'%s' sets an account for server '%s', but that server is not configured", at, id)
		case !slices.Contains(s.AccountNames(), name):
			suggestion := fmt.Sprintf("add it to the server's 'accounts', or choose one of: %s", strings.Join(s.AccountNames(), ", "))
			report(id, false, suggestion, "'%s' sets account '%s' for server '%s', but that server has no such account", at, name, s.Label)
		}
	}
}

// OAuth configures signing in to an http or sse server. The zero value discovers everything
// when the server requires it.
type OAuth struct {
	Off bool `json:",omitempty" key:"enabled,not"` // a 401 of the server is an error, not a request to sign in
	// ClientID and ClientSecret are of a client that the user registered with the
	// authorization server. The secret is as written: ${secret:NAME} is expanded at use.
	ClientID     string `json:",omitempty" key:"clientId"`
	ClientSecret string `json:",omitempty" key:"clientSecret"`
	// ClientMetadataURL is the https address of a document that describes the client.
	ClientMetadataURL string   `json:",omitempty" key:"clientMetadataUrl,document"`
	Scopes            []string `json:",omitempty" key:"scopes"`       // to request instead of those that the server names
	Issuer            string   `json:",omitempty" key:"issuer,http"`  // which of the authorization servers that the server names
	CallbackPort      int      `json:",omitempty" key:"callbackPort"` // port of the redirect URI on this machine; 0 is any
}

// oauthFields are the keys of the section "oauth". The key scope is scopes in one string.
func oauthFields(o *OAuth, scope *string) []field {
	return schemaTree().Defs["server"].Properties["oauth"].fields(o, str("scope", scope))
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
