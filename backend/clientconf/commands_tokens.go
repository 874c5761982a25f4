package clientconf

import (
	"context"
	"errors"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

func token(e *terminal.Env) *cobra.Command {
	var rotate, revoke bool
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Print the access token of a client; create one if there is none", Args: terminal.ArgCount(1, 1),
		Long: "Print the access token of a client; create one if there is none. The command works whether or not Drawbridge is running.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if rotate && revoke {
				return terminal.UsageError(errors.New("--rotate and --revoke cannot be combined"))
			}
			if !loopback.ValidTokenName(args[0]) {
				return terminal.UsageError(fmt.Errorf("%q is not a valid client name: use letters, digits, '.', '_' and '-'", args[0]))
			}
			folders, err := e.Folders()
			if err != nil {
				return err
			}
			tokens, err := loopback.NewTokens(folders.Data, nil)
			if err != nil {
				return err
			}
			if revoke {
				if err := tokens.Revoke(args[0]); err != nil {
					return err
				}
				if err := disconnectAddresses(cmd.Context(), e, args[0]); err != nil {
					return err
				}
				if e.JSON {
					return e.PrintJSON(map[string]any{"name": args[0], "revoked": true})
				}
				_, err := fmt.Fprintf(e.Stdout, "The access token of %s was revoked.\n", args[0])
				return err
			}
			create := tokens.Show
			if rotate {
				create = tokens.Rotate
			}
			t, err := create(args[0])
			if err != nil {
				return err
			}
			if rotate {
				if err := updateHTTPEntries(cmd.Context(), e, args[0]); err != nil {
					return err
				}
			}
			if e.JSON {
				return e.PrintJSON(t)
			}
			_, err = fmt.Fprintln(e.Stdout, t.Token)
			return err
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "create a new access token; the old one is revoked immediately")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke the access token")
	return cmd
}

// updateHTTPEntries updates the HTTP entries of the client to its new token and prints the changes
// to Stderr: Stdout is reserved for the token.
func updateHTTPEntries(ctx context.Context, e *terminal.Env, client string) error {
	c, err := Open(e)
	if err != nil {
		return err
	}
	done, err := c.UpdateEntries(ctx, client, "", TokenOf(e))
	for _, r := range done {
		if r.Error != "" {
			return fmt.Errorf("the new token is not in %s yet: %s", r.Path, r.Error)
		}
		fmt.Fprint(e.Stderr, terminal.EscapeText(r.Diff))
	}
	return err
}

// disconnectAddresses removes the entries with a revoked token.
func disconnectAddresses(ctx context.Context, e *terminal.Env, client string) (failed error) {
	c, err := Open(e)
	if err != nil {
		return err
	}
	for _, r := range c.RemoveTokenEntries(ctx, client) {
		if r.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("the revoked token is still in %s: %s", r.Path, r.Error))
			continue
		}
		fmt.Fprint(e.Stderr, terminal.EscapeText(r.Diff))
		fmt.Fprintln(e.Stderr, "The entry in "+terminal.EscapeLine(r.Path)+" was removed because it contained the token.")
	}
	return failed
}
