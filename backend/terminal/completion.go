package terminal

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// value is what the API's lists have in common: the words that are accepted for an item.
type value struct{ ID, Name, Server, Tool, Label, Title string }

// kind is what an argument can be: how it is named, the API's list of its values, and the command
// that lists them.
type kind struct{ noun, path, list string }

// kinds has the placeholders of usage lines.
var kinds = map[string]kind{
	"APPROVAL": {"pending approval", "approvals", "approvals"},
	"CHECK":    {"check", "checks", "check"},
	"CLIENT":   {"client", "connections", "clients --all"},
	"PROFILE":  {"profile", "profiles", "profiles"},
	"SECRET":   {"secret", "secrets", "secret"},
	"SERVER":   {"server", "servers", "status"},
	"TOOL":     {"tool", "tools", "tools"},
}

var placeholder = regexp.MustCompile(`[A-Z]+`)

// CompleteNames makes the arguments and flags of all commands below cmd completable: those whose
// placeholders are in completions.
func (e *Env) CompleteNames(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return e.complete(cmd.Context(), argumentWord(cmd, len(args)), args)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if word, _ := pflag.UnquoteUsage(f); kinds[word].path != "" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return e.complete(cmd.Context(), word, args)
			})
		}
	})
	for _, sub := range cmd.Commands() {
		e.CompleteNames(sub)
	}
}

// argumentWord returns the word of the usage line for an argument; "" for none.
func argumentWord(cmd *cobra.Command, at int) string {
	words := strings.Fields(cmd.Use)[1:]
	if last := len(words) - 1; at > last && last >= 0 && strings.Contains(words[last], "...") {
		at = last
	}
	if at >= len(words) {
		return ""
	}
	return words[at]
}

// complete returns the values for the placeholders in word; without a daemon, none.
func (e *Env) complete(ctx context.Context, word string, args []string) (list []string, directive cobra.ShellCompDirective) {
	names := placeholder.FindAllString(word, -1)
	if !slices.Contains(names, "FILE") && !slices.Contains(names, "PATH") && !slices.Contains(names, "FOLDER") {
		directive = cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range names {
		for _, v := range e.values(ctx, name, args) {
			value, about := cmp.Or(v.ID, v.Name), cmp.Or(v.Label, v.Name)
			if name == "TOOL" {
				value, about = v.Tool, v.Title
			}
			if about == value {
				about = ""
			}
			if value != "" && !slices.Contains(args, value) {
				list = append(list, cobra.CompletionWithDesc(value, EscapeLine(about)))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), directive
}

// values returns what the daemon knows for a placeholder. The tools are those of the server in args.
func (e *Env) values(ctx context.Context, name string, args []string) []value {
	quiet := *e
	quiet.JSON = true // no notice about another version
	if kinds[name].path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.CompletionLimit, 500*time.Millisecond))
	defer cancel()
	query := ServerQuery(nil)
	if name == "TOOL" {
		query = ServerQuery(args)
	}
	list, _ := Get[web.List[value]](ctx, quiet.Daemon(), kinds[name].path, query)
	return list.Items
}

// Completion returns the command that prints the completion script of a shell.
func Completion(e *Env) *cobra.Command {
	scripts := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(e.Stdout, true) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(e.Stdout, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(e.Stdout) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(e.Stdout) },
	}
	return &cobra.Command{
		Use: "completion bash|fish|powershell|zsh", Short: "Print the script with which a shell completes commands and names", Args: ArgCount(1, 1),
		Long: "Print the script with which a shell completes commands, flags, and the names of servers, tools, clients, profiles and secrets. The deb, rpm and Arch packages install it. Otherwise, add one of these lines to the startup file of your shell (in this order: bash, zsh, fish, PowerShell):\n\n" +
			"  source <(drawbridge completion bash)\n  source <(drawbridge completion zsh)\n  drawbridge completion fish | source\n  drawbridge completion powershell | Out-String | Invoke-Expression",
		RunE: func(cmd *cobra.Command, args []string) error {
			script, ok := scripts[args[0]]
			if !ok {
				return UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
			}
			return script(cmd.Root())
		},
	}
}
