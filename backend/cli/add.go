package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

// addFlags are the settings of a server besides its command or URL.
type addFlags struct {
	env, headers, secrets []string
	cwd                   string
	disabled, noTest      bool
}

func (p *program) add() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use: "add [NAME] -- COMMAND [ARGS...] | [NAME] URL | [NAME] JSON | -", Short: "Add servers to the configuration and test them",
		Long: "Add servers to the configuration: a command to run, the URL of a remote server, or the configuration\n" +
			"block from a README, as JSON, TOML or YAML. Use - to read the block from standard input.\n\n" +
			"Without NAME, a server is named after its package, image or URL. All arguments after a command\n" +
			"belong to the command. Literal tokens and passwords are stored as secrets.",
		Example: "  drawbridge add files -- npx -y @modelcontextprotocol/server-filesystem /tmp\n" +
			"  drawbridge add npx -y @upstash/context7-mcp\n" +
			"  drawbridge add github --secret GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server\n" +
			"  drawbridge add docs https://example.com/mcp --header 'X-Team: red'\n" +
			"  drawbridge add '{\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}'\n" +
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
			if err != nil {
				return usageError{fmt.Errorf("%w; usage: %s", err, cmd.UseLine())}
			}
			return p.runAdd(cmd.Context(), a, f)
		},
	}
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set an environment variable, as `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "set an HTTP header, as `'NAME: VALUE'`; may be repeated")
	cmd.Flags().StringArrayVar(&f.secrets, "secret", nil, "ask for the value of the variable or header with this `NAME` and store it as a secret; without a terminal, read it from standard input")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "run the command in this `FOLDER`")
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "add the server without enabling it")
	cmd.Flags().BoolVar(&f.noTest, "no-test", false, "do not wait for the server to start")
	return cmd
}

// runAdd adds the recognized servers: through the daemon, or in the file if none is running.
func (p *program) runAdd(ctx context.Context, a addition, f addFlags) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	servers, err := p.prepare(c, a, f)
	if err != nil {
		return err
	}
	if !p.isDaemonRunning() {
		if err := servers.Write(ctx); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(map[string]any{"items": servers.Servers, "next": ""})
		}
		p.printAdded(servers)
		_, err := p.daemon() // says why it does not answer
		message, hint := core.Describe(err)
		_, err = fmt.Fprintln(p.Stdout, message+". "+hint)
		return err
	}
	return p.addRunning(ctx, servers, f.noTest)
}

// prepare builds entries from the recognized servers and the flags.
func (p *program) prepare(c *clientconf.Connector, a addition, f addFlags) (*clientconf.PastedServers, error) {
	if a.block != "" {
		if len(f.env)+len(f.headers)+len(f.secrets) > 0 || f.cwd != "" || f.disabled {
			return nil, usageError{errors.New("a JSON block defines its servers completely: pass it without flags")}
		}
		text := a.block
		if text == "-" {
			all, err := io.ReadAll(io.LimitReader(p.Stdin, 1<<20))
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
		return nil, usageError{errors.New("--env and --cwd require a command, not a URL")}
	case a.url == "" && len(f.headers) > 0:
		return nil, usageError{errors.New("--header requires a URL, not a command")}
	case len(f.secrets) > 1 && !p.Attended():
		return nil, usageError{errors.New("standard input can contain only one secret: set the others with \"drawbridge secret set\"")}
	}
	if s.Cwd != "" {
		if s.Cwd, err = filepath.Abs(s.Cwd); err != nil {
			return nil, err
		}
	}
	s.Secrets = map[string]string{}
	for _, name := range f.secrets {
		if s.Secrets[name], err = p.readSecret("Value of " + name + ": "); err != nil {
			return nil, err
		}
	}
	return c.PrepareServer(s)
}

// parsePairs parses flags of the form NAME=VALUE.
func parsePairs(all []string, between, flag, form string) (map[string]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, one := range all {
		name, value, ok := strings.Cut(one, between)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usageError{fmt.Errorf("%s must be written as %s", flag, form)}
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
func (p *program) addRunning(ctx context.Context, servers *clientconf.PastedServers, noTest bool) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	stored := servers.Secrets()
	for name, value := range stored {
		if _, err := p.storeSecret(ctx, name, value); err != nil {
			return err
		}
	}
	var added []core.ServerStatus
	for _, s := range servers.Servers {
		if s.Exists {
			continue
		}
		raw, err := d.requestRaw(ctx, http.MethodPost, "servers", nil, api.AddInputBody{Name: s.Label, Entry: api.JSON(s.Entry)})
		if err != nil {
			return errors.Join(err, p.deleteSecrets(ctx, s.SecretNames))
		}
		if p.json {
			if err := p.printJSON(json.RawMessage(raw)); err != nil {
				return err
			}
			continue
		}
		var st core.ServerStatus
		if err := decode(raw, &st); err != nil {
			return err
		}
		added = append(added, st)
	}
	if p.json {
		return nil
	}
	p.printAdded(servers)
	if noTest {
		return nil
	}
	return p.printServerResults(ctx, d, added)
}

// deleteSecrets deletes the secrets of a server that could not be added.
func (p *program) deleteSecrets(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	s, err := p.openSecretStore()
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

func (p *program) printAdded(servers *clientconf.PastedServers) {
	for _, s := range servers.Servers {
		if s.Exists {
			fmt.Fprintln(p.Stdout, escapeLine(s.Label+": already exists"))
			continue
		}
		fmt.Fprintln(p.Stdout, escapeLine(s.Label+": added"))
		if len(s.SecretNames) > 0 {
			fmt.Fprintln(p.Stdout, "  "+escapeLine("stored as secrets: "+strings.Join(slices.Sorted(slices.Values(s.SecretNames)), ", ")))
		}
		for _, note := range s.Notes {
			fmt.Fprintln(p.Stdout, "  "+escapeLine("note: "+note))
		}
	}
}
