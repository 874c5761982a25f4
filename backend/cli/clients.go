package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"

	"github.com/spf13/cobra"
)

func (p *program) clients() *cobra.Command {
	cmd := &cobra.Command{Use: "clients", Short: "Connect and disconnect the AI clients on this machine", Args: noArgs}
	var all bool
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listClients(cmd.Context(), all || p.json) }
	cmd.Flags().BoolVar(&all, "all", false, "include clients that are not installed")
	cmd.AddCommand(p.clientsList(), p.clientsConnect(), p.clientsDisconnect(), p.clientsUndo(), p.clientsDiff(), p.clientsImport(), p.clientsMove(),
		p.clientsRestore(), p.clientsForget(), p.clientsImports(), p.clientsBundle(), p.clientsFeatures())
	return cmd
}

// connector works on the files of the user.
func (p *program) connector() (*clientconf.Connector, error) {
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	return clientconf.NewDefault(folders.Data, folders.CustomData, p.sources(folders).Main(), secret.For(folders.Data, p.Getenv), p.Getenv)
}

func (p *program) clientsList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the installed clients", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listClients(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "include clients that are not installed")
	return cmd
}

func (p *program) listClients(ctx context.Context, all bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	list := []api.Connection{}
	left := 0
	for _, s := range c.List() {
		if all || s.Detected || s.Connected {
			list = append(list, api.NewConnection(s))
		} else {
			left++
		}
	}
	if p.json {
		p.addActivity(ctx, list)
	}
	t := table{
		title: "Clients", head: []string{"ID", "Client", "State", "File"},
		empty: "None of the " + core.Plural(left, "client") + " that Drawbridge supports is installed. List them with: drawbridge clients --all",
	}
	err = printList(p, list, t, func(c api.Connection) []string { return []string{c.Key, c.Name, describeConnection(c), c.Path} })
	if err != nil || p.json || left == 0 || len(list) == 0 {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "Not installed: %s supported by Drawbridge. List them with: drawbridge clients --all\n", core.Plural(left, "more client"))
	return err
}

func describeConnection(c api.Connection) string {
	switch {
	case c.State == string(clientconf.Connected):
		return "connected"
	case c.Problem != "":
		return truncate(c.Problem, 50)
	case c.Detected:
		return "not connected"
	}
	return "not installed"
}

// addActivity adds what only a running daemon knows: the sessions and the tools of each client.
func (p *program) addActivity(ctx context.Context, list []api.Connection) {
	if !p.isDaemonRunning() {
		return
	}
	d, err := p.daemon()
	if err != nil {
		return
	}
	known, err := get[api.List[api.Connection]](ctx, d, "connections", nil)
	if err != nil {
		return
	}
	for _, one := range known.Items {
		at := slices.IndexFunc(list, func(c api.Connection) bool { return c.Key == one.Key && c.Path == one.Path })
		if at >= 0 {
			list[at] = one
		}
	}
}

// confirm asks for confirmation unless yes is set. Without a terminal it fails.
func (p *program) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if p.json || !p.Terminal() {
		return usageError{errors.New("nothing was written: use --yes to skip the confirmation")}
	}
	return p.confirmOrFail(question, "nothing was written")
}

// confirmLinks asks again for each file outside the home folder, to which a link in it leads.
func (p *program) confirmLinks(yes bool, plans ...*clientconf.Plan) error {
	for _, plan := range plans {
		if target := plan.Outside(); target != "" {
			if err := p.confirm(yes, escapeLine("Write "+target+", outside your home folder?")); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirmOrFail asks for confirmation; its error says what was not done.
func (p *program) confirmOrFail(question, otherwise string) error {
	fmt.Fprint(p.Stdout, question+" [y/N] ")
	var answer string
	_, _ = fmt.Fscanln(p.Stdin, &answer)
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return core.Errorf(core.CodeCancelled, "%s", otherwise)
	}
	return nil
}
