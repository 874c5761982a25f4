package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"

	"github.com/spf13/cobra"
)

func (p *program) clients() *cobra.Command {
	cmd := &cobra.Command{Use: "clients", Short: "Connect and disconnect the AI clients on this machine", Args: noArgs}
	var all bool
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listClients(all || p.json) }
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

// clientDocument is one client of clients list --json.
type clientDocument struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Path      string `json:"path"`
	Detected  bool   `json:"detected"`
	Connected bool   `json:"connected"`
	Problem   string `json:"problem"`
	State     string `json:"state"`
	Key       string `json:"key"`
	Project   string `json:"project,omitempty"`
	Reload    string `json:"reload"`
	MaxTools  int    `json:"maxTools,omitempty"`
}

func (p *program) clientsList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the installed clients", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return p.listClients(all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "include clients that are not installed")
	return cmd
}

func (p *program) listClients(all bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	docs := []clientDocument{}
	t := table{title: "Clients", head: []string{"ID", "Client", "State", "File"}}
	left := 0
	for _, s := range c.List() {
		if !all && !s.Detected && !s.Connected {
			left++
			continue
		}
		docs = append(docs, clientDocument{s.Client.ID, s.Client.Name, s.Path, s.Detected, s.Connected, s.Problem,
			string(s.State), s.Key, s.Project, s.Client.ApplyHint(), s.Client.MaxTools})
		state := "not installed"
		switch {
		case s.State == clientconf.Connected:
			state = "connected"
		case s.Problem != "":
			state = truncate(s.Problem, 50)
		case s.Detected:
			state = "not connected"
		}
		t.add(s.Key, s.Client.Name, state, s.Path)
	}
	if p.json {
		return p.printJSON(map[string]any{"items": docs, "next": ""})
	}
	if len(t.rows) == 0 {
		_, err := fmt.Fprintf(p.Stdout, "None of the %s that Drawbridge supports is installed. List them with: drawbridge clients --all\n", core.Plural(left, "client"))
		return err
	}
	if err := p.printTable(&t); err != nil || left == 0 {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "Not installed: %s supported by Drawbridge. List them with: drawbridge clients --all\n", core.Plural(left, "more client"))
	return err
}

// confirm asks for confirmation. Without a terminal it fails.
func (p *program) confirm(question string) error {
	if p.json || !p.Terminal() {
		return usageError{errors.New("nothing was written: use --yes to skip the confirmation")}
	}
	return p.confirmOrFail(question, "nothing was written")
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
