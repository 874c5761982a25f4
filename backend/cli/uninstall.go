package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/guests"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) uninstall() *cobra.Command {
	var yes, data, force bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Disconnect all clients, restore moved entries and remove guests", Args: terminal.NoArgs,
		Long: "Disconnect all clients, restore moved entries, remove all guests with their sockets and access tokens, delete the sign-in tokens, and turn off Start at login. With --delete-data, the configuration, secrets, history, logs and the browser data of the window are deleted too; Drawbridge quits first.\nRemove the program itself with the package manager that installed it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			question, err := p.uninstallQuestion(data)
			if err != nil {
				return err
			}
			if err := p.Confirm(yes, question); err != nil {
				return err
			}
			removed, err := guests.RemoveAll(cmd.Context(), &p.Env)
			if err != nil {
				return err
			}
			if err := clientconf.DisconnectAll(cmd.Context(), &p.Env, force, map[string]any{"guests": removed}); err != nil {
				return err
			}
			p.printRemoved(removed)
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
			held, err := loopback.IsDaemonRunning(folders.Data)
			switch {
			case err != nil:
				return err
			case !data:
				return p.printUninstalled(folders, held)
			case held:
				if err := desktop.Quit(cmd.Context(), &p.Env); err != nil {
					return err
				}
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
	cmd.Flags().BoolVar(&data, "delete-data", false, "also delete all data")
	return cmd
}

// uninstallQuestion names what uninstall changes.
func (p *program) uninstallQuestion(deleteData bool) (string, error) {
	c, err := clientconf.Open(&p.Env)
	if err != nil {
		return "", err
	}
	keys, err := c.Connections()
	if err != nil {
		return "", err
	}
	names, err := guests.Names(&p.Env)
	var acts []string
	if len(keys) > 0 {
		acts = append(acts, "disconnect "+strings.Join(keys, ", "))
	}
	if len(names) > 0 {
		acts = append(acts, "remove the guests "+strings.Join(names, ", "))
	}
	intro := ""
	if len(keys) == 0 {
		intro = "No client is connected. "
		acts = append(acts, "turn off Start at login and delete the sign-in tokens")
	}
	question := strings.Join(acts, ", ")
	question = intro + strings.ToUpper(question[:1]) + question[1:]
	if deleteData {
		question += ", and delete all data"
	}
	return terminal.EscapeLine(question + "?"), err
}

func (p *program) printRemoved(all []guests.Removal) {
	for _, g := range all {
		switch {
		case g.Error != "":
			fmt.Fprintln(p.Stderr, terminal.EscapeLine("The guest "+g.Name+" was not removed: "+g.Error))
		case !p.JSON:
			fmt.Fprintln(p.Stdout, terminal.EscapeLine("guest "+g.Name+": Its socket, its access token and its settings were removed."))
		}
	}
}

// printUninstalled says what is left.
func (p *program) printUninstalled(folders config.Folders, running bool) error {
	if p.JSON {
		return nil
	}
	text := "The data is still in " + folders.Data + ". To delete it: drawbridge uninstall --delete-data\n"
	if running {
		text = "Drawbridge is still running. To stop it: drawbridge quit\n" + text
	}
	_, err := fmt.Fprint(p.Stdout, text+"Remove the program with the package manager that installed it.\n")
	return err
}

// forgetLogins deletes the tokens of remote servers: through the daemon, which also revokes them,
// or directly in the store.
func (p *program) forgetLogins(ctx context.Context) error {
	if p.DaemonRuns() {
		return p.Daemon().Change(ctx, http.MethodDelete, "logins", nil)
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
