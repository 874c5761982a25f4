package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

func (p *program) doctor() *cobra.Command {
	var fix string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check for problems with servers and clients", Args: noArgs,
		Long: "Check for problems with servers and clients, and suggest solutions. Findings with a name in brackets can\nbe fixed with doctor --fix NAME.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, err := p.examine(cmd.Context(), fix)
			if err != nil {
				return err
			}
			wrong := 0
			for _, f := range findings {
				if f.Level == doctor.Problem {
					wrong++
				}
			}
			if p.json {
				if err := p.printJSON(map[string]any{"items": findings, "next": ""}); err != nil {
					return err
				}
			} else {
				p.printFindings(findings)
			}
			if wrong > 0 {
				return silentError{fmt.Errorf("%d problems", wrong)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&fix, "fix", "", "fix the finding with this `NAME`, then check again")
	return cmd
}

func (p *program) printFindings(findings []doctor.Finding) {
	marks := map[doctor.Level]string{doctor.OK: "ok     ", doctor.Warning: "warning", doctor.Problem: "PROBLEM"}
	for _, f := range findings {
		fmt.Fprintf(p.Stdout, "%s  %s %s: %s\n", marks[f.Level], f.Check, escapeLine(f.Subject), escapeLine(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(p.Stdout, "         %s\n", escapeLine(f.Fix))
		}
		if f.Action != "" {
			fmt.Fprintf(p.Stdout, "         [%s] %s\n", escapeLine(f.ID), escapeLine(f.Action))
		}
	}
}

// examine runs the checks, after it applied the fix with the given id unless "". It uses the
// running daemon, which knows more.
func (p *program) examine(ctx context.Context, fix string) ([]doctor.Finding, error) {
	if err := p.awaitMigration(ctx); err != nil {
		return nil, err
	}
	if p.isDaemonRunning() {
		found, err := p.askDaemon(ctx, fix)
		if core.CodeOf(err) != core.CodeNotFound || fix != "" {
			return found, err
		}
	}
	o, err := p.doctorOptions(ctx)
	if err != nil {
		return nil, err
	}
	if fix != "" {
		if err := doctor.Fix(ctx, o, fix); err != nil {
			return nil, err
		}
		if o, err = p.doctorOptions(ctx); err != nil {
			return nil, err
		}
	}
	return doctor.Examine(ctx, o), nil
}

func (p *program) askDaemon(ctx context.Context, fix string) ([]doctor.Finding, error) {
	d, err := p.daemon()
	if err != nil {
		return nil, err
	}
	method, path := http.MethodGet, "doctor"
	if fix != "" {
		method, path = http.MethodPost, "doctor/"+url.PathEscape(fix)
	}
	data, err := d.requestRaw(ctx, method, path, nil, nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []doctor.Finding `json:"items"`
	}
	return list.Items, decode(data, &list)
}

// doctorOptions holds what can be checked without a daemon.
func (p *program) doctorOptions(ctx context.Context) (o doctor.Options, err error) {
	folders, err := p.folders()
	if err != nil {
		return o, err
	}
	current, err := p.sources(folders).Load()
	if current == nil {
		current = config.Default()
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		current.Problems = problems
	} else if err != nil {
		return o, err
	}
	c, err := p.connector()
	if err != nil {
		return o, err
	}
	path := p.Getenv("PATH")
	process.SetLoginLimit(current.Global.LoginShellTimeout)
	login, noLogin := process.LoginEnv(ctx)
	if noLogin == nil && login["PATH"] != "" {
		path = login["PATH"]
	}
	o = doctor.Options{
		Config: current, Getenv: p.Getenv, Clients: c.List(), Listening: doctor.Listening, Docker: doctor.CheckDocker,
		LookPath: func(program string) (string, error) { return process.Resolve(program, path) }, LoginShellError: noLogin,
		Restore: func(ctx context.Context, key string) error {
			_, err := c.Restore(ctx, key, p.tokenOf)
			return err
		},
	}
	vault, err := p.openSecretStore()
	if err != nil {
		return o, err
	}
	st := vault.Status(ctx)
	o.KeyringLocked, o.VaultProblem, o.Unlock = st.Locked, st.Notice, vault.Unlock
	if all, err := vault.List(ctx); err == nil {
		o.MissingSecrets = config.ReferencedSecrets(current)
		for _, e := range all {
			delete(o.MissingSecrets, e.Name)
		}
	}
	return o, nil
}

func (p *program) uninstall() *cobra.Command {
	var yes, data, force bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Disconnect all clients and restore moved entries", Args: noArgs,
		Long: "Disconnect all clients, restore moved entries, delete the sign-in tokens, and turn off Start at login. With --delete-data, the configuration, secrets, history, logs and the browser data of the window are deleted too.\nRemove the program itself with the package manager that installed it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				if err := p.confirm("Disconnect all clients?"); err != nil {
					return err
				}
			}
			if err := p.disconnectAll(cmd.Context(), force); err != nil {
				return err
			}
			if err := p.forgetLogins(cmd.Context()); err != nil {
				fmt.Fprintln(p.Stderr, escapeLine("The sign-in tokens were not deleted: "+err.Error()))
			}
			folders, err := p.folders()
			if err != nil {
				return err
			}
			if err := autostartEntry(folders).Set(false); err != nil {
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
				fmt.Fprintln(p.Stderr, escapeLine("The encryption key of the secret store is still in the keyring: "+err.Error()))
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
	if p.isDaemonRunning() {
		d, err := p.daemon()
		if err != nil {
			return err
		}
		_, err = d.requestRaw(ctx, http.MethodDelete, "logins", nil, nil)
		return err
	}
	vault, err := p.openSecretStore()
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

// autostartEntry returns the entry that starts the daemon when the user logs in.
func autostartEntry(folders config.Folders) desktop.Autostart {
	self, _ := os.Executable()
	a := desktop.Autostart{Program: self}
	if folders.Own {
		a.Data = folders.Data
	}
	return a
}
