package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"drawbridge/backend/clientconf"

	"github.com/spf13/cobra"
)

// withAll lets a command about one client have --all in its place.
func (p *program) withAll(cmd *cobra.Command, about string, run func(ctx context.Context) error) {
	var all bool
	one, most := cmd.RunE, cmd.Args
	cmd.Use = strings.Replace(cmd.Use, " CLIENT", " CLIENT|--all", 1)
	cmd.Flags().BoolVar(&all, "all", false, about)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && len(args) == 0:
			return nil
		case all || len(args) == 0:
			return usageError{errors.New("name a client, or say --all")}
		}
		return most(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all {
			return run(cmd.Context())
		}
		return one(cmd, args)
	}
}

// carryOutAll shows one plan for all clients, asks once, and makes the changes.
func (p *program) carryOutAll(ctx context.Context, c *clientconf.Connector, t *clientconf.Together, yes bool, question func() string) error {
	if !p.json {
		p.showTogether(t)
	}
	if t.Clients() == 0 {
		return p.say(map[string]any{"items": []any{}, "skipped": skipped(t), "next": ""}, "There is nothing to do.")
	}
	if !yes {
		if err := p.ask(question()); err != nil {
			return err
		}
	}
	if err := c.KeepSavings(p.daemonPID()); err != nil {
		return err
	}
	token := func(client string) error { // the client may start the shim at once
		_, err := p.tokenOf(client)
		return err
	}
	if err := t.Apply(ctx, token); err != nil {
		return err
	}
	docs := []map[string]any{}
	sentences := []string{"Done: " + counted(t) + ". To take all of it back: drawbridge clients undo --all"}
	for _, plan := range t.Plans {
		docs = append(docs, planDocument(plan))
		if plan.Client.Reload != "" && !strings.HasPrefix(plan.Client.Reload, "nothing to do") {
			sentences = append(sentences, line("  "+plan.Client.Name+": "+strings.TrimSuffix(plan.Client.Reload, ".")+"."))
		}
	}
	for _, i := range t.Imports {
		docs = append(docs, map[string]any{"items": i.Servers, "path": i.Path})
	}
	return p.say(map[string]any{"items": docs, "skipped": skipped(t), "next": ""}, strings.Join(sentences, "\n"))
}

func (p *program) showTogether(t *clientconf.Together) {
	for _, plan := range t.Plans {
		fmt.Fprintf(p.Stdout, "%s\n%s\n%s\n", line(plan.Client.Name), line(plan.Path), clean(plan.Diff))
		for _, w := range plan.Warnings {
			fmt.Fprintln(p.Stdout, "Note:", line(w))
		}
	}
	for _, i := range t.Imports {
		p.printImports(i.Servers)
		fmt.Fprintf(p.Stdout, "%s\n", clean(i.Diff))
	}
	for _, s := range t.Skipped {
		fmt.Fprintln(p.Stdout, line("Left out: "+s.Client+", "+s.Reason))
	}
}

func skipped(t *clientconf.Together) []map[string]string {
	all := []map[string]string{}
	for _, s := range t.Skipped {
		all = append(all, map[string]string{"client": s.Client, "reason": s.Reason})
	}
	return all
}

// counted is how much a step is about.
func counted(t *clientconf.Together) string {
	if n := t.Servers(); n > 0 {
		return plural(n, "server") + " from " + plural(t.Clients(), "client")
	}
	return plural(t.Clients(), "client")
}

// undoAll takes everything back that connect, move and import did, after one question.
func (p *program) undoAll(ctx context.Context, yes, force bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	keys, err := c.Connections()
	if err != nil {
		return err
	}
	imports, err := c.Imports()
	if err != nil {
		return err
	}
	if len(keys)+len(imports) == 0 {
		return p.say(map[string]any{"items": []any{}, "next": ""}, "There is nothing to take back.")
	}
	if !yes {
		if err := p.ask(fmt.Sprintf("Take back %s (%s) and %s?", plural(len(keys), "connection"), strings.Join(keys, ", "), plural(len(imports), "import"))); err != nil {
			return err
		}
	}
	return p.takeBackAll(ctx, c, true, force)
}

// takeBackAll goes through every connection, and imports too if they are meant; one that
// fails does not stop the others.
func (p *program) takeBackAll(ctx context.Context, c *clientconf.Connector, imports, force bool) error {
	list := []clientconf.UndoneOne{}
	failed := c.UndoAll(ctx, imports, force, func(u clientconf.UndoneOne) {
		list = append(list, u)
		if p.json || u.Error != "" {
			return
		}
		name, words := u.Key, undoneWords[u.Undone]
		if u.Import != "" {
			name, words = "import "+u.Import, undoneImportWords[u.Undone]
		}
		fmt.Fprintf(p.Stdout, "%s: %s\n", name, words)
	})
	if p.json {
		return errors.Join(p.document(map[string]any{"items": slices.Clip(list), "next": ""}), failed)
	}
	if len(list) == 0 {
		fmt.Fprintln(p.Stdout, "No client is connected.")
	}
	return failed
}
