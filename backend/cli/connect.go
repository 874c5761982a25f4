package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"drawbridge/backend/clientconf"
	"drawbridge/backend/hub"
	"drawbridge/backend/loopback"

	"github.com/spf13/cobra"
)

// connectFlags say how a client is to be connected.
type connectFlags struct {
	yes, http, byVariable, snippet bool
	project, server                string
}

func (f *connectFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().StringVar(&f.project, "project", "", "the file of the project in this folder")
}

// choice makes a connector's choice of the flags. HTTP needs the daemon's address.
func (p *program) choice(client string, f connectFlags) (choice clientconf.Choice, err error) {
	choice = clientconf.Choice{Client: client, HTTP: f.http, ByVariable: f.byVariable}
	if f.project != "" {
		if choice.Project, err = filepath.Abs(f.project); err != nil {
			return choice, err
		}
	}
	if f.server != "" {
		choice.Servers = []clientconf.Single{{Name: f.server, Server: f.server}}
	}
	if !f.http {
		return choice, nil
	}
	folders, err := p.folders()
	if err != nil {
		return choice, err
	}
	rt, running, err := loopback.FindDaemon(folders.Data)
	if err != nil || !running {
		return choice, &hub.Error{Code: hub.CodeUnavailable, Message: "an entry with an address needs a running Drawbridge",
			Hint: "Start it with: drawbridge serve. Or leave --http out: the shim starts it when needed.", Cause: err}
	}
	choice.URL = rt.URL
	choice.Token, err = p.tokenOf(client)
	return choice, err
}

// tokenOf returns a client's token, made when there is none.
func (p *program) tokenOf(client string) (string, error) {
	folders, err := p.folders()
	if err != nil {
		return "", err
	}
	tokens, err := loopback.NewTokens(folders.Data, nil)
	if err != nil {
		return "", err
	}
	t, err := tokens.Create(client)
	return t.Token, err
}

func (p *program) clientsConnect() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use: "connect CLIENT", Short: "Write our entry into a client's configuration file", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			choice, err := p.choice(args[0], f)
			if err != nil {
				return err
			}
			if f.snippet {
				text, err := c.Snippet(choice)
				if err != nil {
					return err
				}
				if p.json {
					return p.document(map[string]any{"id": args[0], "snippet": text})
				}
				_, err = fmt.Fprintln(p.Stdout, text)
				return err
			}
			plan, err := c.Plan(choice)
			if err != nil {
				return err
			}
			return p.carryOut(cmd.Context(), c, plan, f.yes)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.http, "http", false, "write the address instead of a program: Drawbridge must then run before the client")
	cmd.Flags().BoolVar(&f.byVariable, "token-by-variable", false, "with --http: refer to "+clientconf.TokenVar+" instead of writing the token")
	cmd.Flags().StringVar(&f.server, "server", "", "connect this server alone, under its own name")
	cmd.Flags().BoolVar(&f.snippet, "snippet", false, "print what to paste, and write nothing")
	return cmd
}

// carryOut shows a plan, asks, and makes the change.
func (p *program) carryOut(ctx context.Context, c *clientconf.Connector, plan *clientconf.Plan, yes bool) error {
	if plan.Action != clientconf.Equal {
		if !p.json {
			fmt.Fprintf(p.Stdout, "%s\n%s\n", line(plan.Path), clean(plan.Diff))
			for _, w := range plan.Warnings {
				fmt.Fprintln(p.Stdout, "Note:", line(w))
			}
		}
		if !yes {
			if err := p.ask("Write this?"); err != nil {
				return err
			}
		}
		// The token first: the client may start the shim at once.
		if _, err := p.tokenOf(plan.Client.ID); err != nil {
			return err
		}
	}
	if err := c.Apply(ctx, plan); err != nil {
		return err
	}
	if p.json {
		return p.document(map[string]any{"id": plan.Client.ID, "key": plan.Key(), "path": plan.Path, "action": plan.Action,
			"diff": plan.Diff, "warnings": append([]string{}, plan.Warnings...)})
	}
	fmt.Fprintf(p.Stdout, "%s is connected.", plan.Client.Name)
	if plan.Client.Reload != "" {
		fmt.Fprintf(p.Stdout, " To use it: %s.", strings.TrimSuffix(plan.Client.Reload, "."))
	}
	fmt.Fprintln(p.Stdout)
	return nil
}

func (p *program) clientsDiff() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use: "diff CLIENT", Short: "Show what connecting a client would change", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			choice, err := p.choice(args[0], f)
			if err != nil {
				return err
			}
			plan, err := c.Plan(choice)
			if err != nil {
				return err
			}
			if p.json {
				return p.document(map[string]any{"id": args[0], "path": plan.Path, "action": plan.Action, "diff": plan.Diff, "warnings": append([]string{}, plan.Warnings...)})
			}
			if plan.Action == clientconf.Equal {
				_, err = fmt.Fprintln(p.Stdout, "Nothing would change.")
				return err
			}
			_, err = fmt.Fprint(p.Stdout, clean(plan.Diff))
			return err
		},
	}
	cmd.Flags().BoolVar(&f.http, "http", false, "with an address instead of a program")
	cmd.Flags().StringVar(&f.project, "project", "", "the file of the project in this folder")
	cmd.Flags().StringVar(&f.server, "server", "", "this server alone")
	return cmd
}

func (p *program) clientsImport() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use: "import CLIENT [SERVER...]", Short: "Copy a client's servers into our configuration", Args: between(1, 1000),
		Long: "Copy a client's servers into our configuration. The client keeps its own; to replace them use move.\nNothing is evaluated: references to variables stay references.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			choice, err := p.choice(args[0], f)
			if err != nil {
				return err
			}
			t, err := c.Take(choice, args[1:])
			if err != nil {
				return err
			}
			if !p.json {
				p.printImports(t.Servers)
				fmt.Fprintf(p.Stdout, "\n%s\n", clean(t.Diff))
			}
			if t.Diff != "" {
				if !f.yes {
					if err := p.ask("Write this?"); err != nil {
						return err
					}
				}
				if err := t.Apply(); err != nil {
					return err
				}
			}
			if p.json {
				return p.document(map[string]any{"items": t.Servers, "next": "", "path": t.Path})
			}
			_, err = fmt.Fprintf(p.Stdout, "%d servers are in %s.\n", len(t.Servers), line(t.Path))
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func (p *program) printImports(all []clientconf.Import) {
	for _, i := range all {
		how := "becomes " + i.Label
		if i.Have {
			how = "is there already as " + i.Label
		}
		fmt.Fprintf(p.Stdout, "%s %s: %s\n", line(i.Name), how, line(string(i.Entry)))
		if len(i.Same) > 0 {
			fmt.Fprintf(p.Stdout, "  also in: %s\n", strings.Join(i.Same, ", "))
		}
		for _, note := range i.Notes {
			fmt.Fprintf(p.Stdout, "  note: %s\n", line(note))
		}
	}
}

func (p *program) clientsMove() *cobra.Command {
	var f connectFlags
	var together bool
	cmd := &cobra.Command{
		Use: "move CLIENT [SERVER...]", Short: "Take a client's servers over and connect it in their place", Args: between(1, 1000),
		Long: "Take a client's servers over and connect it in their place, each under its old name, so that\npermission rules keep working. clients undo CLIENT takes all of it back.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			choice, err := p.choice(args[0], f)
			if err != nil {
				return err
			}
			plan, err := c.Move(choice, args[1:], together)
			if err != nil {
				return err
			}
			return p.carryOut(cmd.Context(), c, plan, f.yes)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&together, "together", false, "one entry for all servers; tool names change")
	return cmd
}

func (p *program) clientsDisconnect() *cobra.Command {
	var f connectFlags
	var force, all, restore bool
	cmd := &cobra.Command{
		Use: "disconnect [CLIENT]", Short: "Take our entry out of a client's configuration file", Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all != (len(args) == 0) {
				return usageError{errors.New("name a client, or say --all")}
			}
			if all {
				return p.disconnectAll(cmd.Context(), force)
			}
			return p.undo(cmd.Context(), args[0], f.project, force)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also when the entry was changed by hand")
	cmd.Flags().BoolVar(&all, "all", false, "every client")
	cmd.Flags().BoolVar(&restore, "restore", false, "accepted for scripts; what move took is always put back")
	return cmd
}

func (p *program) clientsUndo() *cobra.Command {
	var f connectFlags
	var force bool
	cmd := &cobra.Command{
		Use: "undo CLIENT", Short: "Take back what connect or move did", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.undo(cmd.Context(), args[0], f.project, force)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also when the entry was changed by hand")
	return cmd
}

var undoneWords = map[clientconf.Undone]string{
	clientconf.Restored:  "The file is byte for byte what it was before.",
	clientconf.Removed:   "Our entry is removed; the rest of the file was changed since and stays.",
	clientconf.WasAbsent: "Our entry was gone already.",
}

func (p *program) undo(ctx context.Context, client, project string, force bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	key := client
	if project != "" {
		dir, err := filepath.Abs(project)
		if err != nil {
			return err
		}
		key = clientconf.Key(client, dir)
	}
	how, err := c.Undo(ctx, key, force)
	if err != nil {
		return err
	}
	if p.json {
		return p.document(map[string]any{"id": client, "key": key, "undone": how})
	}
	_, err = fmt.Fprintln(p.Stdout, undoneWords[how])
	return err
}

// disconnectAll goes through every connection; one that fails does not stop the others.
func (p *program) disconnectAll(ctx context.Context, force bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	keys, err := c.Connections()
	if err != nil {
		return err
	}
	type undone struct {
		Key    string            `json:"key"`
		Undone clientconf.Undone `json:"undone,omitempty"`
		Error  string            `json:"error,omitempty"`
	}
	items := []undone{}
	var failed error
	for _, key := range slices.Backward(keys) { // the newest first: what is moved out last goes back first
		how, err := c.Undo(ctx, key, force)
		u := undone{Key: key, Undone: how}
		if err != nil {
			u.Error = err.Error()
			failed = errors.Join(failed, fmt.Errorf("%s: %w", key, err))
		}
		items = append(items, u)
		if !p.json && err == nil {
			fmt.Fprintf(p.Stdout, "%s: %s\n", key, undoneWords[how])
		}
	}
	if p.json {
		return errors.Join(p.document(map[string]any{"items": items, "next": ""}), failed)
	}
	if len(items) == 0 {
		fmt.Fprintln(p.Stdout, "No client is connected.")
	}
	return failed
}

func (p *program) clientsRestore() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use: "restore CLIENT", Short: "Put our entry back where a client lost it", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			key, err := keyOf(args[0], f.project)
			if err != nil {
				return err
			}
			whole, err := c.Restore(cmd.Context(), key, p.tokenOf)
			if err != nil {
				return err
			}
			if p.json {
				return p.document(map[string]any{"key": key, "whole": whole})
			}
			_, err = fmt.Fprintln(p.Stdout, "The entry is back.")
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func (p *program) clientsForget() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use: "forget CLIENT", Short: "Say that our entry was removed on purpose", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			key, err := keyOf(args[0], f.project)
			if err != nil {
				return err
			}
			if err := c.Forget(key); err != nil {
				return err
			}
			if p.json {
				return p.document(map[string]any{"key": key, "forgotten": true})
			}
			_, err = fmt.Fprintln(p.Stdout, "Drawbridge will not mention it again.")
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func keyOf(client, project string) (string, error) {
	if project == "" {
		return client, nil
	}
	dir, err := filepath.Abs(project)
	return clientconf.Key(client, dir), err
}

func (p *program) clientsSavings() *cobra.Command {
	return &cobra.Command{
		Use: "savings", Short: "Count the MCP servers that clients start by themselves", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			folders, err := p.folders()
			if err != nil {
				return err
			}
			rt, _, _ := loopback.FindDaemon(folders.Data)
			s := c.Savings(rt.PID)
			if p.json {
				return p.document(s)
			}
			_, err = fmt.Fprintf(p.Stdout, "Found %d servers in %d clients; %d run now, %d of them duplicates, %.1f GB.\n",
				s.Configured, s.Clients, len(s.Running), s.Copies, float64(s.Bytes)/(1<<30))
			return err
		},
	}
}
