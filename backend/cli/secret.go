package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (p *program) secret() *cobra.Command {
	cmd := &cobra.Command{
		Use: "secret", Short: "Keep tokens and passwords out of the configuration", Args: noArgs,
		Long: "Keep tokens and passwords out of the configuration: ${secret:NAME} in an entry is replaced by the stored value.\n" +
			"The secrets are in an encrypted file whose key is in the system keyring. The commands work whether or not Drawbridge is running.",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listSecrets(cmd.Context()) }
	cmd.AddCommand(p.secretSet(), p.secretList(), p.secretRemove(), p.secretUnlock())
	return cmd
}

// openSecretStore opens the store of secrets while no daemon runs.
func (p *program) openSecretStore() (*secret.Store, error) {
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	return secret.For(folders.Data, p.Getenv), nil
}

// isDaemonRunning returns the daemon if one is running, which also restarts servers.
func (p *program) isDaemonRunning() bool {
	folders, err := p.folders()
	if err != nil {
		return false
	}
	_, ok, err := loopback.FindDaemon(folders.Data)
	return ok && err == nil
}

func (p *program) secretSet() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME", Short: "Store a secret: its value is entered without echo, or read from standard input", Args: argCount(1, 1),
		Long: "Store a secret. Its value is entered without echo, or read from standard input:\n  drawbridge secret set github.token < token.txt\nThe value cannot be passed as an argument, because other programs can read command-line arguments.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !secret.ValidName(args[0]) {
				return usageError{fmt.Errorf("%q is not a valid secret name: use letters, digits, '.', '_', '-', '/' and '@'", args[0])}
			}
			value, err := p.readSecret("Value of " + args[0] + ": ")
			if err != nil {
				return err
			}
			notice, err := p.storeSecret(cmd.Context(), args[0], value)
			if err != nil {
				return err
			}
			if notice != "" && !p.json {
				fmt.Fprintln(p.Stderr, "Note:", notice)
			}
			return p.printSentence(map[string]any{"name": args[0], "stored": true, "notice": notice}, "Stored. Refer to it as ${secret:"+args[0]+"}")
		},
	}
}

// readSecret reads a value from the terminal without echo, or all of standard input.
func (p *program) readSecret(prompt string) (string, error) {
	var value []byte
	var err error
	if f, ok := p.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(p.Stderr, prompt)
		value, err = term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.Stderr)
	} else {
		value, err = io.ReadAll(io.LimitReader(p.Stdin, 1<<20))
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	if value = bytes.TrimRight(value, "\r\n"); len(value) == 0 {
		return "", usageError{errors.New("the secret is empty: pass it on standard input")}
	}
	return string(value), nil
}

func (p *program) storeSecret(ctx context.Context, name, value string) (notice string, err error) {
	if p.isDaemonRunning() {
		d, err := p.daemon()
		if err != nil {
			return "", err
		}
		if err := d.change(ctx, http.MethodPut, "secrets/"+url.PathEscape(name), map[string]string{"value": value}); err != nil {
			return "", err
		}
		doc, err := get[api.Secrets](ctx, d, "secrets", nil)
		return doc.Notice, err
	}
	s, err := p.openSecretStore()
	if err != nil {
		return "", err
	}
	if err := s.Set(ctx, name, value); err != nil {
		return "", err
	}
	return s.Status(ctx).Notice, nil
}

func (p *program) secretList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the names of the secrets; values are never shown", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listSecrets(cmd.Context()) },
	}
}

func (p *program) listSecrets(ctx context.Context) error {
	s, err := p.openSecretStore()
	if err != nil {
		return err
	}
	all, err := s.List(ctx)
	if err != nil {
		return err
	}
	status := s.Status(ctx)
	document := map[string]any{"items": all, "next": "", "status": status}
	t := table{title: "Secrets", head: []string{"Name", "Changed"}}
	err = printRows(p, document, all, t, func(e secret.Entry) []string {
		return []string{e.Name, e.ChangedAt.Local().Format(time.DateTime)}
	})
	if err == nil && !p.json && status.Notice != "" {
		fmt.Fprintln(p.Stdout, status.Notice)
	}
	return err
}

func (p *program) secretRemove() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Aliases: []string{"remove"}, Short: "Remove a secret", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.openSecretStore()
			if err != nil {
				return err
			}
			ok, err := s.Remove(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !ok {
				return core.Errorf(core.CodeNotFound, "there is no secret named %q", args[0])
			}
			return p.printSentence(map[string]any{"name": args[0], "removed": true}, strings.TrimSpace(args[0])+" removed.")
		},
	}
}

func (p *program) secretUnlock() *cobra.Command {
	return &cobra.Command{
		Use: "unlock", Short: "Unlock the keyring, which may open a system prompt", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.openSecretStore()
			if err != nil {
				return err
			}
			if err := s.Unlock(cmd.Context()); err != nil {
				return err
			}
			return p.printSentence(s.Status(cmd.Context()), "The secrets are unlocked.")
		},
	}
}
