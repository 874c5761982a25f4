// Package profiles is the feature of profiles: named subsets of servers and tools that clients are
// limited to, what they cost, and which tools clients use.
package profiles

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Feature is the profiles and the settings of clients, as the API shows them.
type Feature struct {
	Config Editor
	Views  Views
	Store  Store
	Tokens *loopback.Tokens
	// Limits returns what is known of the client with a token.
	Limits func(token string) bridge.ClientLimits
	// Entries returns the servers that the entries of the client with a token point to: none if one entry
	// provides all.
	Entries func(token string) []string

	used atomic.Pointer[map[string]*bridge.UsedTools]
}

// Editor writes profiles, clients and hidden tools to the configuration; *config.Reloader implements
// it.
type Editor interface {
	Current() *config.Config
	SetProfile(ctx context.Context, name string, raw json.RawMessage, was string) error
	SetClient(ctx context.Context, token string, raw json.RawMessage) error
	HideTools(ctx context.Context, tools map[string][]string, hide bool) error
}

// Views returns what clients see; *registry.Registry implements it.
type Views interface {
	WithNameLimit(limit int) *registry.View
	Server(id string) (*registry.View, bool)
	Profile(name string, limit int) (*registry.View, bool)
	ProfileServer(name, server string) (*registry.View, bool)
	Draft(p config.Profile, server string, limit int) (*registry.View, bool)
}

// Profile is a named view over servers and tools.
type Profile struct {
	Name        string         `json:"name" doc:"Empty for the default view of everything at /mcp"`
	Description string         `json:"description"`
	Address     string         `json:"address"`
	ToolMode    string         `json:"toolMode" enum:"all,search,deferred,auto"`
	Folders     []string       `json:"folders" nullable:"false"`
	Clients     []string       `json:"clients" nullable:"false" doc:"Names of the access tokens that are assigned to it"`
	Pays        map[string]int `json:"pays" nullable:"false" doc:"Estimated context size of what each of these clients gets now, by token"`
	Servers     []string       `json:"servers" nullable:"false" doc:"Ids of the servers that it lists"`
	EveryServer bool           `json:"everyServer" doc:"Whether it lists no servers and therefore offers all"`
	Tools       int            `json:"tools"`
	Entry       web.JSON       `json:"entry" doc:"JSON object in the configuration"`
	ETag        string         `json:"etag" doc:"Changes when the object changes"`
	Tokens      ToolModeTokens `json:"tokens" doc:"Estimated context size of its tool list and instructions, by tool mode"`
}

// ClientSettings holds the settings of one client.
type ClientSettings struct {
	Token           string `json:"token"`
	Profile         string `json:"profile"`
	ToolMode        string `json:"toolMode"`
	MaxResultTokens int    `json:"maxResultTokens" doc:"results.maxTokens; 0: results are not truncated"`
	SingleCopy      bool   `json:"singleCopy" doc:"results.singleCopy: structuredContent that the text of a result repeats is removed"`

	Accounts map[string]string `json:"accounts" nullable:"false" doc:"The account of each server for which the client sets one, by server id"`
}

// Profiles lists all profiles, "everything" first, and the settings of clients.
type Profiles struct {
	Items    []Profile        `json:"items" nullable:"false"`
	Next     string           `json:"next"`
	Clients  []ClientSettings `json:"clients" nullable:"false"`
	Accounts []AccountUse     `json:"accounts" nullable:"false" doc:"The accounts of all servers that have several, default first"`
}

// AccountUse is an account of a server with the profiles and clients that are set to use it.
type AccountUse struct {
	Server   string   `json:"server" doc:"Id of the server"`
	Account  string   `json:"account"`
	Profiles []string `json:"profiles" nullable:"false"`
	Clients  []string `json:"clients" nullable:"false" doc:"Names of access tokens"`
}

type hideInput struct {
	Body struct {
		Tools []HiddenTool `json:"tools" minItems:"1" maxItems:"5000"`
		Hide  bool         `json:"hide" doc:"False shows them to clients again"`
	}
}

// HiddenTool is one tool by the name that the server uses.
type HiddenTool struct {
	Server string `json:"server" minLength:"1" maxLength:"64"`
	Tool   string `json:"tool" minLength:"1" maxLength:"1024"`
}

type deleteProfileInput struct {
	Name string `path:"name" maxLength:"32"`
	Was  string `header:"If-Match" maxLength:"64" doc:"ETag of the profile; empty to delete it unconditionally"`
}

type putProfileInput struct {
	Name string `path:"name" maxLength:"32"`
	Was  string `header:"If-Match" maxLength:"64" doc:"ETag of the profile that the edit is based on, or 'new'; empty to replace it unconditionally"`
	Body struct {
		Entry web.JSON `json:"entry" doc:"JSON object for the configuration"`
	}
}

type clientSettingsInput struct {
	Token string `path:"token" maxLength:"64"`
	Body  struct {
		Profile  *string `json:"profile,omitempty" maxLength:"32" doc:"Empty: no profile; if missing, unchanged"`
		ToolMode *string `json:"toolMode,omitempty" enum:",all,search,deferred,auto" doc:"Empty: the profile's tool mode; if missing, unchanged"`

		MaxResultTokens *int  `json:"maxResultTokens,omitempty" minimum:"0" maximum:"1000000" doc:"results.maxTokens; 0: no limit; if missing, unchanged"`
		SingleCopy      *bool `json:"singleCopy,omitempty" doc:"results.singleCopy; if missing, unchanged"`

		Accounts *map[string]string `json:"accounts,omitempty" doc:"The account of each server for which the client sets one, by server id; if missing, unchanged"`
	}
}

// Routes implements web.Feature.
func (f *Feature) Routes(r *web.Router) {
	web.Op(r, "GET", "/api/v1/profiles", "Profiles, the default view first, with their context cost and the clients assigned to them", f.listProfiles)
	web.Op(r, "POST", "/api/v1/profile-cost", "Context cost of a profile that is not saved, for no client and for those that use it", f.profileCost)
	web.Op(r, "GET", "/api/v1/client-views/{token}/costs", "Context cost of each profile for a client, no profile first", f.clientCosts)
	web.Op(r, "PUT", "/api/v1/profiles/{name}", "Add or replace a profile in the configuration", f.putProfile)
	web.Op(r, "DELETE", "/api/v1/profiles/{name}", "Remove a profile from the configuration; rejected while a client is assigned to it", f.deleteProfile)
	web.Op(r, "GET", "/api/v1/tools/hidden", "Tools that the configuration hides from all clients by their name", f.listHiddenTools)
	web.Op(r, "POST", "/api/v1/tools/hide", "Hide tools from all clients, or show them again, in one change to the configuration", f.hideTools)
	web.Op(r, "PUT", "/api/v1/client-views/{token}", "Set the profile, the accounts and the tool mode of a client", f.putClientSettings)
}

func (f *Feature) describeProfile(c *config.Config, p config.Profile) Profile {
	out := Profile{Name: p.Name, Description: p.Description, Address: "/p/" + p.Name + "/mcp", ToolMode: p.ToolMode, Folders: web.NonNil(p.Folders),
		Clients: []string{}, Pays: map[string]int{}, Servers: []string{}, EveryServer: p.Servers == nil, Entry: profileEntry(p), ETag: p.Tag()}
	if out.ToolMode == "" {
		out.ToolMode = config.ToolsAll
	}
	for id := range p.Servers {
		out.Servers = append(out.Servers, id)
	}
	slices.Sort(out.Servers)
	for token, client := range c.Clients {
		if client.Profile == p.Name {
			out.Clients = append(out.Clients, token)
			cost, mode, _ := f.ListCost(token, f.Entries(token), "")
			out.Pays[token] = cost.Tokens(mode)
		}
	}
	slices.Sort(out.Clients)
	return out
}

// accountUses lists the accounts of the servers that have several.
func accountUses(c *config.Config) []AccountUse {
	uses := []AccountUse{}
	for _, s := range c.Servers {
		if len(s.Accounts) == 0 {
			continue
		}
		for _, name := range s.AccountNames() {
			use := AccountUse{Server: s.ID, Account: name, Profiles: []string{}, Clients: []string{}}
			for _, p := range c.Profiles {
				if p.Accounts[s.ID] == name {
					use.Profiles = append(use.Profiles, p.Name)
				}
			}
			for token, client := range c.Clients {
				if client.Accounts[s.ID] == name {
					use.Clients = append(use.Clients, token)
				}
			}
			slices.Sort(use.Clients)
			uses = append(uses, use)
		}
	}
	return uses
}

func (f *Feature) listProfiles(context.Context, *web.None) (*web.Answer[Profiles], error) {
	c := f.Config.Current()
	out := Profiles{Clients: []ClientSettings{}, Accounts: accountUses(c)}
	everything := Profile{Address: "/mcp", ToolMode: config.ToolsAll, Folders: []string{}, Clients: []string{}, Pays: map[string]int{}, Servers: []string{}, EveryServer: true, Entry: web.JSON("{}")}
	out.Items = append(out.Items, f.costOf(everything, f.saved("", 0)))
	for _, p := range c.Profiles {
		out.Items = append(out.Items, f.costOf(f.describeProfile(c, p), f.saved(p.Name, 0)))
	}
	for token, client := range c.Clients {
		accounts := map[string]string{}
		maps.Copy(accounts, client.Accounts)
		out.Clients = append(out.Clients, ClientSettings{Token: token, Profile: client.Profile, ToolMode: client.ToolMode, MaxResultTokens: client.MaxResultTokens, SingleCopy: client.SingleCopy, Accounts: accounts})
	}
	slices.SortFunc(out.Clients, func(x, y ClientSettings) int { return cmp.Compare(x.Token, y.Token) })
	return web.Reply(out)
}

func (f *Feature) putProfile(ctx context.Context, in *putProfileInput) (*web.Answer[Profile], error) {
	entry, err := f.keepAccounts(in.Name, in.Body.Entry)
	if err != nil {
		return nil, err
	}
	if err := f.Config.SetProfile(ctx, in.Name, entry, in.Was); err != nil {
		return nil, err
	}
	c := f.Config.Current()
	p, ok := c.Profile(in.Name)
	if !ok {
		return nil, core.Errorf(core.CodeConflict, "the profile was saved, but is not active: check the configuration for errors")
	}
	return web.Reply(f.costOf(f.describeProfile(c, p), f.saved(in.Name, 0)))
}

func (f *Feature) deleteProfile(ctx context.Context, in *deleteProfileInput) (*web.None, error) {
	if p, ok := f.Config.Current().Profile(in.Name); ok {
		if bound := f.describeProfile(f.Config.Current(), p).Clients; len(bound) > 0 {
			return nil, &core.Error{Code: core.CodeConflict, Message: fmt.Sprintf("the client %q is assigned to this profile: assign it to another one first", bound[0]),
				Hint: "Assign it with: drawbridge profiles use " + bound[0] + " PROFILE, or to none without PROFILE."}
		}
	}
	return &web.None{}, f.Config.SetProfile(ctx, in.Name, nil, in.Was)
}

func (f *Feature) putClientSettings(ctx context.Context, in *clientSettingsInput) (*web.None, error) {
	was, entry := f.Config.Current().Clients[in.Token], map[string]any{}
	want := was
	if in.Body.Profile != nil {
		want.Profile = *in.Body.Profile
		if _, ok := f.Config.Current().Profile(want.Profile); !ok && want.Profile != "" {
			return nil, core.Errorf(core.CodeNotFound, "there is no profile named %q", want.Profile)
		}
	}
	if in.Body.ToolMode != nil {
		want.ToolMode = *in.Body.ToolMode
	}
	if want.Profile != "" {
		entry["profile"] = want.Profile
	}
	if want.ToolMode != "" {
		entry["toolMode"] = want.ToolMode
	}
	if in.Body.Accounts != nil {
		want.Accounts = *in.Body.Accounts
		if err := checkAccounts(f.Config.Current(), want.Accounts, was.Accounts); err != nil {
			return nil, err
		}
	}
	if len(want.Accounts) > 0 {
		entry["accounts"] = want.Accounts
	}
	if tokens := in.Body.MaxResultTokens; tokens != nil {
		if want.MaxResultTokens = *tokens; *tokens != 0 && *tokens < config.MinResultTokens {
			return nil, &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("maxResultTokens must be 0 or at least %d", config.MinResultTokens)}
		}
	}
	if in.Body.SingleCopy != nil {
		want.SingleCopy = *in.Body.SingleCopy
	}
	results := map[string]any{}
	if want.MaxResultTokens != 0 {
		results["maxTokens"] = want.MaxResultTokens
	}
	if want.SingleCopy {
		results["singleCopy"] = true
	}
	if len(results) > 0 {
		entry["results"] = results
	}
	if f.Config.Current().Clients[in.Token].Equal(want) {
		return &web.None{}, nil
	}
	var raw json.RawMessage // an empty entry
	if len(entry) > 0 {
		raw, _ = json.Marshal(entry) // strings only: cannot fail
	}
	if err := f.Config.SetClient(ctx, in.Token, raw); err != nil {
		return nil, err
	}
	if !f.Config.Current().Clients[in.Token].Equal(want) {
		return nil, &core.Error{Code: core.CodeConflict, Message: "another file in conf.d has different settings for this client",
			Hint: "Remove or change them in that file."}
	}
	return &web.None{}, nil
}

// ClientProfiles returns the names of the profiles, and the settings of each client that has a
// token. If there are no profiles, it returns no clients.
func (f *Feature) ClientProfiles() (profiles []string, clients []ClientSettings, err error) {
	c := f.Config.Current()
	if len(c.Profiles) == 0 {
		return nil, nil, nil
	}
	for _, p := range c.Profiles {
		profiles = append(profiles, p.Name)
	}
	tokens, err := f.Tokens.ListWithSecrets()
	for _, t := range tokens {
		s := c.Clients[t.Name]
		clients = append(clients, ClientSettings{Token: t.Name, Profile: s.Profile, ToolMode: s.ToolMode, MaxResultTokens: s.MaxResultTokens, SingleCopy: s.SingleCopy})
	}
	return profiles, clients, err
}

// SetClientProfile assigns a client to a profile, or with "" to none, and retains its other
// settings.
func (f *Feature) SetClientProfile(ctx context.Context, token, profile string) error {
	in := &clientSettingsInput{Token: token}
	in.Body.Profile = &profile
	_, err := f.putClientSettings(ctx, in)
	return err
}

func (f *Feature) listHiddenTools(context.Context, *web.None) (*web.Answer[web.List[HiddenTool]], error) {
	hidden := []HiddenTool{}
	for _, s := range f.Config.Current().Servers {
		for _, name := range s.Filter.HiddenNames() {
			hidden = append(hidden, HiddenTool{s.ID, name})
		}
	}
	return web.Reply(web.List[HiddenTool]{Items: hidden})
}

func (f *Feature) hideTools(ctx context.Context, in *hideInput) (*web.None, error) {
	tools := map[string][]string{}
	for _, t := range in.Body.Tools {
		tools[t.Server] = append(tools[t.Server], t.Tool)
	}
	return &web.None{}, f.Config.HideTools(ctx, tools, in.Body.Hide)
}
