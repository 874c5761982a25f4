package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"drawbridge/backend/clientconf"
	"drawbridge/backend/hub"
	"drawbridge/backend/loopback"

	"github.com/spf13/cobra"
)

func (p *program) clients() *cobra.Command {
	cmd := &cobra.Command{Use: "clients", Short: "Connect AI clients of this machine, and take them back", Args: noArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listClients(true) }
	cmd.AddCommand(p.clientsList(), p.clientsConnect(), p.clientsDisconnect())
	return cmd
}

// connector works on the person's own files.
func (p *program) connector() (*clientconf.Connector, error) {
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find our own program: %w", err)
	}
	home := p.Getenv("HOME")
	if runtime.GOOS == "windows" || home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			return nil, err
		}
	}
	data := ""
	if folders.Own {
		data = folders.Data
	}
	return clientconf.New(clientconf.Options{
		System:  clientconf.System{GOOS: runtime.GOOS, Home: home, Getenv: p.Getenv},
		Dir:     filepath.Join(folders.Data, "clients"),
		Program: self,
		Data:    data,
	})
}

// clientDocument is one client of clients list --json.
type clientDocument struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Path      string `json:"path"`
	Detected  bool   `json:"detected"`
	Connected bool   `json:"connected"`
	Problem   string `json:"problem"`
}

func (p *program) clientsList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the clients that are installed", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return p.listClients(all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "those too that are not installed")
	return cmd
}

func (p *program) listClients(all bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	docs := []clientDocument{}
	t := table{title: "Clients", head: []string{"ID", "Client", "State", "File"}}
	for _, s := range c.List() {
		if !all && !s.Detected && !s.Connected {
			continue
		}
		docs = append(docs, clientDocument{s.Client.ID, s.Client.Name, s.Path, s.Detected, s.Connected, s.Problem})
		state := "not installed"
		switch {
		case s.Connected:
			state = "connected"
		case s.Problem != "":
			state = short(s.Problem, 50)
		case s.Detected:
			state = "not connected"
		}
		t.add(s.Client.ID, s.Client.Name, state, s.Path)
	}
	if p.json {
		return p.document(map[string]any{"items": docs, "next": ""})
	}
	return t.print(p.Stdout, p.Terminal())
}

func (p *program) clientsConnect() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "connect CLIENT", Short: "Write our entry into a client's configuration file", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			plan, err := c.Plan(args[0])
			if err != nil {
				return err
			}
			if plan.Action != clientconf.Equal {
				if !p.json {
					fmt.Fprintf(p.Stdout, "%s\n%s\n", line(plan.Path), clean(plan.Diff))
				}
				if !yes {
					if err := p.ask("Write this?"); err != nil {
						return err
					}
				}
				// The token first: the client may start the shim at once.
				folders, err := p.folders()
				if err != nil {
					return err
				}
				tokens, err := loopback.NewTokens(folders.Data, nil)
				if err != nil {
					return err
				}
				if _, err := tokens.Create(args[0]); err != nil {
					return err
				}
				if err := c.Apply(cmd.Context(), plan); err != nil {
					return err
				}
			}
			if p.json {
				return p.document(map[string]any{"id": args[0], "path": plan.Path, "action": plan.Action, "diff": plan.Diff})
			}
			fmt.Fprintf(p.Stdout, "%s is connected.", plan.Client.Name)
			if plan.Client.Reload != "" {
				fmt.Fprintf(p.Stdout, " To use it: %s.", strings.TrimSuffix(plan.Client.Reload, "."))
			}
			fmt.Fprintln(p.Stdout)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (p *program) clientsDisconnect() *cobra.Command {
	var yes, force bool
	cmd := &cobra.Command{
		Use: "disconnect CLIENT", Short: "Take our entry out of a client's configuration file", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			how, err := c.Undo(cmd.Context(), args[0], force)
			if err != nil {
				return err
			}
			if p.json {
				return p.document(map[string]any{"id": args[0], "undone": how})
			}
			_, err = fmt.Fprintln(p.Stdout, map[clientconf.Undone]string{
				clientconf.Restored:  "The file is byte for byte what it was before.",
				clientconf.Removed:   "Our entry is removed; the rest of the file was changed since and stays.",
				clientconf.WasAbsent: "Our entry was gone already.",
			}[how])
			return err
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "accepted for scripts; disconnecting never asks")
	cmd.Flags().BoolVar(&force, "force", false, "also when the entry was changed by hand")
	return cmd
}

// ask needs a yes. Without a terminal there is nobody to say it.
func (p *program) ask(question string) error {
	if p.json || !p.Terminal() {
		return usageError{errors.New("nothing was written: add --yes to write without asking")}
	}
	fmt.Fprint(p.Stdout, question+" [y/N] ")
	var answer string
	_, _ = fmt.Fscanln(p.Stdin, &answer)
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return hub.Errorf(hub.CodeCancelled, "nothing was written")
	}
	return nil
}
