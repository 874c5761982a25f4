package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// addFlags are the settings of a server besides its command or URL.
type addFlags struct {
	env, headers, secrets []string
	cwd                   string
	disabled, noTest      bool
}

// Directory adds the flags of a directory of servers to the command add. What it returns gets the
// arguments, and whether they are the name of an entry; it reports whether it handled them, and the name
// of the server that it added, if any.
type Directory func(e *terminal.Env, cmd *cobra.Command) func(ctx context.Context, words []string, named bool) (handled bool, added string, err error)

// Add returns the command add.
func Add(e *terminal.Env, directory Directory) *cobra.Command {
	var f addFlags
	var fromDirectory func(ctx context.Context, words []string, named bool) (bool, string, error)
	cmd := &cobra.Command{
		Use: "add [NAME] -- COMMAND... | [NAME] URL | [NAME] JSON | ENTRY | -", Short: "Add servers: a command, a URL, or a name from the directory",
		Long: "Add servers to the configuration: a command to run, the URL of a remote server, or the configuration\n" +
			"block, \"claude mcp add\" command or install link from a README. Use - to read it from standard input.\n\n" +
			"Without NAME, a server is named after its package, image or URL. All arguments after a command\n" +
			"belong to the command. Literal tokens and passwords are stored as secrets.\n\n" +
			"ENTRY is the name of a server in the directory, which --search lists, or a bundle (FILE.mcpb).\n" +
			"The new entry is shown first.\n\n" +
			"The exit code is 1 if a server was saved but does not work, or does not respond within two minutes. Adding the\n" +
			"same server again changes nothing and exits with 0; another server with the name of an existing one is refused.",
		Example: "  drawbridge add files -- npx -y @modelcontextprotocol/server-filesystem /tmp\n" +
			"  drawbridge add npx -y @upstash/context7-mcp\n" +
			"  drawbridge add github\n" +
			"  drawbridge add --search github issues\n" +
			"  drawbridge add web --secret KEY -- docker run -i --rm -e KEY mcp/web\n" +
			"  drawbridge add docs https://example.com/mcp --header 'X-Team: red'\n" +
			"  drawbridge add '{\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}'\n" +
			"  drawbridge add - < block.json",
		DisableFlagsInUseLine: true,
		DisableFlagParsing:    true, // the flags of COMMAND must not be parsed: splitAdd finds its start
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := splitAdd(args, func(flag string) bool { return takesValue(cmd, flag) })
			cmd.DisableFlagParsing = false
			if err := cmd.ParseFlags(own); err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			if help, err := cmd.Flags().GetBool("help"); help && err == nil {
				return cmd.Help()
			}
			a, err := parseAddition(cmd.Flags().Args(), command)
			named := errors.Is(err, errNoCommand) && len(f.env)+len(f.headers)+len(f.secrets) == 0 && f.cwd == ""
			if handled, added, err := fromDirectory(cmd.Context(), append(cmd.Flags().Args(), command...), named); handled {
				if err != nil || added == "" || f.noTest {
					return err
				}
				return printServerResults(cmd.Context(), e, e.Daemon(), []core.ServerStatus{{ID: core.Slug(added), Label: added}})
			}
			if err != nil {
				return terminal.UsageError(fmt.Errorf("%w; usage: %s", err, cmd.UseLine()))
			}
			return runAdd(cmd.Context(), e, a, f)
		},
	}
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set an environment variable, as `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "set an HTTP header, as `'NAME: VALUE'`; may be repeated")
	cmd.Flags().StringArrayVar(&f.secrets, "secret", nil, "ask for the value of the variable or header with this `NAME`, for Authorization including \"Bearer\", and store it as a secret; without a terminal, read it from standard input")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "run the command in this `FOLDER`")
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "add the server without enabling it")
	cmd.Flags().BoolVar(&f.noTest, "no-test", false, "do not wait for the server to start")
	fromDirectory = directory(e, cmd)
	return cmd
}

// runAdd adds the recognized servers: through the daemon, or in the file if none is running.
func runAdd(ctx context.Context, e *terminal.Env, a addition, f addFlags) error {
	c, err := clientconf.Open(e)
	if err != nil {
		return err
	}
	servers, err := prepare(e, c, a, f)
	if err != nil {
		return err
	}
	if !e.DaemonRuns() {
		if err := servers.Write(ctx); err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(map[string]any{"items": servers.Servers, "next": ""})
		}
		printAdded(e, servers)
		message, hint := core.Describe(e.Daemon().Err)
		_, err := fmt.Fprintln(e.Stdout, terminal.EscapeLine(message+". "+hint))
		return err
	}
	return addRunning(ctx, e, servers, f.noTest)
}

// prepare builds entries from the recognized servers and the flags.
func prepare(e *terminal.Env, c *clientconf.Connector, a addition, f addFlags) (*clientconf.PastedServers, error) {
	if a.block != "" {
		if len(f.env)+len(f.headers)+len(f.secrets) > 0 || f.cwd != "" || f.disabled {
			return nil, terminal.UsageError(errors.New("a JSON block defines its servers completely: pass it without flags"))
		}
		text := a.block
		if text == "-" {
			all, err := e.ReadInput(1 << 20)
			if err != nil {
				return nil, fmt.Errorf("cannot read the servers: %w", err)
			}
			text = string(all)
		}
		return c.ParsePasted(text, a.name)
	}
	s := clientconf.NewServer{Name: a.name, URL: a.url, Cwd: f.cwd, Disabled: f.disabled}
	if len(a.command) > 0 {
		s.Command, s.Args = a.command[0], a.command[1:]
	}
	var err error
	if s.Env, err = parsePairs(f.env, "=", "--env", "NAME=VALUE"); err != nil {
		return nil, err
	}
	if s.Headers, err = parsePairs(f.headers, ":", "--header", "'NAME: VALUE'"); err != nil {
		return nil, err
	}
	switch {
	case a.url != "" && (len(f.env) > 0 || f.cwd != ""):
		return nil, terminal.UsageError(errors.New("--env and --cwd require a command, not a URL"))
	case a.url == "" && len(f.headers) > 0:
		return nil, terminal.UsageError(errors.New("--header requires a URL, not a command"))
	case len(f.secrets) > 1 && !e.Attended():
		return nil, terminal.UsageError(errors.New("standard input can contain only one secret: set the others with \"drawbridge secret set\""))
	}
	if s.Cwd != "" && s.Cwd != "~" && !strings.HasPrefix(s.Cwd, "~/") { // the configuration has a meaning for ~
		if s.Cwd, err = filepath.Abs(s.Cwd); err != nil {
			return nil, err
		}
	}
	s.Secrets = map[string]string{}
	for _, name := range f.secrets {
		if s.Secrets[name], err = secret.ReadValue(e, secretPrompt(name)); err != nil {
			return nil, err
		}
	}
	return c.PrepareServer(s)
}

// secretPrompt asks for the value of a variable or header.
func secretPrompt(name string) string {
	if strings.EqualFold(name, "Authorization") {
		return "Value of " + name + ", with its scheme, as in \"Bearer TOKEN\": "
	}
	return "Value of " + name + ": "
}

func parsePairs(all []string, between, flag, form string) (map[string]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, one := range all {
		name, value, ok := strings.Cut(one, between)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, terminal.UsageError(fmt.Errorf("%s must be written as %s", flag, form))
		}
		if between == ":" {
			value = strings.TrimSpace(value)
		}
		m[name] = value
	}
	return m, nil
}

// addRunning adds servers through the daemon. Secrets are stored first, because the daemon starts
// the servers immediately.
func addRunning(ctx context.Context, e *terminal.Env, servers *clientconf.PastedServers, noTest bool) error {
	d := e.Daemon()
	stored := servers.Secrets()
	for name, value := range stored {
		if _, err := secret.StoreValue(ctx, e, name, value); err != nil {
			return err
		}
	}
	var added []core.ServerStatus
	for _, s := range servers.Servers {
		if s.Exists {
			continue
		}
		raw, err := d.RequestRaw(ctx, http.MethodPost, "servers", nil, AddInputBody{Name: s.Label, Entry: web.JSON(s.Entry)})
		if err != nil {
			return errors.Join(err, deleteSecrets(ctx, e, s.SecretNames))
		}
		if e.JSON {
			if err := e.PrintJSON(json.RawMessage(raw)); err != nil {
				return err
			}
		}
		var st core.ServerStatus
		if err := terminal.Decode(raw, &st); err != nil {
			return err
		}
		added = append(added, st)
	}
	if !e.JSON {
		printAdded(e, servers)
	}
	if noTest {
		return nil
	}
	return printServerResults(ctx, e, d, added)
}

// deleteSecrets deletes the secrets of a server that could not be added.
func deleteSecrets(ctx context.Context, e *terminal.Env, names []string) error {
	if len(names) == 0 {
		return nil
	}
	s, err := secret.StoreOf(e)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := s.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func printAdded(e *terminal.Env, servers *clientconf.PastedServers) {
	for _, s := range servers.Servers {
		if s.Exists {
			fmt.Fprintln(e.Stdout, terminal.EscapeLine(s.Label+": already exists"))
			continue
		}
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(s.Label+": added"))
		if len(s.SecretNames) > 0 {
			fmt.Fprintln(e.Stdout, "  "+terminal.EscapeLine("stored as secrets: "+strings.Join(slices.Sorted(slices.Values(s.SecretNames)), ", ")))
		}
		stored := servers.Secrets()
		for _, name := range slices.Sorted(slices.Values(s.SecretNames)) {
			if p := config.Placeholder(stored[name]); p != "" {
				fmt.Fprintln(e.Stdout, "  "+terminal.EscapeLine("note: the secret "+name+" contains the placeholder "+p+"; enter its value: drawbridge secret set "+name))
			}
		}
		for _, p := range config.Placeholders(s.Entry) {
			fmt.Fprintln(e.Stdout, "  "+terminal.EscapeLine("note: the entry contains the placeholder "+p+"; replace it in the configuration file"))
		}
		for _, note := range s.Notes {
			fmt.Fprintln(e.Stdout, "  "+terminal.EscapeLine("note: "+note))
		}
	}
}

// addition is the parsed argument of add: a command, a URL or a block of text.
type addition struct {
	name    string
	command []string
	url     string
	block   string // "-" for standard input
}

// splitAdd splits the arguments of add into ours and those of the command. A command starts after
// --, with a launcher, or after the name if that is not followed by a URL or a block.
func splitAdd(args []string, takesValue func(flag string) bool) (own, command []string) {
	positionals := 0
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return own, args[i+1:]
		case strings.HasPrefix(arg, "-") && arg != "-":
			own = append(own, arg)
			if takesValue(arg) && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
			continue
		case positionals == 0 && isCommand(args[i:]) || positionals == 1 && !resemblesURL(arg) && !isConfigBlock(arg):
			words := []string{arg}
			if i+1 == len(args) && strings.ContainsAny(arg, " \t") {
				words = clientconf.ShellWords(arg)
			}
			return own, append(words, args[i+1:]...)
		}
		positionals++
		own = append(own, arg)
	}
	return own, nil
}

// isCommand reports whether args is a command without a name before it.
func isCommand(args []string) bool {
	if words := clientconf.ShellWords(args[0]); len(args) == 1 {
		return len(words) > 1 && config.IsLauncher(words[0])
	}
	next := args[1]
	return config.IsLauncher(args[0]) && next != "--" && !config.IsLauncher(next) && !clientconf.IsURL(next) && !isConfigBlock(next)
}

func takesValue(cmd *cobra.Command, flag string) bool {
	name := strings.TrimLeft(flag, "-")
	if strings.Contains(name, "=") {
		return false
	}
	f := cmd.Flag(name)
	if !strings.HasPrefix(flag, "--") {
		f = nil
		if len(name) == 1 {
			f = cmd.Flags().ShorthandLookup(name)
		}
	}
	return f != nil && f.NoOptDefVal == ""
}

var errNoCommand = errors.New("a command or a URL is required")

func parseAddition(positionals, command []string) (a addition, err error) {
	if len(positionals)+min(1, len(command)) == 2 && resemblesURL(positionals[0]) {
		return a, errors.New("the name of a server comes first, then its URL")
	}
	if len(command) > 0 {
		if len(positionals) > 1 {
			return a, errors.New("more than one name was given")
		}
		a.command, a.name = command, clientconf.CommandName(command)
		if len(positionals) == 1 {
			a.name = positionals[0]
		}
		switch {
		case a.name == "" || command[0] == "":
			return a, errors.New("the server needs a name")
		case clientconf.IsURL(command[0]):
			return a, errors.New("this is a URL, not a command: omit --")
		case resemblesURL(command[0]):
			return a, invalidURLError(command[0])
		}
		return a, nil
	}
	if len(positionals) == 0 || len(positionals) > 2 {
		return a, errors.New("expected one server to add")
	}
	what := positionals[len(positionals)-1]
	if len(positionals) == 2 {
		a.name = positionals[0]
	}
	switch {
	case clientconf.IsURL(what):
		if a.url = what; a.name == "" {
			a.name = clientconf.URLName(what)
		}
		if a.name == "" {
			return a, errors.New("the server needs a name before the URL")
		}
	case isConfigBlock(what), strings.ContainsAny(what, " \t"):
		a.block = what
	case resemblesURL(what):
		return a, invalidURLError(what)
	default:
		return a, errNoCommand
	}
	return a, nil
}

// resemblesURL reports whether text is an address, or was probably meant as one.
func resemblesURL(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	isScheme := found && len(scheme) > 1 && strings.IndexFunc(scheme, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("+.-", c)
	}) < 0
	return isScheme || hasAnyPrefix(strings.ToLower(text), "http:", "https:", "http//", "https//")
}

func hasAnyPrefix(text string, all ...string) bool {
	return slices.ContainsFunc(all, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// invalidURLError says why text, which resembles a URL, is not the address of a server. It does not
// repeat text, which may contain a token.
func invalidURLError(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return fmt.Errorf("the URL is not valid: %w", err)
	case !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		return errors.New(`the URL of a server must start with "http://" or "https://"`)
	}
	return errors.New("the URL is not valid: it has no host (example: https://example.com/mcp)")
}

// isConfigBlock reports whether text is a block of servers or "-".
func isConfigBlock(text string) bool {
	trimmed := strings.TrimSpace(text)
	return text == "-" || strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, `"`) || strings.Contains(trimmed, "\n") || clientconf.IsInstallLink(trimmed)
}
