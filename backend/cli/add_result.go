package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/builtin"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

const (
	// resultLimit is how long add waits for a server to work or to fail: a first start may
	// download its package.
	resultLimit = 2 * time.Minute
	// onDemandStartDelay is the time after which a stopped server is started for a test.
	onDemandStartDelay = 2 * time.Second
)

// printServerResults waits for new servers and prints the tools of each, or why it does not work.
func (p *program) printServerResults(ctx context.Context, d *terminal.Daemon, added []core.ServerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, resultLimit)
	defer cancel()
	for _, one := range added {
		if p.Terminal() {
			fmt.Fprintf(p.Stderr, "Starting %s… (Ctrl-C stops waiting)\n", terminal.EscapeLine(displayName(one)))
		}
		text, err := awaitResult(ctx, d, one)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(p.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// awaitResult waits until a server works, fails or needs the user.
func awaitResult(ctx context.Context, d *terminal.Daemon, s core.ServerStatus) (string, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for {
		now, err := terminal.Get[core.ServerStatus](ctx, d, terminal.ServerPath(s.ID, ""), nil)
		if err != nil && core.CodeOf(err) != core.CodeNotFound {
			return terminal.EscapeLine(displayName(s) + ": its state is not known yet; see \"drawbridge status\""), nil
		}
		switch now.State {
		case core.StateRunning, core.StateDegraded:
			return describeTools(ctx, d, now)
		case core.StateFailed, core.StateRestarting, core.StateNeedsSignIn, core.StateNeedsApproval, core.StateDisabled:
			return describeFailure(now), nil
		case core.StateWaiting:
			return describeFailure(now) + "\n  It connects automatically when the problem is resolved.", nil
		case core.StateStopped:
			if time.Since(began) > onDemandStartDelay {
				return startOnce(ctx, d, now)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return terminal.EscapeLine(displayName(s) + ": it is still starting; see \"drawbridge status\""), nil
		}
	}
}

// describeFailure describes why a server does not work and what to do.
func describeFailure(s core.ServerStatus) string {
	lines := []string{displayName(s) + ": " + s.State.Word()}
	if s.Reason != "" {
		lines[0] += ", " + s.Reason
	}
	for _, more := range []string{s.Detail, s.Hint} {
		if more != "" && !strings.Contains(lines[0], more) {
			lines = append(lines, "  "+terminal.EscapeLine(more))
		}
	}
	lines[0] = terminal.EscapeLine(lines[0])
	return strings.Join(lines, "\n")
}

// describeTools lists the tools of a working server.
func describeTools(ctx context.Context, d *terminal.Daemon, s core.ServerStatus) (string, error) {
	list, err := terminal.Get[web.List[api.Tool]](ctx, d, "tools", url.Values{"server": {s.ID}})
	if err != nil {
		return "", err
	}
	names := make([]string, len(list.Items))
	for i, t := range list.Items {
		names[i] = t.Tool
	}
	return describeWorking(s, names), nil
}

func describeWorking(s core.ServerStatus, tools []string) string {
	text := displayName(s) + ": works, " + core.Plural(len(tools), "tool")
	if len(tools) > 0 {
		text += ": " + terminal.Truncate(strings.Join(tools, ", "), 400)
	}
	return terminal.EscapeLine(text)
}

// startOnce starts an on-demand server once.
func startOnce(ctx context.Context, d *terminal.Daemon, s core.ServerStatus) (string, error) {
	t, err := terminal.Request[api.TestResult](ctx, d, http.MethodPost, "test", nil, api.TestRequest{Server: s.ID})
	if err != nil {
		return "", err
	}
	if !t.OK {
		return describeFailure(core.ServerStatus{ID: s.ID, Label: s.Label, State: core.StateFailed, Reason: t.Error, Hint: t.Hint}), nil
	}
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	return describeWorking(s, names), nil
}

func (p *program) demo() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "demo-server", Short: "Run a small MCP server for demonstrations", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return builtin.RunDemo(cmd.Context(), p.Stdin, p.Stdout)
			}
			return p.demoHTTP(cmd.Context(), address)
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve streamable HTTP at this loopback `ADDRESS` instead of stdin and stdout")
	return cmd
}

func (p *program) demoHTTP(ctx context.Context, address string) error {
	listener, err := loopback.Listen(address)
	if err != nil {
		return err
	}
	server := loopback.NewServer(builtin.DemoHandler())
	fmt.Fprintf(p.Stderr, "The demo server listens on http://%s/mcp\n", listener.Addr())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
		err = <-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// install installs a server of the marketplace, or a bundle.
func (p *program) install() *cobra.Command {
	var name string
	var option int
	var values []string
	var yes bool
	cmd := &cobra.Command{
		Use: "install NAME | FILE.mcpb", Short: "Install a server from the directory, or a bundle", Args: terminal.ArgCount(1, 1),
		Long:    "Install a server from the directory or from a bundle. The new entry is shown first. Installing adds it to the configuration; the server then starts like any other.",
		Example: "  drawbridge install io.github.modelcontextprotocol/server-filesystem --set arg.0=/home/me/notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"label": name}
			if strings.HasSuffix(args[0], ".mcpb") || strings.HasSuffix(args[0], ".dxt") {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				body["bundle"] = path
			} else {
				body["name"], body["option"] = args[0], option
			}
			given := map[string]string{}
			for _, v := range values {
				key, value, ok := strings.Cut(v, "=")
				if !ok {
					return terminal.UsageError(fmt.Errorf("--set requires KEY=VALUE, not %q", v))
				}
				given[key] = value
			}
			body["values"] = given
			d, err := p.Daemon()
			if err != nil {
				return err
			}
			raw, err := d.RequestRaw(cmd.Context(), http.MethodPost, "directory/plan", nil, body)
			if err != nil {
				return err
			}
			var plan api.Installation
			if err := terminal.Decode(raw, &plan); err != nil {
				return err
			}
			if plan.Entry == "" {
				return fmt.Errorf("%s requires %s: set it with --set KEY=VALUE", terminal.EscapeLine(args[0]), terminal.EscapeLine(strings.Join(plan.Missing, ", ")))
			}
			if !yes {
				if p.JSON {
					return p.PrintRaw(raw)
				}
				fmt.Fprintf(p.Stdout, "%s would be added to the configuration:\n%s\n", terminal.EscapeLine(plan.Label), plan.Entry)
				if len(plan.Secrets) > 0 {
					fmt.Fprintf(p.Stdout, "Secrets that would be stored: %s\n", terminal.EscapeLine(strings.Join(plan.Secrets, ", ")))
				}
				if err := p.Confirm(yes, "Install it?"); err != nil {
					return err
				}
			}
			body["entry"] = plan.Entry
			return p.RequestChange(cmd.Context(), http.MethodPost, "directory/install", body, terminal.EscapeLine(plan.Label)+" is installed.")
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "the `NAME` of the new server")
	f.IntVar(&option, "option", 0, "the index (`NUMBER`) of the package or URL to use, starting at 0")
	f.StringArrayVar(&values, "set", nil, "configure the package with `KEY=VALUE`; may be repeated")
	f.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// directory lists installable servers.
func (p *program) directory() *cobra.Command {
	cmd := &cobra.Command{
		Use: "directory [WORDS...]", Short: "List servers that can be installed", Args: terminal.ArgCount(0, 20),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{"search": {strings.Join(args, " ")}}
			return terminal.Show(cmd.Context(), &p.Env, http.MethodGet, "directory", query, nil, p.printDirectory)
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "refresh", Short: "Update the list from the registry", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.RequestChange(cmd.Context(), http.MethodPost, "directory/refresh", nil, "The list was updated.")
		},
	})
	return cmd
}

func (p *program) printDirectory(list api.Directory) error {
	for _, one := range list.Items {
		text := one.Name + "  " + one.Description
		if one.Refused != "" {
			text = one.Name + "  cannot be installed: " + one.Refused
		}
		if _, err := fmt.Fprintln(p.Stdout, terminal.EscapeLine(text)); err != nil {
			return err
		}
	}
	return nil
}
