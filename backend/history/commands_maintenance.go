package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

func historyState(ctx context.Context, e *terminal.Env, path string) error {
	return terminal.Show(ctx, e, http.MethodPost, path, nil, nil, func(state HistoryState) error {
		_, err := fmt.Fprintf(e.Stdout, "%s in %d bytes, %d of them free\n", core.Plural(int(state.Calls), "call"), state.Bytes, state.FreeBytes)
		return err
	})
}

// export writes the response of the daemon unchanged.
func export(ctx context.Context, e *terminal.Env, query url.Values) error {
	d, err := e.Daemon()
	if err != nil {
		return err
	}
	resp, err := d.Send(ctx, http.MethodGet, "export", query, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(e.Stdout, resp.Body); err != nil {
		return fmt.Errorf("cannot export the calls: %w", err)
	}
	return nil
}

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
	d, err := e.Daemon()
	if err != nil {
		return err
	}
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

// recordFull starts and stops recording payloads in full for a while.
func recordFull(e *terminal.Env) *cobra.Command {
	var what store.FullRecording
	var length time.Duration
	var stop bool
	cmd := &cobra.Command{
		Use: "record-full", Short: "Record complete arguments and results for a while", Args: terminal.NoArgs,
		Long: "Record arguments, results and errors of up to 8 MiB each, instead of the configured limit, for the calls of one session, client or server. Full recording ends automatically. " +
			"Secrets are redacted as always. Without --session, --client and --server, the command lists what is recorded in full.",
		Example: "  drawbridge history record-full --session ID --for 30m\n  drawbridge history record-full --server files\n  drawbridge history record-full --server files --stop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if what == (store.FullRecording{}) {
				if stop || cmd.Flags().Changed("for") {
					return terminal.UsageError(errors.New("specify --session, --client or --server"))
				}
				return terminal.Show(cmd.Context(), e, http.MethodGet, "history", nil, nil, func(state HistoryState) error { return printFull(e, state) })
			}
			if length < time.Minute || length > 24*time.Hour {
				return terminal.UsageError(errors.New("--for must be from 1m to 24h"))
			}
			return setRecordFull(cmd.Context(), e, what, length, stop)
		},
	}
	f := cmd.Flags()
	f.StringVar(&what.Session, "session", "", "record the calls of the session with this `ID`, which \"drawbridge history --json\" shows, or last for the newest one")
	f.StringVar(&what.Client, "client", "", "record the calls of this `CLIENT`, by its name or the name of its token")
	f.StringVar(&what.Server, "server", "", "record the calls of this `SERVER`")
	f.DurationVar(&length, "for", time.Hour, "record in full for this `DURATION`, from 1m to 24h")
	f.BoolVar(&stop, "stop", false, "stop full recording now")
	cmd.MarkFlagsMutuallyExclusive("session", "client", "server")
	cmd.MarkFlagsMutuallyExclusive("for", "stop")
	return cmd
}

func setRecordFull(ctx context.Context, e *terminal.Env, what store.FullRecording, length time.Duration, stop bool) error {
	d, err := e.Daemon()
	if err != nil {
		return err
	}
	if what.Server != "" {
		if what.Server, err = d.KnownServer(ctx, what.Server); err != nil {
			return err
		}
	}
	if err := resolveSession(ctx, d, &what.Session, ""); err != nil {
		return err
	}
	state, err := terminal.Get[HistoryState](ctx, d, "history", nil)
	if err != nil {
		return err
	}
	r := state.Recording
	r.Full = slices.DeleteFunc(r.Full, func(one store.FullRecording) bool {
		return one.Session == what.Session && one.Client == what.Client && one.Server == what.Server
	})
	if !stop {
		what.Until = time.Now().Add(length).UTC()
		r.Full = append(r.Full, what)
	}
	return terminal.Show(ctx, e, http.MethodPut, "history/recording", nil, r, func(state HistoryState) error { return printFull(e, state) })
}

func printFull(e *terminal.Env, state HistoryState) error {
	t := terminal.Table{Title: "Recorded in full", Head: []string{"What", "Name", "Until"}, Keep: []bool{2: true}}
	if e.Terminal() {
		t.Empty = "Nothing is recorded in full."
	}
	for _, one := range state.Recording.Full {
		kind := "server"
		switch {
		case one.Session != "":
			kind = "session"
		case one.Client != "":
			kind = "client"
		}
		t.Add(kind, cmp.Or(one.Session, one.Client, one.Server), e.Moment(one.Until))
	}
	return e.PrintTable(&t)
}
