package oauth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Commands adds the commands to sign in and out.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(loginCommand(e), logoutCommand(e))
}

// loginTick is the polling interval of a pending sign-in.
const loginTick = 300 * time.Millisecond

func loginCommand(e *terminal.Env) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "login SERVER", Aliases: []string{"auth"}, Short: "Sign in to a remote server, or to one of its accounts", Args: terminal.ArgCount(1, 1),
		Long: "Sign in to a remote server. The URL is printed, with the host that will ask for your password. The browser opens\n" +
			"when you press Enter, or immediately with --open. The command ends when you have signed in.\n" +
			"For an account of the server, specify SERVER@ACCOUNT.",
		Example: "  drawbridge login github\n  drawbridge login github@work\n  drawbridge login github --open",
		RunE: func(cmd *cobra.Command, args []string) error {
			d := e.Daemon()
			ctx, at := cmd.Context(), "servers/"+url.PathEscape(args[0])+"/login"
			var pending LoginPending
			data, err := d.RequestRaw(ctx, http.MethodPost, at, nil, nil)
			if err == nil {
				err = terminal.Decode(data, &pending)
			}
			if err != nil {
				return err
			}
			if e.JSON && !open {
				_, err = fmt.Fprintf(e.Stdout, "%s\n", data)
				return err
			}
			fmt.Fprintf(e.Stderr, "%s will ask you to sign in:\n\n  %s\n\n", terminal.EscapeLine(pending.Host), terminal.EscapeLine(pending.URL))
			if open || pressedEnter(ctx, e) {
				if _, err := d.RequestRaw(ctx, http.MethodPost, at+"/open", nil, nil); err != nil {
					fmt.Fprintln(e.Stderr, terminal.EscapeLine(err.Error()))
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
			return e.PrintSentence(map[string]any{"server": args[0], "signedIn": true}, terminal.EscapeLine(args[0]+": signed in"))
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "open the URL in the browser without asking")
	return cmd
}

// pressedEnter reports whether the user pressed Enter to open the browser. It does not block the
// sign-in, which also works if the user opens the address elsewhere.
func pressedEnter(ctx context.Context, e *terminal.Env) bool {
	f, ok := e.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(e.Stderr, "Open it in a browser on this machine.")
		return false
	}
	fmt.Fprint(e.Stderr, "Press Enter to open it in the browser: ")
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
		st, err := terminal.Get[LoginStatus](ctx, d, at, nil)
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

func logoutCommand(e *terminal.Env) *cobra.Command {
	return &cobra.Command{
		Use: "logout SERVER", Short: "Sign out of a remote server: delete its tokens, and revoke them if possible", Args: terminal.ArgCount(1, 1),
		RunE: e.OnDaemon(func(ctx context.Context, d *terminal.Daemon, args []string) error {
			if err := d.Change(ctx, http.MethodPost, terminal.ServerPath(args[0], "/logout"), nil); err != nil {
				return err
			}
			return e.PrintSentence(map[string]any{"server": args[0], "signedIn": false}, terminal.EscapeLine(args[0]+": signed out"))
		}),
	}
}
