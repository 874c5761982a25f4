package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

func (p *program) uninstall() *cobra.Command {
	var yes, data, force bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Disconnect all clients and restore moved entries", Args: terminal.NoArgs,
		Long: "Disconnect all clients, restore moved entries, delete the sign-in tokens, and turn off Start at login. With --delete-data, the configuration, secrets, history, logs and the browser data of the window are deleted too.\nRemove the program itself with the package manager that installed it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.Confirm(yes, "Disconnect all clients?"); err != nil {
				return err
			}
			if err := clientconf.DisconnectAll(cmd.Context(), &p.Env, force); err != nil {
				return err
			}
			if err := p.forgetLogins(cmd.Context()); err != nil {
				fmt.Fprintln(p.Stderr, terminal.EscapeLine("The sign-in tokens were not deleted: "+err.Error()))
			}
			folders, err := p.Folders()
			if err != nil {
				return err
			}
			if err := desktop.AutostartFor(folders).Set(false); err != nil {
				return fmt.Errorf("cannot turn off Start at login: %w", err)
			}
			if !data {
				return nil
			}
			if held, err := loopback.IsDaemonRunning(folders.Data); err != nil || held {
				return errors.Join(err, &core.Error{Code: core.CodeConflict, Message: "cannot delete the data while Drawbridge is running", Hint: "Run: drawbridge quit. Then: drawbridge uninstall --delete-data"})
			}
			vault := secret.For(folders.Data, p.Getenv)
			if err := vault.Destroy(cmd.Context()); err != nil {
				fmt.Fprintln(p.Stderr, terminal.EscapeLine("The encryption key of the secret store is still in the keyring: "+err.Error()))
			}
			for _, dir := range append([]string{folders.Config, folders.State, folders.Logs, folders.Data}, folders.Web...) {
				if err := os.RemoveAll(dir); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&force, "force", false, "remove entries even if they were changed manually")
	cmd.Flags().BoolVar(&data, "delete-data", false, "delete configuration, secrets, history, logs and the browser data of the window")
	return cmd
}

// forgetLogins deletes the tokens of remote servers: through the daemon, which also revokes them,
// or directly in the store.
func (p *program) forgetLogins(ctx context.Context) error {
	if p.DaemonRuns() {
		d, err := p.Daemon()
		if err != nil {
			return err
		}
		_, err = d.RequestRaw(ctx, http.MethodDelete, "logins", nil, nil)
		return err
	}
	vault, err := secret.StoreOf(&p.Env)
	if err != nil {
		return err
	}
	tokens := vault.InternalValues("oauth")
	names, err := tokens.Names(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	_, err = tokens.Remove(ctx, names...)
	return err
}
