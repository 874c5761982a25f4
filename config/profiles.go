package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Profile is a named view over servers and tools.
type Profile struct {
	Name        string
	Description string `key:"description"`
	// Servers is what it offers, by server id; nil is everything.
	Servers map[string]ProfileServer
	// ToolMode is how its tools are listed: one of the constants below, or "" for all.
	ToolMode string `key:"toolMode"`
	// Folders are absolute paths: a client that works in or below one of them uses the profile,
	// unless it is bound to another one.
	Folders []string
	// Accounts are the accounts of servers that its clients use, by server id.
	Accounts map[string]string `json:",omitempty" key:"accounts"`

	Source Position `json:"-"` // of its name in its file
}

// Tag is a hash of the content of a profile, independent of its position: an ETag for edits.
func (p Profile) Tag() string {
	raw, _ := json.Marshal(p) // strings, booleans and lists of them: cannot fail
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// ProfileServer is what a profile offers of one server.
type ProfileServer struct {
	// Tools are patterns of the names of the server, with '*' and '?'. A tool must match Include,
	// unless that is empty, and must not match Exclude.
	Tools       Filter
	NoPrompts   bool `key:"prompts,not"`
	NoResources bool `key:"resources,not"` // nor resource templates
}

// Client holds the settings of the clients whose token has that name.
type Client struct {
	Profile  string `key:"profile"`  // the only one it may use; "" for any
	ToolMode string `key:"toolMode"` // wins over that of the profile; "" for no preference
	// Accounts are the accounts of servers that it uses, by server id. They win over those of the
	// profile.
	Accounts map[string]string `key:"accounts"`
	// MaxResultTokens is the maximum size of the text of tool results, about 4 bytes per token; 0
	// for no limit.
	MaxResultTokens int
	// SingleCopy removes a structuredContent that the text of a tool result repeats.
	SingleCopy bool

	Source Position `json:"-"` // of its name in its file
}

// MinResultTokens is the lowest Client.MaxResultTokens.
const MinResultTokens = 500

// Equal reports whether both are the same.
func (c Client) Equal(o Client) bool {
	return c.Profile == o.Profile && c.ToolMode == o.ToolMode && c.MaxResultTokens == o.MaxResultTokens && c.SingleCopy == o.SingleCopy && maps.Equal(c.Accounts, o.Accounts)
}

// How tools are listed.
const (
	ToolsAll      = "all"      // with complete definitions
	ToolsSearch   = "search"   // not listed: find_tools and call_tool replace them
	ToolsDeferred = "deferred" // by name and one line; describe_tools returns the rest
	ToolsAuto     = "auto"     // one of the others, chosen for the client
)

// Offers reports whether the profile offers anything of a server, and what.
func (p *Profile) Offers(server string) (ProfileServer, bool) {
	if p.Servers == nil {
		return ProfileServer{}, true
	}
	s, ok := p.Servers[server]
	return s, ok
}

// Profile returns the profile with the given name.
func (c *Config) Profile(name string) (Profile, bool) {
	i := slices.IndexFunc(c.Profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return c.Profiles[i], true
}

// Equal reports whether both offer the same.
func (p Profile) Equal(o Profile) bool {
	p.Source = o.Source
	return reflect.DeepEqual(p, o)
}

// profilesField reads profiles. A later file replaces a profile of an earlier one.
func profilesField(to *[]Profile) field {
	return objects("profiles", func(r *reader, m member) {
		p := Profile{Name: m.name, Source: m.at}
		if !core.ValidServerID(m.name) {
			r.report(m.at, "", false, "use letters, digits, '-' and '_'", "'%s' is not a valid profile name", m.name)
			return
		}
		r.object(m.value, profileFields(&p))
		*to = slices.DeleteFunc(*to, func(o Profile) bool { return o.Name == p.Name })
		*to = append(*to, p)
	})
}

func profileFields(p *Profile) []field {
	return schemaTree().Defs["profile"].fields(p,
		absolutePaths("folders", &p.Folders),
		objects("servers", func(r *reader, m member) {
			var s ProfileServer
			r.object(m.value, profileServerFields(&s))
			if p.Servers == nil {
				p.Servers = map[string]ProfileServer{}
			}
			p.Servers[m.name] = s
		}).andThen(func() {
			if p.Servers == nil { // {} offers no server
				p.Servers = map[string]ProfileServer{}
			}
		}),
	)
}

func profileServerFields(s *ProfileServer) []field {
	return schemaTree().Defs["profileServer"].fields(s, includeList(&s.Tools.Include), list(HiddenByExclude, &s.Tools.Exclude))
}

func clientsField(to *map[string]Client) field {
	return objects("clients", func(r *reader, m member) {
		c := Client{Source: m.at}
		r.object(m.value, clientFields(&c))
		if *to == nil {
			*to = map[string]Client{}
		}
		(*to)[m.name] = c
	})
}

func clientFields(c *Client) []field {
	return schemaTree().Defs["client"].fields(c, section("results",
		schemaTree().Defs["clientResults"].field("maxTokens", "", &c.MaxResultTokens), schemaTree().Defs["clientResults"].field("singleCopy", "", &c.SingleCopy)))
}

// andThen runs a function after the value of a field was read.
func (f field) andThen(then func()) field {
	read := f.read
	f.read = func(r *reader, name string, at Position, n *node) {
		read(r, name, at, n)
		then()
	}
	return f
}

func absolutePaths(name string, to *[]string) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		var all []string
		list(name, &all).read(r, name, at, n)
		for i, path := range all {
			if !filepath.IsAbs(path) {
				r.errorf(n.items[i].at, fmt.Sprintf("%s[%d]", name, i), "'%s' must contain absolute paths", name)
				return
			}
			all[i] = filepath.Clean(path)
		}
		*to = all
	}}
}

// checkProfileReferences validates the references of profiles and clients after everything was
// read. A client with an unknown profile would see everything or nothing; both are wrong, so the
// file is refused. An unknown server may be added later, so it is a warning.
func (r *reader) checkProfileReferences(c *Config) {
	for i := range c.Profiles {
		p := &c.Profiles[i]
		for _, id := range slices.Sorted(maps.Keys(p.Servers)) {
			s, known := c.ServerNamed(id)
			switch {
			case known && s.ID != id:
				p.Servers[s.ID] = p.Servers[id]
				delete(p.Servers, id)
			case !known:
				suggestion := ""
				var ids []string
				for _, s := range c.Servers {
					ids = append(ids, s.ID)
				}
				if near := Nearest(id, ids); near != "" {
					suggestion = fmt.Sprintf("did you mean '%s'?", near)
				}
				at := p.Source
				r.problems = append(r.problems, Problem{File: at.File, Line: at.Line, Column: at.Column, Key: "profiles." + p.Name + ".servers." + id, Warning: true,
					Message: fmt.Sprintf("profile '%s' refers to server '%s', which is not configured", p.Name, id), Suggestion: suggestion})
			}
		}
	}
	r.checkRuleServers(c)
	for _, p := range c.Profiles {
		r.checkChosenAccounts(c, "profiles."+p.Name, p.Accounts)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Clients)) {
		r.checkChosenAccounts(c, "clients."+name, c.Clients[name].Accounts)
		want := c.Clients[name].Profile
		if _, known := c.Profile(want); want == "" || known || r.isProfileInvalid(want) {
			continue
		}
		at := c.Clients[name].Source
		r.problems = append(r.problems, Problem{File: at.File, Line: at.Line, Column: at.Column, Key: "clients." + name + ".profile",
			Message: fmt.Sprintf("client '%s' is assigned to profile '%s', which does not exist", name, want), Suggestion: "add it to 'profiles', or remove it here"})
	}
}

// isProfileInvalid reports whether an error was reported that explains why the profile was not read.
func (r *reader) isProfileInvalid(name string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool {
		return !p.Warning && (p.Server == "" && p.Key == "" || p.Key == "profiles" || p.Key == "profiles."+name)
	})
}

func lastOf(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[len(files)-1]
}

// SameVisibility reports whether both configurations offer the same to every client.
func SameVisibility(a, b *Config) bool {
	return slices.EqualFunc(a.Profiles, b.Profiles, Profile.Equal) && maps.EqualFunc(a.Clients, b.Clients, Client.Equal) && a.VisibilityUnknown == b.VisibilityUnknown
}

// ProfileOf returns the profile of a client that works in a folder: the one with the longest
// folder that contains it, or "".
func (c *Config) ProfileOf(folder string) string {
	best, profile := "", ""
	if slices.ContainsFunc(c.Profiles, func(p Profile) bool { return len(p.Folders) > 0 }) {
		folder = resolveFolder(folder)
	}
	for _, p := range c.Profiles {
		for _, f := range p.Folders {
			if f = resolveFolder(f); len(f) > len(best) && Within(f, folder) {
				best, profile = f, p.Name
			}
		}
	}
	return profile
}

// resolveFolder follows the links in a path as far as it exists. A link that leads out of
// a folder does not belong to it, and a folder that is reached through a link is the same folder.
func resolveFolder(folder string) string {
	rest := ""
	for at := folder; ; at = filepath.Dir(at) {
		if resolved, err := osutil.RealPath(at); err == nil {
			return filepath.Join(resolved, rest)
		}
		if at == filepath.Dir(at) {
			return folder
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Within reports whether path is folder or below it. Both are clean and absolute.
func Within(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || strings.HasSuffix(folder, string(filepath.Separator)) || rest[0] == filepath.Separator)
}
