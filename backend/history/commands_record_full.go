package history

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

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
	f.StringVar(&what.Client, "client", "", "record the calls of this `CLIENT`, by its name or the name of its access token")
	f.StringVar(&what.Server, "server", "", "record the calls of this `SERVER`")
	f.DurationVar(&length, "for", time.Hour, "record in full for this `DURATION`, from 1m to 24h")
	f.BoolVar(&stop, "stop", false, "stop full recording now")
	cmd.MarkFlagsMutuallyExclusive("session", "client", "server")
	cmd.MarkFlagsMutuallyExclusive("for", "stop")
	return cmd
}

func setRecordFull(ctx context.Context, e *terminal.Env, what store.FullRecording, length time.Duration, stop bool) error {
	d := e.Daemon()
	if what.Server != "" {
		id, err := d.KnownServer(ctx, what.Server)
		if err != nil {
			return err
		}
		what.Server = id
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
