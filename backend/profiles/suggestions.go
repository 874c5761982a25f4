package profiles

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// A profile is suggested for a folder only after enough use, and only if it saves enough. These
// limits do not apply to a folder that the user asks for.
const (
	minSuggestedCalls     = 20
	minSuggestedUse       = 3 * 24 * time.Hour // between the first and the last call
	minSuggestedSaving    = 2000               // tokens
	maxProfileSuggestions = 20
	maxDismissed          = 1000
)

// ProfileSuggestion is a profile of the tools that clients called while they worked in a folder.
type ProfileSuggestion struct {
	Folder   string    `json:"folder"`
	Profile  string    `json:"profile" doc:"The profile that the folder already has, or empty"`
	Name     string    `json:"name" doc:"Unused name for the new profile"`
	Entry    web.JSON  `json:"entry" doc:"JSON object for PUT /api/v1/profiles/{name}"`
	Tools    []ToolUse `json:"tools" nullable:"false" doc:"Tools of the profile, the most called first"`
	AllTools int       `json:"allTools" doc:"Number of tools without the profile"`
	Calls    int64     `json:"calls"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Tokens   int       `json:"tokens" doc:"Estimated context size of its tool list"`
	Saved    int       `json:"saved" doc:"Estimated tokens that a session saves if it lists all tools"`
}

// ToolUse is a tool and how often it was called.
type ToolUse struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Calls  int64  `json:"calls" doc:"At most 100 calls per folder are counted"`
}

// ProfileSuggestions lists suggestions, the largest saving first.
type ProfileSuggestions struct {
	Items []ProfileSuggestion `json:"items" nullable:"false"`
	Days  int                 `json:"days"`
}

type suggestionsInput struct {
	Days   int    `query:"days" minimum:"1" maximum:"365" default:"30" doc:"How many days of the history are used"`
	Folder string `query:"folder" maxLength:"4096" doc:"Only this folder, an absolute path, even if it was used little or its suggestion was dismissed"`
}

type dismissInput struct {
	Body struct {
		Folder    string `json:"folder" minLength:"1" maxLength:"4096"`
		Dismissed bool   `json:"dismissed" doc:"False: suggest it again"`
	}
}

func (f *Feature) registerSuggestions(r *web.Router) {
	web.Op(r, "GET", "/api/v1/profile-suggestions", "Profiles for folders, based on the tools that were called there", f.suggestProfiles)
	web.Op(r, "PUT", "/api/v1/profile-suggestions/dismissed", "Dismiss the suggestion for a folder, or allow it again", f.dismissSuggestion)
}

func (f *Feature) suggestProfiles(ctx context.Context, in *suggestionsInput) (*web.Answer[ProfileSuggestions], error) {
	if in.Folder != "" && !filepath.IsAbs(in.Folder) {
		return nil, core.Errorf(core.CodeValidation, "the folder must be an absolute path")
	}
	used, err := f.Store.FolderTargets(ctx, time.Now().AddDate(0, 0, -in.Days))
	if err != nil {
		return nil, err
	}
	dismissed, err := f.dismissed(ctx)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	c, out := f.Config.Current(), ProfileSuggestions{Items: []ProfileSuggestion{}, Days: in.Days}
	for folder := range maps.Keys(candidates(used, in.Folder)) {
		if in.Folder == "" && (c.ProfileOf(folder) != "" || slices.Contains(dismissed, folder) || holdsEverything(folder, home)) {
			continue
		}
		one, ok := f.suggestProfile(c, folder, used)
		if ok && (in.Folder != "" || one.Calls >= minSuggestedCalls && one.Last.Sub(one.First) >= minSuggestedUse && one.Saved >= minSuggestedSaving) {
			out.Items = append(out.Items, one)
		}
	}
	slices.SortFunc(out.Items, func(x, y ProfileSuggestion) int {
		return cmp.Or(cmp.Compare(y.Saved, x.Saved), cmp.Compare(x.Folder, y.Folder))
	})
	out.Items = out.Items[:min(len(out.Items), maxProfileSuggestions)]
	return web.Reply(out)
}

// candidates returns the folders for which a profile could be suggested.
func candidates(used []store.FolderTarget, only string) map[string]bool {
	if only != "" {
		return map[string]bool{filepath.Clean(only): true}
	}
	folders := map[string]bool{}
	for _, u := range used {
		folders[u.Folder] = true
	}
	return folders
}

// holdsEverything reports whether a folder contains the home folder or is a root: desktop
// applications start there, and a profile of it would apply to nearly every folder.
func holdsEverything(folder, home string) bool {
	return filepath.Dir(folder) == folder || home != "" && config.Within(folder, home)
}

// suggestProfile returns a profile of what was used in a folder and below it. Folders below it that
// have a profile are omitted: the new one does not apply to them.
func (f *Feature) suggestProfile(c *config.Config, folder string, used []store.FolderTarget) (s ProfileSuggestion, ok bool) {
	all := f.Views.All()
	known, listed := map[ToolUse]bool{}, map[string]bool{}
	for _, tool := range all.Items(core.Tools) {
		known[ToolUse{Server: tool.Server, Tool: tool.Name}] = true
		listed[tool.Server] = true
	}
	s = ProfileSuggestion{Folder: folder, Profile: c.ProfileOf(folder), AllTools: len(known)}
	calls, servers := map[ToolUse]int64{}, map[string]bool{}
	for _, u := range used {
		if _, configured := c.Server(u.Server); !configured || !config.Within(folder, u.Folder) || c.ProfileOf(u.Folder) != s.Profile {
			continue
		}
		switch tool := (ToolUse{Server: u.Server, Tool: u.Name}); {
		case u.Method == "tools/call" && (known[tool] || !listed[u.Server]): // or of a server that is stopped
			calls[tool] += u.Calls
		case u.Method != "prompts/get" && u.Method != "resources/read":
			continue
		}
		servers[u.Server] = true
		s.Calls += u.Calls
		if s.First.IsZero() || u.First.Before(s.First) {
			s.First = u.First
		}
		if u.Last.After(s.Last) {
			s.Last = u.Last
		}
	}
	if len(servers) == 0 {
		return s, false
	}
	for tool, n := range calls {
		s.Tools = append(s.Tools, ToolUse{tool.Server, tool.Tool, n})
	}
	slices.SortFunc(s.Tools, func(x, y ToolUse) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool))
	})
	s.Tools = web.NonNil(s.Tools)
	p := config.Profile{Description: "Tools that were used in " + folder, Folders: []string{folder}, Servers: map[string]config.ProfileServer{}}
	for server := range servers {
		var one config.ProfileServer
		for _, tool := range s.Tools {
			if tool.Server == server {
				one.Tools.Include = append(one.Tools.Include, tool.Tool)
			}
		}
		if slices.Sort(one.Tools.Include); one.Tools.Include == nil { // only its prompts or resources were used
			one.Tools.Exclude = []string{"*"}
		}
		p.Servers[server] = one
	}
	s.Name, s.Entry = unusedProfileName(c, folder), profileEntry(p)
	s.Tokens = f.costOf(Profile{}, f.Views.Draft(p)).Tokens.All
	s.Saved = max(0, f.costOf(Profile{}, all).Tokens.All-s.Tokens)
	return s, true
}

func unusedProfileName(c *config.Config, folder string) string {
	name := core.Slug(filepath.Base(folder))
	if !core.ValidServerID(name) {
		name = "folder"
	}
	name = name[:min(len(name), 28)]
	for n := 1; ; n++ {
		one := name
		if n > 1 {
			one += "-" + strconv.Itoa(n)
		}
		if _, taken := c.Profile(one); !taken {
			return one
		}
	}
}
