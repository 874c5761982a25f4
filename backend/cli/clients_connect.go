package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/spf13/cobra"
)

// connectFlags configure how a client is connected.
type connectFlags struct {
	yes, http, byVariable, snippet, force bool
	project, server                       string
}

func (f *connectFlags) yesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
}

func (f *connectFlags) forceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.force, "force", false, "replace or remove the entry even if it was changed manually")
}

// addFormFlags are the flags for the form of the entry.
func (f *connectFlags) addFormFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.http, "http", false, "write a URL instead of a command; Drawbridge must then be running before the client starts")
	cmd.Flags().BoolVar(&f.byVariable, "token-by-variable", false, "with --http: refer to "+clientconf.TokenVar+" instead of writing the token")
	cmd.Flags().StringVar(&f.server, "server", "", "connect only this `SERVER`, under its own name")
}

// clientCommandRun is the execution of a command for one client.
type clientCommandRun struct {
	ctx    context.Context
	c      *clientconf.Connector
	choice clientconf.Choice
	key    string   // of the connection
	rest   []string // the arguments after the client
}

// clientCommand returns a command whose first argument is a client.
func (p *program) clientCommand(f *connectFlags, use, short string, most int, run func(clientCommandRun) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: argCount(1, most),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			choice, err := p.connectOptions(args[0], *f)
			if err != nil {
				return err
			}
			return run(clientCommandRun{cmd.Context(), c, choice, clientconf.Key(choice.Client, choice.Project), args[1:]})
		},
	}
	cmd.Flags().StringVar(&f.project, "project", "", "use the project file in this `FOLDER`")
	return cmd
}

// printSentence prints a document with --json, otherwise a sentence.
func (p *program) printSentence(document any, sentence string) error {
	if p.json {
		return p.printJSON(document)
	}
	_, err := fmt.Fprintln(p.Stdout, sentence)
	return err
}

// connectOptions converts the flags for the connector. HTTP requires the address of the daemon.
func (p *program) connectOptions(client string, f connectFlags) (choice clientconf.Choice, err error) {
	choice = clientconf.Choice{Client: client, HTTP: f.http, ByVariable: f.byVariable}
	if f.project != "" {
		if choice.Project, err = filepath.Abs(f.project); err != nil {
			return choice, err
		}
	}
	if f.server != "" {
		choice.Servers = []clientconf.ServerEntry{{Name: f.server, Server: f.server}}
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
		return choice, &core.Error{Code: core.CodeUnavailable, Message: "--http requires Drawbridge to be running",
			Hint: "Start it with: drawbridge. Without --http, the shim starts it when needed.", Cause: err}
	}
	choice.URL = rt.URL
	choice.Token, err = p.tokenOf(client)
	return choice, err
}

// tokenOf returns the token of a client and creates it if there is none.
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
	cmd := p.clientCommand(&f, "connect CLIENT", "Add the Drawbridge entry to a client's configuration file", 1, func(r clientCommandRun) error {
		if f.snippet {
			return p.printManualSetup(r)
		}
		plan, err := r.c.Plan(r.choice)
		if err != nil {
			return err
		}
		return p.applyPlan(r, plan, f.yes)
	})
	f.yesFlag(cmd)
	f.addFormFlags(cmd)
	cmd.Flags().BoolVar(&f.snippet, "snippet", false, "print a snippet to paste, and write nothing")
	p.addAllFlag(cmd, "all installed clients that are not connected, with one confirmation", func(ctx context.Context) error {
		if f.http || f.server != "" || f.project != "" || f.snippet {
			return usageError{errors.New("--all can only be combined with --yes")}
		}
		c, err := p.connector()
		if err != nil {
			return err
		}
		t := c.PlanConnectAll()
		return p.applyToAll(ctx, t, f.yes, "Connect "+describeCount(t)+"?")
	})
	return cmd
}

// printManualSetup prints what the user needs for a manual setup.
func (p *program) printManualSetup(r clientCommandRun) error {
	h, err := r.c.ManualSetup(r.choice)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(map[string]any{"id": r.choice.Client, "snippet": h.Text, "link": h.Link, "bundle": h.Bundle, "path": h.Path, "steps": h.Steps})
	}
	fmt.Fprintln(p.Stdout, h.Text)
	if h.Link != "" {
		fmt.Fprintln(p.Stderr, h.Link)
	}
	for _, step := range h.Steps {
		fmt.Fprintln(p.Stderr, escapeLine(step))
	}
	return nil
}

// applyPlan shows a plan, asks for confirmation, and applies it.
func (p *program) applyPlan(r clientCommandRun, plan *clientconf.Plan, yes bool) error {
	if plan.Action != clientconf.Equal {
		if !p.json {
			fmt.Fprintf(p.Stdout, "%s\n%s\n", escapeLine(plan.Path), escapeText(plan.Diff))
			for _, w := range plan.Warnings {
				fmt.Fprintln(p.Stdout, "Note:", escapeLine(w))
			}
		}
		if err := p.confirm(yes, "Write this?"); err != nil {
			return err
		}
		if err := p.confirmLinks(yes, plan); err != nil {
			return err
		}
		// The token is created first, because the client may start the shim immediately.
		if _, err := p.tokenOf(plan.Client.ID); err != nil {
			return err
		}
	}
	if err := r.c.Apply(r.ctx, plan); err != nil {
		return err
	}
	sentence := plan.Client.Name + " is connected."
	if hint := plan.Client.ApplyHint(); hint != "" && plan.Action != clientconf.Equal {
		sentence += " " + hint
	}
	return errors.Join(p.printSentence(api.NewConnectionPlan(plan), sentence), skippedError(&clientconf.Batch{Plans: []*clientconf.Plan{plan}}))
}

func (p *program) clientsDiff() *cobra.Command {
	var f connectFlags
	cmd := p.clientCommand(&f, "diff CLIENT", "Show what connecting a client would change", 1, func(r clientCommandRun) error {
		plan, err := r.c.Plan(r.choice)
		if err != nil {
			return err
		}
		if plan.Action == clientconf.Equal {
			return p.printSentence(api.NewConnectionPlan(plan), "Nothing would change.")
		}
		return p.printSentence(api.NewConnectionPlan(plan), strings.TrimSuffix(escapeText(plan.Diff), "\n"))
	})
	f.addFormFlags(cmd)
	return cmd
}
