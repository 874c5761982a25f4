package history

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
)

func historyState(ctx context.Context, e *terminal.Env, path string) error {
	return terminal.Show(ctx, e, http.MethodPost, path, nil, nil, func(state HistoryState) error {
		_, err := fmt.Fprintf(e.Stdout, "%s in %d bytes, %d of them free\n", core.Plural(int(state.Calls), "call"), state.Bytes, state.FreeBytes)
		return err
	})
}

// export writes the response of the daemon unchanged.
func export(ctx context.Context, e *terminal.Env, query url.Values) error {
	d := e.Daemon()
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
