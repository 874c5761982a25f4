package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

// Commands adds the commands for profiles.
func Commands(e *terminal.Env, root *cobra.Command) {
	cmd := &cobra.Command{
		Use: "profiles", Aliases: []string{"profile"}, Short: "List profiles: named subsets of servers and tools", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listProfiles(cmd.Context(), e) },
	}
	var mode, description string
	var folders []string
	set := &cobra.Command{
		Use: "set NAME SERVER[:TOOLS]...", Short: "Create or replace a profile of servers or individual tools",
		Example: "  drawbridge profiles set office files github:list_*,get_* --folder ~/office",
		Args:    terminal.ArgCount(2, 100),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := e.Daemon()
			servers := map[string]map[string]any{}
			for _, arg := range args[1:] {
				name, tools, some := strings.Cut(arg, ":")
				id, err := d.KnownServer(cmd.Context(), name)
				if err != nil {
					return err
				}
				one := map[string]any{}
				if some {
					one["includeTools"] = strings.Split(tools, ",")
					for _, tool := range strings.Split(tools, ",") {
						if !strings.Contains(tool, "*") {
							warnOfUnknown(cmd.Context(), e, tool, name+" has no tool named "+strconv.Quote(tool), url.Values{"server": {id}}, "tools")
						}
					}
				}
				servers[id] = one
			}
			entry := map[string]any{"servers": servers}
			if mode != "" {
				entry["toolMode"] = mode
			}
			if description != "" {
				entry["description"] = description
			}
			if len(folders) > 0 {
				entry["folders"] = folders
			}
			return e.RequestChange(cmd.Context(), http.MethodPut, "profiles/"+url.PathEscape(args[0]), map[string]any{"entry": entry}, "The profile "+args[0]+" is at /p/"+args[0]+"/mcp.")
		},
	}
	set.Flags().StringVar(&mode, "mode", "", "list tools in this `MODE`: all, search, deferred or auto")
	set.Flags().StringVar(&description, "description", "", "a `TEXT` that describes the profile")
	set.Flags().StringArrayVar(&folders, "folder", nil, "a `FOLDER`: clients that work in or below it are offered this profile; may be repeated")
	remove := &cobra.Command{
		Use: "remove PROFILE", Short: "Remove a profile", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.RequestChange(cmd.Context(), http.MethodDelete, "profiles/"+url.PathEscape(args[0]), nil, "Profile "+args[0]+" removed.")
		},
	}
	var profile, list string
	var maxTokens int
	var singleCopy bool
	use := &cobra.Command{
		Use: "use CLIENT [PROFILE]", Short: "Assign a client to a profile, or set how its tools are listed", Args: terminal.ArgCount(1, 2),
		Long: "Assign a client, by the name of its access token, to a profile. The client can then use only this profile, whichever endpoint it uses. With only CLIENT, the profile and the way in which its tools are listed are reset.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if profile != "" && profile != args[1] {
					return terminal.UsageError(errors.New("specify only one profile, as an argument or with --profile"))
				}
				profile = args[1]
			}
			body := map[string]any{}
			if len(args) == 2 || cmd.Flags().Changed("profile") {
				body["profile"] = profile
			}
			if cmd.Flags().Changed("mode") {
				body["toolMode"] = list
			}
			if cmd.Flags().Changed("max-result-tokens") {
				body["maxResultTokens"] = maxTokens
			}
			if cmd.Flags().Changed("single-copy") {
				body["singleCopy"] = singleCopy
			}
			if len(body) == 0 {
				body["profile"], body["toolMode"] = "", ""
			}
			if err := e.RequestChange(cmd.Context(), http.MethodPut, "client-views/"+url.PathEscape(args[0]), body, "Done. The change takes effect with the next request from "+args[0]+"."); err != nil {
				return err
			}
			if profile != "" {
				warnOfUnknown(cmd.Context(), e, args[0], "no client is named "+strconv.Quote(args[0])+" so far; to take this back: drawbridge profiles use "+args[0], nil, "connections", "clients")
			}
			return nil
		},
	}
	use.Flags().StringVar(&profile, "profile", "", "the only `PROFILE` that the client can use")
	use.Flags().StringVar(&list, "mode", "", "list the client's tools in this `MODE`: all, search, deferred or auto")
	use.Flags().IntVar(&maxTokens, "max-result-tokens", 0, "truncate tool results for the client after about this `NUMBER` of tokens; 0 means no limit")
	use.Flags().BoolVar(&singleCopy, "single-copy", false, "remove structuredContent from results whose text repeats it")
	cmd.AddCommand(set, remove, use)
	root.AddCommand(cmd)
}

// warnOfUnknown prints text if nothing at paths has this name: it may exist later. Nothing is known about
// the tools of a server that has not run.
func warnOfUnknown(ctx context.Context, e *terminal.Env, name, text string, query url.Values, paths ...string) {
	for _, path := range paths {
		list, err := terminal.Get[web.List[struct{ ID, Name, Token, Tool string }]](ctx, e.Daemon(), path, query)
		if err != nil || e.JSON || path == "tools" && len(list.Items) == 0 {
			return
		}
		for _, one := range list.Items {
			if slices.Contains([]string{one.ID, one.Name, one.Token, one.Tool}, name) {
				return
			}
		}
	}
	fmt.Fprintln(e.Stderr, "warning: "+terminal.EscapeLine(text))
}

func listProfiles(ctx context.Context, e *terminal.Env) error {
	t := terminal.Table{Title: "%d profiles", Head: []string{"Profile", "Address", "Listed", "Tools", "Tokens", "Clients", "Servers"}, Right: []bool{3: true, 4: true}, Keep: []bool{0: true, 1: true, 2: true}, Wrap: true}
	return terminal.ShowList(ctx, e, "profiles", nil, t, func(p Profile) []string {
		servers := strings.Join(p.Servers, ", ")
		if p.EveryServer {
			servers = "all servers"
		}
		tokens := map[string]int{"search": p.Tokens.Search, "deferred": p.Tokens.Deferred, "auto": p.Tokens.Auto}
		if _, other := tokens[p.ToolMode]; !other {
			tokens[p.ToolMode] = p.Tokens.All
		}
		return []string{cmp.Or(p.Name, "(everything)"), p.Address, p.ToolMode, strconv.Itoa(p.Tools), "~" + strconv.Itoa(tokens[p.ToolMode]), cmp.Or(strings.Join(p.Clients, ", "), "-"), servers}
	})
}
