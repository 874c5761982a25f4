package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// VisibilityEditor writes the visibility settings of the configuration; *reload.Reloader implements
// it.
type VisibilityEditor interface {
	SetProfile(ctx context.Context, name string, raw json.RawMessage, was string) error
	SetClient(ctx context.Context, token string, raw json.RawMessage) error
	HideTools(ctx context.Context, tools map[string][]string, hide bool) error
}

// Profile is a named view over servers and tools.
type Profile struct {
	Name        string         `json:"name" doc:"Empty for the default view of everything at /mcp"`
	Description string         `json:"description"`
	Address     string         `json:"address"`
	ToolMode    string         `json:"toolMode" enum:"all,search,deferred"`
	Folders     []string       `json:"folders" nullable:"false"`
	Clients     []string       `json:"clients" nullable:"false" doc:"Names of the tokens that are assigned to it"`
	Servers     []string       `json:"servers" nullable:"false" doc:"Ids of the servers that it lists"`
	EveryServer bool           `json:"everyServer" doc:"Whether it lists no servers and therefore offers all"`
	Tools       int            `json:"tools"`
	Entry       web.JSON       `json:"entry" doc:"JSON object in the configuration"`
	ETag        string         `json:"etag" doc:"Changes when the object changes"`
	Tokens      ToolModeTokens `json:"tokens" doc:"Estimated context size of its tool list, by tool mode"`
}

// ToolModeTokens are numbers for each way to list tools.
type ToolModeTokens struct {
	All      int `json:"all"`
	Search   int `json:"search"`
	Deferred int `json:"deferred"`
}

// ClientSettings holds the settings of one client.
type ClientSettings struct {
	Token           string `json:"token"`
	Profile         string `json:"profile"`
	ToolMode        string `json:"toolMode"`
	MaxResultTokens int    `json:"maxResultTokens" doc:"results.maxTokens; 0: results are not truncated"`

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
	Clients  []string `json:"clients" nullable:"false" doc:"Names of tokens"`
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

type costInput struct {
	Body struct {
		Entry web.JSON `json:"entry" doc:"JSON object of a profile that is being edited"`
	}
}

type clientSettingsInput struct {
	Token string `path:"token" maxLength:"64"`
	Body  struct {
		Profile         string `json:"profile" maxLength:"32" doc:"Empty: no profile"`
		ToolMode        string `json:"toolMode" enum:",all,search,deferred" doc:"Empty: the profile's tool mode"`
		MaxResultTokens *int   `json:"maxResultTokens,omitempty" minimum:"0" maximum:"1000000" doc:"results.maxTokens; 0: no limit; if missing, unchanged"`

		Accounts *map[string]string `json:"accounts,omitempty" doc:"The account of each server for which the client sets one, by server id; if missing, unchanged"`
	}
}

func (a *API) registerProfiles(r *web.Router) {
	web.Op(r, "GET", "/api/v1/profiles", "Profiles, the default view first, with their context cost and the clients assigned to them", a.listProfiles)
	web.Op(r, "POST", "/api/v1/profile-cost", "Context cost of a profile that is not saved", a.profileCost)
	web.Op(r, "PUT", "/api/v1/profiles/{name}", "Add or replace a profile in the configuration", a.putProfile)
	web.Op(r, "DELETE", "/api/v1/profiles/{name}", "Remove a profile from the configuration; rejected while a client is assigned to it", a.deleteProfile)
	web.Op(r, "POST", "/api/v1/tools/hide", "Hide tools from all clients, or show them again, in one change to the configuration", a.hideTools)
	web.Op(r, "PUT", "/api/v1/client-views/{token}", "Set the profile, the accounts and the tool mode of a client", a.putClientSettings)
}

// bytesPerToken is an estimate for JSON; each model counts differently.
const bytesPerToken = 4

func estimateTokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// costOf returns the size of the tools of a view in each tool mode.
func (a *API) costOf(p Profile, view *registry.View) Profile {
	p.Tools = len(view.Items(core.Tools))
	size := func(mode string) int { return estimateTokens(a.Bridge.ListSize(view, mode)) }
	p.Tokens = ToolModeTokens{size(""), size(bridge.ToolsSearch), size(bridge.ToolsDeferred)}
	return p
}

func (a *API) describeProfile(c *config.Config, p config.Profile) Profile {
	out := Profile{Name: p.Name, Description: p.Description, Address: "/p/" + p.Name + "/mcp", ToolMode: p.ToolMode, Folders: web.NonNil(p.Folders),
		Clients: []string{}, Servers: []string{}, EveryServer: p.Servers == nil, Entry: profileEntry(p), ETag: p.Tag()}
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
		}
	}
	slices.Sort(out.Clients)
	return out
}

// profileEntry returns a profile as a configuration entry.
func profileEntry(p config.Profile) web.JSON {
	type server struct {
		Include   []string `json:"includeTools,omitzero"` // an empty list allows none
		Exclude   []string `json:"excludeTools,omitempty"`
		Prompts   *bool    `json:"prompts,omitempty"`
		Resources *bool    `json:"resources,omitempty"`
	}
	entry := struct {
		Description string             `json:"description,omitempty"`
		Servers     *map[string]server `json:"servers,omitempty"`
		ToolMode    string             `json:"toolMode,omitempty"`
		Folders     []string           `json:"folders,omitempty"`
		Accounts    map[string]string  `json:"accounts,omitempty"`
	}{Description: p.Description, ToolMode: p.ToolMode, Folders: p.Folders, Accounts: p.Accounts}
	if p.Servers != nil {
		all, off := map[string]server{}, false
		for id, s := range p.Servers {
			one := server{Include: s.Tools.Include, Exclude: s.Tools.Exclude}
			if s.NoPrompts {
				one.Prompts = &off
			}
			if s.NoResources {
				one.Resources = &off
			}
			all[id] = one
		}
		entry.Servers = &all
	}
	raw, _ := json.Marshal(entry) // strings and booleans only: cannot fail
	return web.JSON(raw)
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

func (a *API) listProfiles(context.Context, *web.None) (*web.Answer[Profiles], error) {
	c := a.ConfigEditor.Current()
	out := Profiles{Clients: []ClientSettings{}, Accounts: accountUses(c)}
	everything := Profile{Address: "/mcp", ToolMode: config.ToolsAll, Folders: []string{}, Clients: []string{}, Servers: []string{}, EveryServer: true, Entry: web.JSON("{}")}
	out.Items = append(out.Items, a.costOf(everything, a.Views.All()))
	for _, p := range c.Profiles {
		one := a.describeProfile(c, p)
		if view, ok := a.Views.Profile(p.Name, 0); ok {
			one = a.costOf(one, view)
		}
		out.Items = append(out.Items, one)
	}
	for token, client := range c.Clients {
		accounts := map[string]string{}
		maps.Copy(accounts, client.Accounts)
		out.Clients = append(out.Clients, ClientSettings{token, client.Profile, client.ToolMode, client.MaxResultTokens, accounts})
	}
	slices.SortFunc(out.Clients, func(x, y ClientSettings) int {
		if x.Token < y.Token {
			return -1
		}
		return 1
	})
	return web.Reply(out)
}

// draft reads a profile that is not in the configuration.
func (a *API) draft(raw []byte) (config.Profile, error) {
	text, err := json.Marshal(map[string]any{"profiles": map[string]json.RawMessage{"draft": raw}})
	if err != nil {
		return config.Profile{}, core.Errorf(core.CodeValidation, "the profile is not a JSON object")
	}
	c, problems := config.Parse("profile", text)
	if c == nil || len(c.Profiles) != 1 {
		e := core.Errorf(core.CodeValidation, "the profile is not valid")
		for _, p := range problems {
			if p.Warning {
				continue
			}
			field := strings.TrimPrefix(strings.TrimPrefix(p.Key, "profiles.draft"), ".")
			e.Fields = append(e.Fields, core.FieldError{Field: field, Error: p.Message})
		}
		return config.Profile{}, e
	}
	return c.Profiles[0], nil
}

func (a *API) profileCost(_ context.Context, in *costInput) (*web.Answer[Profile], error) {
	p, err := a.draft([]byte(in.Body.Entry))
	if err != nil {
		return nil, err
	}
	return web.Reply(a.costOf(a.describeProfile(a.ConfigEditor.Current(), p), a.Views.Draft(p)))
}

func (a *API) putProfile(ctx context.Context, in *putProfileInput) (*web.Answer[Profile], error) {
	entry, err := a.keepAccounts(in.Name, in.Body.Entry)
	if err != nil {
		return nil, err
	}
	if err := a.Visibility.SetProfile(ctx, in.Name, entry, in.Was); err != nil {
		return nil, err
	}
	c := a.ConfigEditor.Current()
	p, ok := c.Profile(in.Name)
	if !ok {
		return nil, core.Errorf(core.CodeConflict, "the profile was saved, but is not active: check the configuration for errors")
	}
	view, ok := a.Views.Profile(in.Name, 0)
	if !ok {
		return web.Reply(a.describeProfile(c, p))
	}
	return web.Reply(a.costOf(a.describeProfile(c, p), view))
}

// keepAccounts checks the new entry of a profile. It adds the accounts that the profile has chosen
// if the entry does not mention accounts: calls would silently use others. Without a choice, it
// removes accounts from the entry.
func (a *API) keepAccounts(name string, raw web.JSON) (json.RawMessage, error) {
	next, err := a.draft([]byte(raw))
	if err != nil {
		return nil, err
	}
	was, _ := a.ConfigEditor.Current().Profile(name)
	var members map[string]json.RawMessage
	if len(next.Accounts) > 0 || json.Unmarshal([]byte(raw), &members) != nil {
		return json.RawMessage(raw), nil
	}
	if _, chosen := members["accounts"]; chosen {
		delete(members, "accounts")
	} else if len(was.Accounts) == 0 {
		return json.RawMessage(raw), nil
	} else if members["accounts"], err = json.Marshal(was.Accounts); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

func (a *API) deleteProfile(ctx context.Context, in *deleteProfileInput) (*web.None, error) {
	if p, ok := a.ConfigEditor.Current().Profile(in.Name); ok {
		if bound := a.describeProfile(a.ConfigEditor.Current(), p).Clients; len(bound) > 0 {
			return nil, core.Errorf(core.CodeConflict, "the client %q is assigned to this profile: assign it to another one first", bound[0])
		}
	}
	return &web.None{}, a.Visibility.SetProfile(ctx, in.Name, nil, in.Was)
}

func (a *API) putClientSettings(ctx context.Context, in *clientSettingsInput) (*web.None, error) {
	entry := map[string]any{}
	if in.Body.Profile != "" {
		if _, ok := a.ConfigEditor.Current().Profile(in.Body.Profile); !ok {
			return nil, core.Errorf(core.CodeNotFound, "there is no profile named %q", in.Body.Profile)
		}
		entry["profile"] = in.Body.Profile
	}
	if in.Body.ToolMode != "" {
		entry["toolMode"] = in.Body.ToolMode
	}
	was := a.ConfigEditor.Current().Clients[in.Token]
	want := config.Client{Profile: in.Body.Profile, ToolMode: in.Body.ToolMode, Accounts: was.Accounts, MaxResultTokens: was.MaxResultTokens}
	if in.Body.Accounts != nil {
		want.Accounts = *in.Body.Accounts
		if err := checkAccounts(a.ConfigEditor.Current(), want.Accounts, was.Accounts); err != nil {
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
	if want.MaxResultTokens != 0 {
		entry["results"] = map[string]int{"maxTokens": want.MaxResultTokens}
	}
	if a.ConfigEditor.Current().Clients[in.Token].Equal(want) {
		return &web.None{}, nil
	}
	var raw json.RawMessage // an empty entry
	if len(entry) > 0 {
		raw, _ = json.Marshal(entry) // strings only: cannot fail
	}
	if err := a.Visibility.SetClient(ctx, in.Token, raw); err != nil {
		return nil, err
	}
	if !a.ConfigEditor.Current().Clients[in.Token].Equal(want) {
		return nil, &core.Error{Code: core.CodeConflict, Message: "another file in conf.d has different settings for this client",
			Hint: "Remove or change them in that file."}
	}
	return &web.None{}, nil
}

// ClientProfiles returns the names of the profiles, and the settings of each client that has a
// token. If there are no profiles, it returns no clients.
func (a *API) ClientProfiles() (profiles []string, clients []ClientSettings, err error) {
	c := a.ConfigEditor.Current()
	if len(c.Profiles) == 0 {
		return nil, nil, nil
	}
	for _, p := range c.Profiles {
		profiles = append(profiles, p.Name)
	}
	tokens, err := a.Tokens.ListWithSecrets()
	for _, t := range tokens {
		s := c.Clients[t.Name]
		clients = append(clients, ClientSettings{Token: t.Name, Profile: s.Profile, ToolMode: s.ToolMode, MaxResultTokens: s.MaxResultTokens})
	}
	return profiles, clients, err
}

// SetClientProfile assigns a client to a profile, or with "" to none, and retains its other
// settings.
func (a *API) SetClientProfile(ctx context.Context, token, profile string) error {
	in := &clientSettingsInput{Token: token}
	in.Body.Profile, in.Body.ToolMode = profile, a.ConfigEditor.Current().Clients[token].ToolMode
	_, err := a.putClientSettings(ctx, in)
	return err
}

// checkAccounts returns an error if a choice is neither one of was nor of an account that exists.
func checkAccounts(c *config.Config, chosen, was map[string]string) error {
	for id, name := range chosen {
		s, ok := c.Server(id)
		if (!ok || !slices.Contains(s.AccountNames(), name)) && was[id] != name {
			return core.Errorf(core.CodeNotFound, "server %q has no account %q", id, name)
		}
	}
	return nil
}

func (a *API) hideTools(ctx context.Context, in *hideInput) (*web.None, error) {
	tools := map[string][]string{}
	for _, t := range in.Body.Tools {
		tools[t.Server] = append(tools[t.Server], t.Tool)
	}
	return &web.None{}, a.Visibility.HideTools(ctx, tools, in.Body.Hide)
}
