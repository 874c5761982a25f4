package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// moved maps the words of a command that has a new place to its new words. The old ones work for
// one release.
var moved = map[string]string{
	"approvals list": "approvals", "approvals show": "approvals", "check list": "check", "secret list": "secret", "secret ls": "secret",
	"clients bundle": "clients connect --bundle", "clients diff": "clients connect --dry-run", "clients restore": "clients connect --restore",
	"clients features": "clients --features", "clients list": "clients --all=false", "clients ls": "clients",
	"clients forget": "clients undo --forget", "clients imports": "clients undo --list",
	"debug": "status", "changes": "status --changes", "destinations": "status --destinations", "server list": "status", "diagnostics": "doctor --report",
	"directory": "add --search", "directory refresh": "add --refresh", "install": "add",
	"history backup": "backup --history", "history export": "history --export", "history restore": "backup restore", "history vacuum": "history prune --compact",
	"pause": "stop --all", "resume": "start --all", "policy try": "explain --rules", "sandbox off": "sandbox --off", "sandbox on": "sandbox --on",
	"tools changes": "tools --changes", "tools log": "tools --log", "tools warnings": "tools --warnings",
	"versions check": "versions --check", "versions pin": "versions update --pin", "versions rollback": "versions update --rollback",
}

// replaceMoved returns args with the current words of a command that has moved. In a terminal it says so.
func (e *Env) replaceMoved(args []string) []string {
	var at []int // the first two words
	for i := 0; i < len(args) && len(at) < 2 && args[i] != "--"; i++ {
		switch {
		case args[i] == "--data":
			i++
		case !strings.HasPrefix(args[i], "-"):
			at = append(at, i)
		}
	}
	for ; len(at) > 0; at = at[:len(at)-1] {
		old := args[at[0]]
		if len(at) == 2 {
			old += " " + args[at[1]]
		}
		now, ok := moved[old]
		if !ok {
			continue
		}
		if e.Terminal() && !slices.Contains(args, "--json") {
			fmt.Fprintf(e.Stderr, "\"drawbridge %s\" is now \"drawbridge %s\"; the old name will be removed.\n", old, now)
		}
		last := at[len(at)-1]
		return slices.Concat(args[:at[0]], strings.Fields(now), args[min(at[0]+1, last):last], args[last+1:])
	}
	return args
}

// NoArgs refuses arguments, with exit code 2.
func NoArgs(cmd *cobra.Command, args []string) error { return ArgCount(0, 0)(cmd, args) }

// ArgCount validates the number of arguments, with exit code 2.
func ArgCount(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && len(args) <= most:
			return nil
		case len(args) > 0 && cmd.HasAvailableSubCommands():
			return unknownCommand(cmd, args[0])
		case most == 0:
			return UsageError(fmt.Errorf("%s takes no arguments", cmd.CommandPath()))
		}
		return UsageError(fmt.Errorf("usage: %s", cmd.UseLine()))
	}
}

// otherWords are the words of other programs for our commands.
var otherWords = map[string]string{
	"config": "validate", "delete": "remove", "edit": "open", "exit": "quit", "import": "clients import", "info": "status", "inspect": "status", "kill": "quit",
	"mcp": "add", "policy": "explain --rules", "ps": "status", "rm": "remove", "run": "call", "search": "add --search", "server": "status", "shutdown": "quit", "ui": "open",
	"up": "serve", "update": "versions", "upgrade": "versions", "web": "open",
}

func unknownCommand(cmd *cobra.Command, word string) error {
	err := &core.Error{Code: core.CodeValidation, Message: fmt.Sprintf("unknown command %q", word), Hint: "List the commands with: drawbridge --help"}
	near := nearestCommand(cmd, word)
	if cmd.HasParent() {
		err.Message += " for " + cmd.CommandPath()
		err.Hint = "It has: " + strings.Join(commandNames(cmd), ", ")
	} else {
		near = cmp.Or(otherWords[word], near)
	}
	if near != "" {
		err.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	return UsageError(err)
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

func nearestCommand(cmd *cobra.Command, word string) string {
	names := commandNames(cmd)
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Aliases...)
	}
	return config.Nearest(word, names)
}

// flagError names the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok && strings.Contains(err.Error(), "strconv.") {
		err = fmt.Errorf("--%s requires a valid %s, not %q", invalid.GetFlag().Name, map[bool]string{true: "true or false", false: "number"}[invalid.GetFlag().Value.Type() == "bool"], invalid.GetValue())
	}
	return UsageError(err)
}

// withNextStep adds to the error of cmd what the user can do next, if it does not say so itself.
func (e *Env) withNextStep(cmd *cobra.Command, err error) error {
	_, usage := errors.AsType[usageError](err)
	ours, ok := errors.AsType[*core.Error](err)
	switch {
	case err == nil || ok && ours.Hint != "" && ours.Code != core.CodeNotFound:
	case strings.HasPrefix(err.Error(), "if any flags in the group ["): // of cobra, without a type
		_, given, _ := strings.Cut(err.Error(), "none of the others can be; [")
		given, _, _ = strings.Cut(given, "]")
		return e.withNextStep(cmd, UsageError(errors.New("these cannot be combined: --"+strings.ReplaceAll(given, " ", ", --"))))
	case ok && len(ours.Fields) > 0 && strings.HasPrefix(ours.Fields[0].Field, "query."): // a flag
		return UsageError(err)
	case usage:
		return UsageError(&core.Error{Code: core.CodeValidation, Message: err.Error(), Hint: "See: " + cmd.CommandPath() + " --help"})
	case ok && ours.Code == core.CodeNotFound:
		return e.nameNearest(cmd, ours)
	}
	return err
}

// nameNearest completes the error of a command about something that does not exist: with its name,
// the most similar one, and the command that lists them.
func (e *Env) nameNearest(cmd *cobra.Command, err *core.Error) error {
	args := cmd.Flags().Args()
	if near := nearestCommand(cmd, cmd.Flags().Arg(0)); near != "" { // "clients undoo" is not a client
		return &core.Error{Code: err.Code, Message: err.Error(), Hint: "Did you mean: " + cmd.CommandPath() + " " + near}
	}
	given := map[string]string{} // placeholder to argument
	for i, arg := range args {
		for _, name := range placeholder.FindAllString(argumentWord(cmd, i), -1) {
			given[name] = arg
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		given[name] = f.Value.String()
	})
	for _, name := range slices.Sorted(maps.Keys(kinds)) { // servers before their tools
		text, ok := given[name]
		quoted := strings.Contains(err.Message, strconv.Quote(text))
		if !ok || !quoted && !strings.Contains(err.Message, "'"+text+"'") && !strings.HasPrefix(err.Message, "there is no such "+kinds[name].noun) {
			continue
		}
		var known []string
		for _, v := range e.values(cmd.Context(), name, args) {
			known = append(known, v.ID, v.Name, v.Label, v.Tool)
		}
		if slices.Contains(known, text) {
			continue
		}
		next := *err
		if !quoted {
			next.Message, next.Cause = fmt.Sprintf("there is no %s named %q", kinds[name].noun, text), nil
		}
		if near := config.Nearest(text, slices.DeleteFunc(known, func(k string) bool { return k == "" })); near != "" && !strings.Contains(next.Message, "did you mean") {
			next.Message += fmt.Sprintf("; did you mean %q?", near)
		}
		list := "drawbridge " + kinds[name].list
		if name == "TOOL" {
			list += " " + given["SERVER"]
		}
		next.Hint = cmp.Or(next.Hint, "List them with: "+list)
		if cmd.CalledAs() == "connect" && name == "SERVER" {
			next.Hint += ". To connect a client: drawbridge clients connect " + text
		}
		return &next
	}
	return err
}

// helpCommand prints the help of the command that its arguments name.
func helpCommand(e *Env) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND...]", Short: "Print the help of a command", Hidden: true, RunE: func(cmd *cobra.Command, args []string) error {
		found, left, err := cmd.Root().Find(e.replaceMoved(args))
		if err == nil && len(left) > 0 && !found.HasParent() {
			err = unknownCommand(found, left[0])
		}
		if err != nil {
			return err
		}
		found.InitDefaultHelpFlag()
		return found.Help()
	}}
}

const helpWidth = 80

// printHelp prints the help of a command in lines of at most helpWidth columns.
func printHelp(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			b.WriteString("\n" + title + ":\n" + strings.TrimRight(text, "\n") + "\n")
		}
	}
	b.WriteString(wrap(cmp.Or(cmd.Long, cmd.Short)))
	section("Usage", "  "+cmd.UseLine())
	if len(cmd.Aliases) > 0 {
		section("Aliases", "  "+strings.Join(cmd.Aliases, ", "))
	}
	section("Examples", cmd.Example)
	list := ""
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			list += fmt.Sprintf("  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	section("Commands", list)
	section("Flags", cmd.LocalFlags().FlagUsagesWrapped(helpWidth))
	section("Global flags", cmd.InheritedFlags().FlagUsagesWrapped(helpWidth))
	_, _ = io.WriteString(cmd.OutOrStdout(), b.String())
}

// wrap breaks the paragraphs of text into lines of at most helpWidth columns. Indented lines are kept.
func wrap(text string) string {
	var out []string
	open := false // whether a word may be added to the last line
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" || line[0] == ' ' {
			out, open = append(out, strings.TrimRight(line, "\n")), false
			continue
		}
		for _, word := range strings.Fields(line) {
			if last := len(out) - 1; open && len(out[last])+1+len(word) <= helpWidth {
				out[last] += " " + word
			} else {
				out, open = append(out, word), true
			}
		}
	}
	return strings.Join(out, "\n") + "\n"
}
