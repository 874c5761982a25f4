package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

func (p *program) historyPrune() *cobra.Command {
	var bounds api.PruneInputBody
	var yes bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete the calls that exceed the configured or the given retention limits", Args: noArgs,
		Long: "Permanently delete the calls that exceed the retention limits, either the configured ones or those given as flags. In a terminal, the command shows how many calls would be deleted, and asks for confirmation.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !p.json && p.Attended() {
				if err := p.askPrune(cmd.Context(), bounds); err != nil {
					return err
				}
			}
			return show(cmd.Context(), p, http.MethodPost, "history/prune", nil, bounds, func(done api.Deleted) error {
				_, err := fmt.Fprintf(p.Stdout, "%s deleted\n", core.Plural(int(done.Deleted), "call"))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.Int64Var(&bounds.KeepDays, "days", 0, "keep the calls of the last `NUMBER` days")
	f.Int64Var(&bounds.MaxBytes, "bytes", 0, "limit the file to `NUMBER` bytes")
	f.Int64Var(&bounds.MaxCalls, "calls", 0, "keep the newest `NUMBER` calls")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// askPrune shows what would be deleted and asks for confirmation, unless it is nothing.
func (p *program) askPrune(ctx context.Context, bounds api.PruneInputBody) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	if bounds == (api.PruneInputBody{}) {
		history, err := get[api.HistoryState](ctx, d, "history", nil)
		if err != nil {
			return err
		}
		bounds.KeepDays, bounds.MaxBytes = history.KeepDays, history.MaxBytes
	}
	limits := api.RetentionPreviewInputBody(bounds)
	gone, err := request[api.RetentionPreview](ctx, d, http.MethodPost, "history/retention-preview", nil, limits)
	if err != nil {
		return err
	}
	if gone.Calls == 0 {
		return nil
	}
	return p.confirmOrFail(describePreview(gone)+" To back them up first: drawbridge history backup FILE.\nDelete them?", "nothing was deleted")
}

// describePreview describes the calls that limits would delete; there is at least one.
func describePreview(b api.RetentionPreview) string {
	about := ""
	if b.Estimated {
		about = "About "
	}
	day := func(t *time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	return fmt.Sprintf("%s%d of %d calls, made between %s and %s, would be deleted permanently.", about, b.Calls, b.Total, day(b.From), day(b.To))
}
