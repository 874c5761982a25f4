package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"

	"github.com/spf13/cobra"
)

// recordFull starts and stops recording payloads in full for a while.
func (p *program) recordFull() *cobra.Command {
	var what api.FullRecording
	var length time.Duration
	var stop bool
	cmd := &cobra.Command{
		Use: "record-full", Short: "Record the complete arguments and results of a session, a client or a server for a while", Args: noArgs,
		Long: "Record arguments, results and errors of up to 8 MiB each, instead of the configured limit, for the calls of one session, client or server. Full recording ends automatically. " +
			"Secrets are redacted as always. Without --session, --client and --server, the command lists what is recorded in full.",
		Example: "  drawbridge history record-full --session ID --for 30m\n  drawbridge history record-full --server files\n  drawbridge history record-full --server files --stop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if what == (api.FullRecording{}) {
				if stop || cmd.Flags().Changed("for") {
					return usageError{errors.New("specify --session, --client or --server")}
				}
				return show(cmd.Context(), p, http.MethodGet, "history", nil, nil, p.printFull)
			}
			if length < time.Minute || length > 24*time.Hour {
				return usageError{errors.New("--for must be from 1m to 24h")}
			}
			return p.setRecordFull(cmd.Context(), what, length, stop)
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

func (p *program) setRecordFull(ctx context.Context, what api.FullRecording, length time.Duration, stop bool) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	if what.Server != "" {
		if what.Server, err = d.knownServer(ctx, what.Server); err != nil {
			return err
		}
	}
	if err := d.resolveSession(ctx, &what.Session, ""); err != nil {
		return err
	}
	state, err := get[api.HistoryState](ctx, d, "history", nil)
	if err != nil {
		return err
	}
	r := state.Recording
	r.Full = slices.DeleteFunc(r.Full, func(one api.FullRecording) bool {
		return one.Session == what.Session && one.Client == what.Client && one.Server == what.Server
	})
	if !stop {
		what.Until = time.Now().Add(length).UTC()
		r.Full = append(r.Full, what)
	}
	return show(ctx, p, http.MethodPut, "history/recording", nil, r, p.printFull)
}

func (p *program) printFull(state api.HistoryState) error {
	t := table{title: "Recorded in full", head: []string{"What", "Name", "Until"}}
	if p.Terminal() {
		t.empty = "Nothing is recorded in full."
	}
	for _, one := range state.Recording.Full {
		kind := "server"
		switch {
		case one.Session != "":
			kind = "session"
		case one.Client != "":
			kind = "client"
		}
		t.add(kind, cmp.Or(one.Session, one.Client, one.Server), localTime(one.Until))
	}
	return p.printTable(&t)
}
