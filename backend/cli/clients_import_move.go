package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

func (p *program) clientsImport() *cobra.Command {
	var f connectFlags
	cmd := p.clientCommand(&f, "import CLIENT [SERVER...]", "Copy a client's servers to the configuration of Drawbridge", 1000, func(r clientCommandRun) error {
		t, err := r.c.PlanImport(r.choice, r.rest)
		if err != nil {
			return err
		}
		if !p.json {
			p.printImports(t)
			fmt.Fprintf(p.Stdout, "\n%s\n", escapeText(t.Diff))
		}
		id := ""
		if t.Diff != "" {
			if err := p.confirm(f.yes, "Write this?"); err != nil {
				return err
			}
			if id, err = t.Apply(r.ctx); err != nil {
				return err
			}
		}
		sentence := fmt.Sprintf("Copied %s to %s.", core.Plural(len(t.Servers), "server"), escapeLine(t.Path))
		if len(t.Skipped) > 0 {
			sentence += fmt.Sprintf(" Skipped %s.", core.Plural(len(t.Skipped), "server"))
		}
		if id != "" {
			sentence += " Undo with: drawbridge clients undo --import " + id
		}
		document := map[string]any{"items": t.Servers, "skipped": append([]clientconf.SkippedServer{}, t.Skipped...), "next": "", "path": t.Path, "id": id}
		return errors.Join(p.printSentence(document, sentence), skippedError(&clientconf.Batch{Imports: []*clientconf.ImportPlan{t}}))
	})
	cmd.Long = "Copy a client's servers to the configuration of Drawbridge. The client keeps its entries; to replace them, use move.\n" +
		"Variable references are copied as they are, without being expanded. Literal tokens are stored as secrets."
	f.yesFlag(cmd)
	p.addAllFlag(cmd, "all installed clients with servers, with one confirmation", func(ctx context.Context) error {
		c, err := p.connector()
		if err != nil {
			return err
		}
		t := c.PlanImportAll()
		return p.applyToAll(ctx, t, f.yes, "Copy "+describeCount(t)+"?")
	})
	return cmd
}

func (p *program) printImports(t *clientconf.ImportPlan) {
	for _, i := range t.Servers {
		how := "becomes " + i.Label
		if i.Exists {
			how = "already exists as " + i.Label
		}
		fmt.Fprintf(p.Stdout, "%s %s: %s\n", escapeLine(i.Name), how, escapeLine(string(i.Entry)))
		if len(i.SharedWith) > 0 {
			fmt.Fprintf(p.Stdout, "  also in: %s\n", strings.Join(i.SharedWith, ", "))
		}
		for _, note := range i.Notes {
			fmt.Fprintf(p.Stdout, "  note: %s\n", escapeLine(note))
		}
	}
	for _, s := range t.Skipped {
		fmt.Fprintf(p.Stdout, "%s is skipped: %s\n", escapeLine(s.Name), escapeLine(s.Reason))
	}
}

func (p *program) clientsImports() *cobra.Command {
	return &cobra.Command{
		Use: "imports", Short: "List the imports that can be undone", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := p.connector()
			if err != nil {
				return err
			}
			all, err := c.Imports()
			if err != nil {
				return err
			}
			list := []clientconf.CompletedImport{}
			for _, i := range all {
				list = append(list, i.CompletedImport)
			}
			t := table{title: "Imports", head: []string{"ID", "Client", "Servers"}}
			return printList(p, list, t, func(i clientconf.CompletedImport) []string {
				return []string{i.ID, i.Client, strings.Join(i.Servers, ", ")}
			})
		},
	}
}

func (p *program) clientsMove() *cobra.Command {
	var f connectFlags
	var singleEntry bool
	cmd := p.clientCommand(&f, "move CLIENT [SERVER...]", "Move a client's servers to Drawbridge and connect the client", 1000, func(r clientCommandRun) error {
		plan, err := r.c.PlanMove(r.choice, r.rest, singleEntry)
		if err != nil {
			return err
		}
		return p.applyPlan(r, plan, f.yes)
	})
	cmd.Long = "Move a client's servers to Drawbridge and replace each entry with one that has the same name, so that\npermission rules keep working. With SERVER, only these servers are moved.\n\"drawbridge clients undo CLIENT [SERVER...]\" reverts all moves, or only those of the named servers."
	f.yesFlag(cmd)
	cmd.Flags().BoolVar(&singleEntry, "single-entry", false, "one entry for all servers; tool names change")
	p.addAllFlag(cmd, "all installed clients with servers, with one confirmation", func(ctx context.Context) error {
		if singleEntry || f.project != "" {
			return usageError{errors.New("--all can only be combined with --yes")}
		}
		c, err := p.connector()
		if err != nil {
			return err
		}
		t := c.PlanMoveAll()
		return p.applyToAll(ctx, t, f.yes, "Move "+describeCount(t)+" to Drawbridge?")
	})
	return cmd
}

func (p *program) clientsBundle() *cobra.Command {
	var f connectFlags
	var out string
	cmd := p.clientCommand(&f, "bundle CLIENT", "Write an extension that connects a client without changing its configuration file", 1, func(r clientCommandRun) error {
		content, err := r.c.Bundle(r.choice.Client, p.Version)
		if err != nil {
			return err
		}
		if err := os.WriteFile(out, content, 0o644); err != nil { //nolint:gosec // it holds no secret
			return err
		}
		return p.printSentence(map[string]any{"id": r.choice.Client, "path": out}, escapeLine(out)+" was written. Open it with the client to install it.")
	})
	cmd.Flags().StringVarP(&out, "output", "o", clientconf.BundleName, "the `FILE` to write")
	return cmd
}
