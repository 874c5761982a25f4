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

// completionLimit is the time limit for the names that complete an argument.
const completionLimit = 500 * time.Millisecond

// named is what completions need of the documents of the API.
type named struct{ ID, Name, Tool, Label, Title string }

// completions maps the placeholder of an argument in a usage line to the API's list of its values.
var completions = map[string]string{
	"APPROVAL": "approvals", "CHECK": "checks", "CLIENT": "connections", "PROFILE": "profiles", "SECRET": "secrets", "SERVER": "servers", "TOOL": "tools",
}

var placeholder = regexp.MustCompile(`[A-Z]+`)

// CompleteNames makes the arguments and flags of all commands below cmd completable: those whose
// placeholders are in completions.
func (e *Env) CompleteNames(cmd *cobra.Command) {
	words := strings.Fields(cmd.Use)[1:]
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if n := len(words); n > 0 && at >= n && strings.HasSuffix(words[n-1], "...]") {
			at = n - 1
		}
		if at >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return e.names(cmd.Context(), words[at], args)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if kind, _ := pflag.UnquoteUsage(f); completions[kind] != "" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return e.names(cmd.Context(), kind, args)
			})
		}
	})
	for _, sub := range cmd.Commands() {
		e.CompleteNames(sub)
	}
}

// names returns what the daemon knows for the placeholders in word; without a daemon, nothing.
func (e *Env) names(ctx context.Context, word string, args []string) (list []string, directive cobra.ShellCompDirective) {
	kinds := placeholder.FindAllString(word, -1)
	if !slices.ContainsFunc(kinds, func(k string) bool { return k == "FILE" || k == "PATH" || k == "FOLDER" }) {
		directive = cobra.ShellCompDirectiveNoFileComp
	}
	quiet := *e
	quiet.JSON = true // no notice about another version
	d, err := quiet.Daemon()
	if err != nil {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	for _, kind := range kinds {
		if completions[kind] == "" {
			continue
		}
		query := ServerQuery(nil)
		if kind == "TOOL" {
			query = ServerQuery(args)
		}
		items, _ := Get[web.List[named]](ctx, d, completions[kind], query)
		for _, one := range items.Items {
			name, about := cmp.Or(one.ID, one.Name), cmp.Or(one.Label, one.Name)
			if kind == "TOOL" {
				name, about = one.Tool, one.Title
			}
			if name != "" && !slices.Contains(args, name) {
				list = append(list, cobra.CompletionWithDesc(name, EscapeLine(about)))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), directive
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
