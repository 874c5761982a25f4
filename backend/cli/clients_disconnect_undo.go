package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"

	"github.com/spf13/cobra"
)

var undoneWords = map[clientconf.UndoOutcome]string{
	clientconf.Restored:  "The file was restored byte for byte.",
	clientconf.Removed:   "The Drawbridge entry was removed; other changes since then were kept.",
	clientconf.WasAbsent: "There was no Drawbridge entry to remove.",
}

var undoneImportWords = map[clientconf.UndoOutcome]string{
	clientconf.Restored:  "The configuration of Drawbridge was restored byte for byte.",
	clientconf.Removed:   "The imported servers were removed; other changes since then were kept.",
	clientconf.WasAbsent: "The imported servers had already been removed.",
}

func (p *program) clientsDisconnect() *cobra.Command {
	var f connectFlags
	var all, restore bool
	one := p.clientCommand(&f, "disconnect [CLIENT]", "Remove the Drawbridge entry from a client's configuration file", 1, func(r clientCommandRun) error {
		return p.undo(r, f.force)
	})
	named := one.RunE
	one.Args = argCount(0, 1)
	one.RunE = func(cmd *cobra.Command, args []string) error {
		if all != (len(args) == 0) {
			return usageError{errors.New("specify a client, or use --all")}
		}
		if all {
			return p.disconnectAll(cmd.Context(), f.force)
		}
		return named(cmd, args)
	}
	f.yesFlag(one)
	f.forceFlag(one)
	one.Flags().BoolVar(&all, "all", false, "all connected clients")
	one.Flags().BoolVar(&restore, "restore", false, "has no effect: moved servers are always restored (kept for old scripts)")
	return one
}

func (p *program) clientsUndo() *cobra.Command {
	var f connectFlags
	var imported string
	var all bool
	cmd := p.clientCommand(&f, "undo CLIENT [SERVER...]", "Undo a connection, move or import", 1000, func(r clientCommandRun) error {
		if len(r.rest) == 0 {
			return p.undo(r, f.force)
		}
		how, err := r.c.UndoServers(r.ctx, r.key, r.rest, f.force)
		if err != nil {
			return err
		}
		return p.printSentence(map[string]any{"id": r.choice.Client, "key": r.key, "undone": how, "servers": r.rest}, "Restored: the client starts its own servers again.")
	})
	cmd.Long = "Undo a connection, move or import. With SERVER, only the moves of these servers are undone.\nIf a client is not connected, its newest import is undone."
	client := cmd.RunE
	cmd.Args = argCount(0, 1000)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := 0
		for _, given := range []bool{all, imported != "", len(args) > 0} {
			if given {
				named++
			}
		}
		if named != 1 {
			return usageError{errors.New("specify a client, or an import with --import, or use --all")}
		}
		if all {
			return p.undoAll(cmd.Context(), f.yes, f.force)
		}
		if imported == "" {
			return client(cmd, args)
		}
		c, err := p.connector()
		if err != nil {
			return err
		}
		return p.undoImport(cmd.Context(), c, imported)
	}
	f.yesFlag(cmd)
	f.forceFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "undo all connections, moves and imports, the newest first")
	cmd.Flags().StringVar(&imported, "import", "", "undo the import with this `ID` (see clients imports)")
	return cmd
}

func (p *program) undo(r clientCommandRun, force bool) error {
	if _, connected := r.c.Status(r.key); !connected {
		all, err := r.c.Imports()
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(all, func(t clientconf.ImportRecord) bool { return t.Client == r.choice.Client }); at >= 0 {
			return p.undoImport(r.ctx, r.c, all[at].ID)
		}
	}
	how, err := r.c.Undo(r.ctx, r.key, force)
	if err != nil {
		return err
	}
	return p.printSentence(map[string]any{"id": r.choice.Client, "key": r.key, "undone": how}, undoneWords[how])
}

func (p *program) undoImport(ctx context.Context, c *clientconf.Connector, id string) error {
	how, err := c.UndoImport(ctx, id)
	if err != nil {
		return err
	}
	return p.printSentence(map[string]any{"import": id, "undone": how}, undoneImportWords[how])
}

// disconnectAll removes every connection; a failure does not stop the others.
func (p *program) disconnectAll(ctx context.Context, force bool) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	return p.undoEach(ctx, c, false, force)
}

func (p *program) clientsRestore() *cobra.Command {
	var f connectFlags
	cmd := p.clientCommand(&f, "restore CLIENT", "Restore the Drawbridge entry if a client removed it", 1, func(r clientCommandRun) error {
		whole, err := r.c.Restore(r.ctx, r.key, p.tokenOf)
		if err != nil {
			return err
		}
		return p.printSentence(map[string]any{"key": r.key, "whole": whole}, "The entry was restored.")
	})
	f.yesFlag(cmd)
	return cmd
}

func (p *program) clientsForget() *cobra.Command {
	var f connectFlags
	cmd := p.clientCommand(&f, "forget CLIENT", "Stop tracking an entry that was removed intentionally", 1, func(r clientCommandRun) error {
		if err := r.c.Forget(r.key); err != nil {
			return err
		}
		return p.printSentence(map[string]any{"key": r.key, "forgotten": true}, "Drawbridge no longer reports the missing entry.")
	})
	f.yesFlag(cmd)
	return cmd
}
