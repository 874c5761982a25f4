package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// addMaintenanceCommands adds the commands that maintain and pause the history.
func (p *program) addMaintenanceCommands(history *cobra.Command) *cobra.Command {
	history.AddCommand(
		p.historyPrune(),
		p.recordFull(),
		&cobra.Command{
			Use: "vacuum", Short: "Compact the database: release the disk space of deleted calls", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return p.historyState(cmd.Context(), "history/vacuum") },
		},
		&cobra.Command{
			Use: "backup FILE", Short: "Back up the history to a new file", Args: argCount(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				return show(cmd.Context(), p, http.MethodPost, "history/backup", nil, map[string]string{"path": path}, func(file api.BackupFile) error {
					_, err := fmt.Fprintln(p.Stdout, escapeLine(file.Path))
					return err
				})
			},
		},
		p.historyRestore(),
		p.historyExport(),
	)
	return history
}

func (p *program) historyRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup of the history; the current history is kept in the same folder", Args: argCount(1, 1),
		Long: "Restore a backup of the history; the current history is kept in the same folder. Drawbridge must not be running.",
		RunE: func(cmd *cobra.Command, args []string) error {
			folders, err := p.folders()
			if err != nil {
				return err
			}
			aside, err := p.RestoreHistory(cmd.Context(), folders, args[0])
			if err != nil {
				return err
			}
			text := "The history was restored from " + args[0] + "."
			if aside != "" {
				text += " The previous history was kept as " + aside + "."
			}
			return p.printSentence(map[string]string{"file": args[0], "aside": aside}, text)
		},
	}
}

func (p *program) historyState(ctx context.Context, path string) error {
	return show(ctx, p, http.MethodPost, path, nil, nil, func(state api.HistoryState) error {
		_, err := fmt.Fprintf(p.Stdout, "%s in %d bytes, %d of them free\n", core.Plural(int(state.Calls), "call"), state.Bytes, state.FreeBytes)
		return err
	})
}

func (p *program) historyExport() *cobra.Command {
	var asCSV, asHAR bool
	var filter callFilter
	cmd := &cobra.Command{
		Use: "export", Short: "Export calls with their payloads to standard output as JSON Lines", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := p.query(cmd.Context(), filter)
			if err != nil {
				return err
			}
			switch {
			case asCSV && asHAR:
				return usageError{errors.New("--csv and --har cannot be combined")}
			case asCSV:
				query.Set("format", "csv")
			case asHAR:
				query.Set("format", "har")
			}
			return p.export(cmd.Context(), query)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asCSV, "csv", false, "write CSV")
	f.BoolVar(&asHAR, "har", false, "write an HTTP Archive for browser developer tools")
	filter.flags(f)
	return cmd
}

// export writes the response of the daemon unchanged.
func (p *program) export(ctx context.Context, query url.Values) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	resp, err := d.send(ctx, http.MethodGet, "export", query, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(p.Stdout, resp.Body); err != nil {
		return fmt.Errorf("cannot export the calls: %w", err)
	}
	return nil
}
