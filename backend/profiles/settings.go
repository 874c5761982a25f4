package profiles

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

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

// draft reads a profile that is not in the configuration.
func (f *Feature) draft(raw []byte) (config.Profile, error) {
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

// keepAccounts checks the new entry of a profile. It adds the accounts that the profile has chosen
// if the entry does not mention accounts: calls would silently use others. Without a choice, it
// removes accounts from the entry.
func (f *Feature) keepAccounts(name string, raw web.JSON) (json.RawMessage, error) {
	next, err := f.draft([]byte(raw))
	if err != nil {
		return nil, err
	}
	was, _ := f.Config.Current().Profile(name)
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
