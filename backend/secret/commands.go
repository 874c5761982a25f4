package secret

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// StoreOf opens the store of secrets while no daemon runs.
func StoreOf(e *terminal.Env) (*Store, error) {
	folders, err := e.Folders()
	if err != nil {
		return nil, err
	}
	return For(folders.Data, e.Getenv), nil
}

// Commands adds the commands for secrets.
func Commands(e *terminal.Env, root *cobra.Command) {
	cmd := &cobra.Command{
		Use: "secret", Short: "List the secrets, which keep tokens out of the configuration", Args: terminal.NoArgs,
		Long: "List the names of the secrets, which keep tokens and passwords out of the configuration: ${secret:NAME} in an entry is replaced by the stored value.\n" +
			"The secrets are in an encrypted file whose key is in the system keyring. The commands work whether or not Drawbridge is running.",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return listSecrets(cmd.Context(), e) }
	cmd.AddCommand(setCommand(e), removeCommand(e), unlockCommand(e))
	root.AddCommand(cmd)
}

func setCommand(e *terminal.Env) *cobra.Command {
	return &cobra.Command{
		Use: "set NAME", Short: "Store a secret, entered without echo or read from standard input", Args: terminal.ArgCount(1, 1),
		Long: "Store a secret. Its value is entered without echo, or read from standard input:\n  drawbridge secret set github.token < token.txt\nThe value cannot be passed as an argument, because other programs can read command-line arguments.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !ValidName(args[0]) {
				return terminal.UsageError(fmt.Errorf("%q is not a valid secret name: use letters, digits, '.', '_', '-', '/' and '@'", args[0]))
			}
			value, err := ReadValue(e, "Value of "+args[0]+": ")
			if err != nil {
				return err
			}
			notice, err := StoreValue(cmd.Context(), e, args[0], value)
			if err != nil {
				return err
			}
			if notice != "" && !e.JSON {
				fmt.Fprintln(e.Stderr, "Note:", notice)
			}
			return e.PrintSentence(map[string]any{"name": args[0], "stored": true, "notice": notice}, "Stored. Refer to it as ${secret:"+args[0]+"}")
		},
	}
}

// ReadValue reads a value from the terminal without echo, or all of standard input.
func ReadValue(e *terminal.Env, prompt string) (string, error) {
	var value []byte
	var err error
	if f, ok := e.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(e.Stderr, prompt)
		if stopped := e.AwaitInput(func() { value, err = term.ReadPassword(int(f.Fd())) }); stopped != nil {
			return "", stopped
		}
		fmt.Fprintln(e.Stderr)
	} else {
		value, err = e.ReadInput(1 << 20)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	if value = bytes.TrimRight(value, "\r\n"); len(value) == 0 {
		return "", terminal.UsageError(errors.New("the secret is empty: pass it on standard input"))
	}
	return string(value), nil
}

// StoreValue stores a secret, in the daemon if one runs, which then restarts servers.
func StoreValue(ctx context.Context, e *terminal.Env, name, value string) (notice string, err error) {
	if e.DaemonRuns() {
		d := e.Daemon()
		if err := d.Change(ctx, http.MethodPut, "secrets/"+url.PathEscape(name), map[string]string{"value": value}); err != nil {
			return "", err
		}
		doc, err := terminal.Get[Secrets](ctx, d, "secrets", nil)
		return doc.Notice, err
	}
	s, err := StoreOf(e)
	if err != nil {
		return "", err
	}
	if err := s.Set(ctx, name, value); err != nil {
		return "", err
	}
	return s.Status(ctx).Notice, nil
}

func listSecrets(ctx context.Context, e *terminal.Env) error {
	s, err := StoreOf(e)
	if err != nil {
		return err
	}
	all, err := s.List(ctx)
	if err != nil {
		return err
	}
	status := s.Status(ctx)
	folders, err := e.Folders()
	if err != nil {
		return err
	}
	used, unused := map[string][]string{}, "not used"
	if c, err := e.Sources(folders).Load(); err == nil {
		used = config.ReferencedSecrets(c)
	} else {
		unused = "-" // not known
	}
	items := make([]Secret, len(all))
	for i, s := range all {
		items[i] = Secret{s.Name, s.ChangedAt, append([]string{}, used[s.Name]...)}
	}
	document := map[string]any{"items": items, "next": "", "status": status}
	t := terminal.Table{Title: "Secrets", Head: []string{"Name", "Changed", "Used by"}, Keep: []bool{true, true}, Wrap: true}
	err = terminal.PrintRows(e, document, items, t, func(s Secret) []string {
		return []string{s.Name, e.Moment(s.ChangedAt), cmp.Or(strings.Join(s.Servers, ", "), unused)}
	})
	if err == nil && !e.JSON && status.Notice != "" {
		fmt.Fprintln(e.Stdout, status.Notice)
	}
	return err
}

func removeCommand(e *terminal.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rm SECRET", Aliases: []string{"remove"}, Short: "Remove a secret", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := StoreOf(e)
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
			return e.PrintSentence(map[string]any{"name": args[0], "removed": true}, strings.TrimSpace(args[0])+" removed.")
		},
	}
}

func unlockCommand(e *terminal.Env) *cobra.Command {
	return &cobra.Command{
		Use: "unlock", Short: "Unlock the keyring, which may open a system prompt", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := StoreOf(e)
			if err != nil {
				return err
			}
			if err := s.Unlock(cmd.Context()); err != nil {
				return err
			}
			return e.PrintSentence(s.Status(cmd.Context()), "The secrets are unlocked.")
		},
	}
}
