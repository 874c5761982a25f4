package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// loginTick is the polling interval of a pending sign-in.
const loginTick = 300 * time.Millisecond

func (p *program) login() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "login SERVER", Aliases: []string{"auth"}, Short: "Sign in to a remote server, or to one of its accounts", Args: terminal.ArgCount(1, 1),
		Long: "Sign in to a remote server. The URL is printed, with the host that will ask for your password. The browser opens\n" +
			"when you press Enter, or immediately with --open. The command ends when you have signed in.\n" +
			"For an account of the server, specify SERVER@ACCOUNT.",
		Example: "  drawbridge login github\n  drawbridge login github@work\n  drawbridge login github --open",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.Daemon()
			if err != nil {
				return err
			}
			ctx, at := cmd.Context(), "servers/"+url.PathEscape(args[0])+"/login"
			var pending api.LoginPending
			data, err := d.RequestRaw(ctx, http.MethodPost, at, nil, nil)
			if err == nil {
				err = terminal.Decode(data, &pending)
			}
			if err != nil {
				return err
			}
			if p.JSON && !open {
				_, err = fmt.Fprintf(p.Stdout, "%s\n", data)
				return err
			}
			fmt.Fprintf(p.Stderr, "%s will ask you to sign in:\n\n  %s\n\n", terminal.EscapeLine(pending.Host), terminal.EscapeLine(pending.URL))
			if open || p.pressedEnter(ctx) {
				if _, err := d.RequestRaw(ctx, http.MethodPost, at+"/open", nil, nil); err != nil {
					fmt.Fprintln(p.Stderr, terminal.EscapeLine(err.Error()))
				}
			}
			err = awaitLogin(ctx, d, at, args[0])
			if ctx.Err() != nil {
				leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
				defer cancel()
				_, _ = d.RequestRaw(leave, http.MethodDelete, at, nil, nil)
			}
			if err != nil {
				return err
			}
			return p.PrintSentence(map[string]any{"server": args[0], "signedIn": true}, terminal.EscapeLine(args[0]+": signed in"))
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "open the URL in the browser without asking")
	return cmd
}

// pressedEnter reports whether the user pressed Enter to open the browser. It does not block the
// sign-in, which also works if the user opens the address elsewhere.
func (p *program) pressedEnter(ctx context.Context) bool {
	f, ok := p.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(p.Stderr, "Open it in a browser on this machine.")
		return false
	}
	fmt.Fprint(p.Stderr, "Press Enter to open it in the browser: ")
	pressed := make(chan bool, 1)
	go func() { // ends with the command
		_, err := bufio.NewReader(f).ReadString('\n')
		pressed <- err == nil
	}()
	select {
	case yes := <-pressed:
		return yes
	case <-ctx.Done():
		return false
	}
}

// awaitLogin waits until a sign-in completes or fails.
func awaitLogin(ctx context.Context, d *terminal.Daemon, at, server string) error {
	tick := time.NewTicker(loginTick)
	defer tick.Stop()
	for {
		st, err := terminal.Get[api.LoginStatus](ctx, d, at, nil)
		switch {
		case err != nil:
			return err
		case st.Pending != nil:
		case st.Failed != "":
			return &core.Error{Code: core.CodeUnauthorized, Message: fmt.Sprintf("cannot sign in to server %q: %s", server, st.Failed)}
		case st.State == core.LoginDone:
			return nil
		default:
			return &core.Error{Code: core.CodeUnauthorized, Cause: errors.New(st.Reason), Message: fmt.Sprintf("cannot sign in to server %q", server)}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *program) logout() *cobra.Command {
	return &cobra.Command{
		Use: "logout SERVER", Short: "Sign out of a remote server: delete its tokens, and revoke them if possible", Args: terminal.ArgCount(1, 1),
		RunE: p.OnDaemon(func(ctx context.Context, d *terminal.Daemon, args []string) error {
			if err := d.Change(ctx, http.MethodPost, terminal.ServerPath(args[0], "/logout"), nil); err != nil {
				return err
			}
			return p.PrintSentence(map[string]any{"server": args[0], "signedIn": false}, terminal.EscapeLine(args[0]+": signed out"))
		}),
	}
}

func (p *program) token() *cobra.Command {
	var rotate, revoke bool
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Print the bearer token of a client; create one if there is none", Args: terminal.ArgCount(1, 1),
		Long: "Print the bearer token of a client; create one if there is none. The command works whether or not Drawbridge is running.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if rotate && revoke {
				return terminal.UsageError(errors.New("--rotate and --revoke cannot be combined"))
			}
			if !loopback.ValidTokenName(args[0]) {
				return terminal.UsageError(fmt.Errorf("%q is not a valid client name: use letters, digits, '.', '_' and '-'", args[0]))
			}
			folders, err := p.Folders()
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
				if err := p.disconnectAddresses(cmd.Context(), args[0]); err != nil {
					return err
				}
				if p.JSON {
					return p.PrintJSON(map[string]any{"name": args[0], "revoked": true})
				}
				_, err := fmt.Fprintf(p.Stdout, "The token of %s was revoked.\n", args[0])
				return err
			}
			create := tokens.Create
			if rotate {
				create = tokens.Rotate
			}
			t, err := create(args[0])
			if err != nil {
				return err
			}
			if rotate {
				if err := p.updateHTTPEntries(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			if p.JSON {
				return p.PrintJSON(t)
			}
			_, err = fmt.Fprintln(p.Stdout, t.Token)
			return err
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "create a new token; the old one is revoked immediately")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke the token")
	return cmd
}

// updateHTTPEntries updates the HTTP entries of the client to its new token and prints the changes
// to Stderr: Stdout is reserved for the token.
func (p *program) updateHTTPEntries(ctx context.Context, client string) error {
	c, err := p.connector()
	if err != nil {
		return err
	}
	done, err := c.UpdateEntries(ctx, client, "", p.tokenOf)
	for _, r := range done {
		if r.Error != "" {
			return fmt.Errorf("the new token is not in %s yet: %s", r.Path, r.Error)
		}
		fmt.Fprint(p.Stderr, terminal.EscapeText(r.Diff))
	}
	return err
}

// disconnectAddresses removes the entries with a revoked token.
func (p *program) disconnectAddresses(ctx context.Context, client string) (failed error) {
	c, err := p.connector()
	if err != nil {
		return err
	}
	for _, r := range c.RemoveTokenEntries(ctx, client) {
		if r.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("the revoked token is still in %s: %s", r.Path, r.Error))
			continue
		}
		fmt.Fprint(p.Stderr, terminal.EscapeText(r.Diff))
		fmt.Fprintln(p.Stderr, "The entry in "+terminal.EscapeLine(r.Path)+" was removed because it contained the token.")
	}
	return failed
}
