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

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// loginTick is the polling interval of a pending sign-in.
const loginTick = 300 * time.Millisecond

func (p *program) login() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "login SERVER", Aliases: []string{"auth"}, Short: "Sign in to a remote server, or to one of its accounts", Args: argCount(1, 1),
		Long: "Sign in to a remote server. The URL is printed, with the host that will ask for your password. The browser opens\n" +
			"when you press Enter, or immediately with --open. The command ends when you have signed in.\n" +
			"For an account of the server, specify SERVER@ACCOUNT.",
		Example: "  drawbridge login github\n  drawbridge login github@work\n  drawbridge login github --open",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.daemon()
			if err != nil {
				return err
			}
			ctx, at := cmd.Context(), "servers/"+url.PathEscape(args[0])+"/login"
			var pending api.LoginPending
			data, err := d.requestRaw(ctx, http.MethodPost, at, nil, nil)
			if err == nil {
				err = decode(data, &pending)
			}
			if err != nil {
				return err
			}
			if p.json && !open {
				_, err = fmt.Fprintf(p.Stdout, "%s\n", data)
				return err
			}
			fmt.Fprintf(p.Stderr, "%s will ask you to sign in:\n\n  %s\n\n", escapeLine(pending.Host), escapeLine(pending.URL))
			if open || p.pressedEnter(ctx) {
				if _, err := d.requestRaw(ctx, http.MethodPost, at+"/open", nil, nil); err != nil {
					fmt.Fprintln(p.Stderr, escapeLine(err.Error()))
				}
			}
			err = d.awaitLogin(ctx, at, args[0])
			if ctx.Err() != nil {
				leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
				defer cancel()
				_, _ = d.requestRaw(leave, http.MethodDelete, at, nil, nil)
			}
			if err != nil {
				return err
			}
			return p.printSentence(map[string]any{"server": args[0], "signedIn": true}, escapeLine(args[0]+": signed in"))
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
func (d *daemon) awaitLogin(ctx context.Context, at, server string) error {
	tick := time.NewTicker(loginTick)
	defer tick.Stop()
	for {
		st, err := get[api.LoginStatus](ctx, d, at, nil)
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
		Use: "logout SERVER", Short: "Sign out of a remote server: delete its tokens, and revoke them if possible", Args: argCount(1, 1),
		RunE: p.onDaemon(func(ctx context.Context, d *daemon, args []string) error {
			if err := d.change(ctx, http.MethodPost, serverPath(args[0], "/logout"), nil); err != nil {
				return err
			}
			return p.printSentence(map[string]any{"server": args[0], "signedIn": false}, escapeLine(args[0]+": signed out"))
		}),
	}
}
