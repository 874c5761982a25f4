package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// moved maps the words of a command that has a new place to its new words. The old ones work for
// one release.
var moved = map[string]string{
	"approvals list":    "approvals",
	"approvals show":    "approvals",
	"changes":           "status --changes",
	"check list":        "check",
	"clients bundle":    "clients connect --bundle",
	"clients diff":      "clients connect --dry-run",
	"clients features":  "clients --features",
	"clients forget":    "clients undo --forget",
	"clients imports":   "clients undo --list",
	"clients list":      "clients --all=false",
	"clients ls":        "clients",
	"clients restore":   "clients connect --restore",
	"debug":             "status",
	"destinations":      "status --destinations",
	"diagnostics":       "doctor --report",
	"directory":         "add --search",
	"directory refresh": "add --refresh",
	"history backup":    "backup --history",
	"history export":    "history --export",
	"history restore":   "backup restore",
	"history vacuum":    "history prune --compact",
	"install":           "add",
	"pause":             "stop --all",
	"policy":            "explain --rules",
	"policy try":        "explain --rules",
	"resume":            "start --all",
	"sandbox off":       "sandbox --off",
	"sandbox on":        "sandbox --on",
	"secret list":       "secret",
	"secret ls":         "secret",
	"server list":       "status",
	"tools changes":     "tools --changes",
	"tools log":         "tools --log",
	"tools warnings":    "tools --warnings",
	"versions check":    "versions --check",
	"versions pin":      "versions update --pin",
	"versions rollback": "versions update --rollback",
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
	"config": "validate", "delete": "remove", "edit": "open", "exit": "quit", "info": "status", "inspect": "status", "kill": "quit",
	"mcp": "add", "ps": "status", "rm": "remove", "run": "call", "search": "add --search", "server": "status", "shutdown": "quit", "ui": "open",
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
	return config.Nearest(word, commandNames(cmd))
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
	return UsageError(err)
}

// withNextStep adds to the error of cmd what the user can do next, if it does not say so itself.
func withNextStep(cmd *cobra.Command, err error) error {
	if ours, ok := errors.AsType[*core.Error](err); ok && ours.Hint != "" && ours.Code != core.CodeNotFound {
		return err
	}
	_, usage := errors.AsType[usageError](err)
	if usage || err != nil && strings.HasPrefix(err.Error(), "if any flags in the group") { // of cobra, without a type
		return UsageError(&core.Error{Code: core.CodeValidation, Message: err.Error(), Hint: "See: " + cmd.CommandPath() + " --help"})
	}
	if near := nearestCommand(cmd, cmd.Flags().Arg(0)); near != "" && core.CodeOf(err) == core.CodeNotFound { // "clients undoo" is not a client
		return &core.Error{Code: core.CodeNotFound, Message: err.Error(), Hint: "Did you mean: " + cmd.CommandPath() + " " + near}
	}
	return err
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
	var b strings.Builder
	column := 0
	for line := range strings.Lines(text + "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "  ") {
			if column > 0 {
				b.WriteString("\n")
			}
			b.WriteString(line)
			column = 0
			continue
		}
		for _, word := range strings.Fields(line) {
			switch {
			case column > 0 && column+1+len(word) > helpWidth:
				b.WriteString("\n")
				column = 0
			case column > 0:
				b.WriteString(" ")
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
