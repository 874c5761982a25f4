package history

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

func historyPrune(e *terminal.Env) *cobra.Command {
	var bounds PruneInputBody
	var yes, compact bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete old calls now, or compact the database", Args: terminal.NoArgs,
		Long: "Permanently delete the calls that exceed the retention limits, either the configured ones or those given as flags. The command shows how many calls would be deleted, and asks for confirmation; without a terminal, it requires --yes.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if compact {
				return historyState(cmd.Context(), e, "history/vacuum")
			}
			if !yes {
				if e.JSON || !e.Attended() {
					return terminal.UsageError(errors.New("nothing was deleted: use --yes to skip the confirmation"))
				}
				if err := askPrune(cmd.Context(), e, bounds); err != nil {
					return err
				}
			}
			return terminal.Show(cmd.Context(), e, http.MethodPost, "history/prune", nil, bounds, func(done Deleted) error {
				_, err := fmt.Fprintf(e.Stdout, "%s deleted\n", core.Plural(int(done.Deleted), "call"))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.Int64Var(&bounds.KeepDays, "days", 0, "keep the calls of the last `NUMBER` days")
	f.Int64Var(&bounds.MaxBytes, "bytes", 0, "limit the file to `NUMBER` bytes")
	f.Int64Var(&bounds.MaxCalls, "calls", 0, "keep the newest `NUMBER` calls")
	f.BoolVar(&compact, "compact", false, "delete nothing: release the disk space of calls that were deleted before")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// askPrune shows what would be deleted and asks for confirmation, unless it is nothing.
func askPrune(ctx context.Context, e *terminal.Env, bounds PruneInputBody) error {
	d := e.Daemon()
	if bounds == (PruneInputBody{}) {
		state, err := terminal.Get[HistoryState](ctx, d, "history", nil)
		if err != nil {
			return err
		}
		bounds.KeepDays, bounds.MaxBytes = state.KeepDays, state.MaxBytes
	}
	limits := RetentionPreviewInputBody(bounds)
	gone, err := terminal.Request[RetentionPreview](ctx, d, http.MethodPost, "history/retention-preview", nil, limits)
	if err != nil {
		return err
	}
	if gone.Calls == 0 {
		return nil
	}
	return e.ConfirmOrFail(DescribePreview(gone)+" To back them up first: drawbridge backup --history FILE.\nDelete them?", "nothing was deleted")
}

// DescribePreview describes the calls that limits would delete; there is at least one.
func DescribePreview(b RetentionPreview) string {
	about := ""
	if b.Estimated {
		about = "About "
	}
	day := func(t *time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	return fmt.Sprintf("%s%d of %d calls, made between %s and %s, would be deleted permanently.", about, b.Calls, b.Total, day(b.From), day(b.To))
}
