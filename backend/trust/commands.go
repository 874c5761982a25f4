package trust

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

// Commands adds the commands about changed definitions.
func Commands(e *terminal.Env, root *cobra.Command) {
	tools := terminal.Under(root, "tools")
	tools.AddCommand(answerTool(e, "accept"), answerTool(e, "block"), answerTool(e, "ask"))
	var changes, log, warnings bool
	tools.Flags().BoolVar(&changes, "changes", false, "show the changed definitions that are withheld from clients, with a diff")
	tools.Flags().BoolVar(&log, "log", false, "show the history of tool definitions, newest first")
	tools.Flags().BoolVar(&warnings, "warnings", false, "show the tools whose definitions show signs of an attack, and why")
	tools.MarkFlagsMutuallyExclusive("changes", "log", "warnings")
	list := tools.RunE
	tools.RunE = func(cmd *cobra.Command, args []string) error {
		query := terminal.ServerQuery(args)
		switch {
		case changes:
			return terminal.Show(cmd.Context(), e, http.MethodGet, "tool-changes", query, nil, func(list web.List[ToolChange]) error { return PrintChanges(e, list.Items) })
		case log:
			return toolLog(cmd.Context(), e, query)
		case warnings:
			return terminal.Show(cmd.Context(), e, http.MethodGet, "tool-trust", query, nil, func(list web.List[ToolTrust]) error { return printToolWarnings(e, list) })
		}
		return list(cmd, args)
	}
}

// instructionsWord selects the instructions of a server in place of a tool.
const instructionsWord = "(instructions)"

// definitionName is how the user names a definition: the name of a tool, the kind and name of
// anything else.
func definitionName(kind, name string) string {
	switch kind {
	case Tool:
		return name
	case Instructions:
		return instructionsWord
	}
	return kind + " " + name
}

// PrintChanges prints changed definitions with their differences.
func PrintChanges(e *terminal.Env, list []ToolChange) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(e.Stdout, "Nothing is withheld.")
		return err
	}
	if len(list) > 1 {
		fmt.Fprintln(e.Stdout, Summary(list)+"\n")
	}
	for i := range list {
		c := &list[i]
		word := "changed since it was trusted; needs approval"
		switch c.State {
		case "blocked":
			word = "blocked"
		case "added", "changed", "removed":
			word = c.State
		}
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(fmt.Sprintf("%s %s: %s", c.Server, definitionName(c.Kind, c.Name), word)))
		for _, w := range c.Warnings {
			fmt.Fprintln(e.Stdout, "  ! "+terminal.EscapeLine(w.Reason+" "+w.Quote))
		}
		for _, d := range c.Diff {
			mark := map[string]string{"old": "- ", "new": "+ ", "gap": "… "}[d.Op]
			if mark == "" {
				mark = "  "
			}
			fmt.Fprintln(e.Stdout, strings.TrimRight("    "+mark+terminal.EscapeLine(d.Text), " "))
		}
	}
	return nil
}

func toolLog(ctx context.Context, e *terminal.Env, query url.Values) error {
	t := terminal.Table{Title: "%d events", Head: []string{"Time", "Server", "Tool", "Action", "Old hash", "New hash", "Detail"}, Keep: []bool{0: true, 2: true, 3: true}}
	return terminal.ShowList(ctx, e, "tool-changes/log", query, t, func(v Event) []string {
		return []string{e.Moment(v.At), v.Server, definitionName(v.Kind, v.Name), v.Action, v.OldHash[:min(8, len(v.OldHash))], v.NewHash[:min(8, len(v.NewHash))], terminal.Truncate(v.Detail, 80)}
	})
}

func printToolWarnings(e *terminal.Env, list web.List[ToolTrust]) error {
	t := terminal.Table{Title: "%d warnings", Head: []string{"Server", "Tool", "Warning", "Where", "Text", "Why"}, Keep: []bool{1: true, 2: true}, Wrap: true}
	for _, tool := range list.Items {
		name := cmp.Or(tool.Tool, instructionsWord)
		for _, w := range tool.Warnings {
			t.Add(tool.Server, name, w.Code, w.Where, terminal.Truncate(w.Quote, 100), w.Reason)
		}
	}
	return e.PrintTable(&t)
}

// answerTool returns a command that answers one changed tool, or all of them.
func answerTool(e *terminal.Env, action string) *cobra.Command {
	var always, all bool
	cmd := &cobra.Command{Use: action + " SERVER TOOL", Args: terminal.ArgCount(1, 2)}
	cmd.Short = map[string]string{
		"accept": "Accept the current definition of a tool",
		"block":  "Withhold a tool from clients until it is accepted",
		"ask":    "Reset a tool to the default: its next change needs approval",
	}[action]
	if action == "accept" {
		cmd.Use = "accept SERVER TOOL [--always] | SERVER --all"
		cmd.Long = cmd.Short + ", as listed by: drawbridge tools --changes. To accept a change to the server's instructions, use " + instructionsWord + " as TOOL; for a prompt, resource or template, its kind and name, as in: \"prompt summarize\"."
		cmd.Flags().BoolVar(&always, "always", false, "also accept all later changes; useful for descriptions that contain a date or a counter")
		cmd.Flags().BoolVar(&all, "all", false, "all withheld tools of the server")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 2) {
			return terminal.UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
		}
		return answerCommand(cmd.Context(), e, args, action, always)
	}
	return cmd
}

func answerCommand(ctx context.Context, e *terminal.Env, args []string, action string, always bool) error {
	d := e.Daemon()
	list, err := terminal.Get[web.List[ToolChange]](ctx, d, "tool-changes", terminal.ServerQuery(args))
	if err != nil {
		return err
	}
	if always {
		action = "always"
	}
	var words []AnswerToolInputBody
	for i := range list.Items {
		if c := &list.Items[i]; len(args) == 1 && c.State == "waiting" || len(args) == 2 && definitionName(c.Kind, c.Name) == args[1] {
			words = append(words, AnswerToolInputBody{Server: c.Server, Kind: c.Kind, Tool: c.Name, Action: action, Hash: c.NewHash})
		}
	}
	if len(words) == 0 && len(args) == 2 {
		w := AnswerToolInputBody{Server: args[0], Kind: "tool", Tool: args[1], Action: action}
		if kind, name, ok := strings.Cut(args[1], " "); args[1] == instructionsWord {
			w.Kind, w.Tool = "instructions", ""
		} else if ok && slices.Contains([]string{"prompt", "resource", "template"}, kind) {
			w.Kind, w.Tool = kind, name
		}
		if action == "accept" {
			return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no pending change to tool %q of server %q", args[1], args[0]), Hint: "List pending changes with: drawbridge tools --changes"}
		}
		words = append(words, w)
	}
	for _, w := range words {
		if _, err := d.RequestRaw(ctx, http.MethodPost, "tool-changes", nil, w); err != nil {
			return err
		}
	}
	if e.JSON {
		return e.PrintJSON(web.List[AnswerToolInputBody]{Items: append([]AnswerToolInputBody{}, words...)})
	}
	for _, w := range words {
		said := map[string]string{"accept": "accepted", "always": "accepted, including all later changes", "block": "blocked", "ask": "its next change needs approval"}[w.Action]
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(fmt.Sprintf("%s %s: %s", w.Server, definitionName(w.Kind, w.Tool), said)))
	}
	if len(words) == 0 {
		fmt.Fprintln(e.Stdout, "No changes are pending.")
	}
	return nil
}

// PrintRecent prints a table of recent changes.
func PrintRecent(e *terminal.Env, list web.List[RecentChange]) error {
	t := terminal.Table{Title: "%d changes", Head: []string{"Time", "Server", "Kind", "Name", "Action", "Detail"}, Keep: []bool{0: true, 4: true}}
	return terminal.PrintRows(e, list, list.Items, t, func(c RecentChange) []string {
		return []string{e.Moment(c.At), c.Server, c.Kind, c.Name, c.Action, terminal.Truncate(c.Detail, 80)}
	})
}
