package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/backend/hub"
	"drawbridge/backend/loopback"
	"drawbridge/backend/selfserver"
	"drawbridge/backend/shim"
	"drawbridge/config"
)

func (c *commands) tokenCommand() *cobra.Command {
	var rotate, revoke bool
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Print the bearer token of a client, making it when there is none",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			tokens, err := c.tokens()
			if err != nil {
				return err
			}
			var token loopback.Token
			switch {
			case rotate && revoke:
				return usageError{errors.New("--rotate and --revoke exclude each other")}
			case revoke:
				return c.revoke(tokens, args[0])
			case rotate:
				token, err = tokens.Rotate(args[0])
			default:
				token, err = tokens.Create(args[0])
			}
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(token)
			}
			_, err = fmt.Fprintln(c.Stdout, token.Token)
			return err
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "replace the token; the old one stops working")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take the token away")
	return cmd
}

func (c *commands) revoke(tokens *loopback.Tokens, name string) error {
	if err := tokens.Revoke(name); err != nil {
		return err
	}
	if c.json {
		return c.printJSON(map[string]any{"name": name, "revoked": true})
	}
	_, err := fmt.Fprintln(c.Stdout, "The token of "+name+" no longer works.")
	return err
}

func (c *commands) tokens() (*loopback.Tokens, error) {
	folders, err := c.folders()
	if err != nil {
		return nil, err
	}
	if err := folders.Make(); err != nil {
		return nil, err
	}
	return loopback.NewTokens(folders.Data, nil)
}

func (c *commands) openCommand() *cobra.Command {
	var print bool
	cmd := &cobra.Command{
		Use: "open", Short: "Open the page, or print its address", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemon()
			if err != nil {
				return err
			}
			raw, err := d.ask(cmd.Context(), http.MethodPost, "/api/v1/open-code", nil, struct{}{})
			if err != nil {
				return err
			}
			var doc struct {
				URL string `json:"url"`
			}
			if err := json.Unmarshal(raw, &doc); err != nil || doc.URL == "" {
				return fmt.Errorf("Drawbridge gave no address: %w", err)
			}
			switch {
			case c.json:
				_, err = fmt.Fprintln(c.Stdout, string(raw))
			case print:
				_, err = fmt.Fprintln(c.Stdout, doc.URL)
			default:
				folders, ferr := c.folders()
				if ferr != nil {
					return ferr
				}
				err = c.Show(doc.URL, dataArgument(folders), c.Stdout)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the address with its one-time code; it works once, for two minutes")
	return cmd
}

func (c *commands) stdioCommand() *cobra.Command {
	var client, server, profile string
	cmd := &cobra.Command{
		Use: "stdio", Short: "Speak MCP on stdin and stdout, for clients that only start programs", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if server != "" && profile != "" {
				return usageError{errors.New("--server and --profile exclude each other")}
			}
			path := "/mcp"
			if server != "" {
				path = "/s/" + server + "/mcp"
			}
			if profile != "" {
				path = "/p/" + profile + "/mcp"
			}
			return c.stdio(cmd.Context(), client, path)
		},
	}
	cmd.Flags().StringVar(&client, "client", "stdio", "name of the client, for its token and the history")
	cmd.Flags().StringVar(&server, "server", "", "offer this server alone, with its own tool names")
	cmd.Flags().StringVar(&profile, "profile", "", "offer this profile")
	return cmd
}

func (c *commands) stdio(ctx context.Context, client, path string) error {
	folders, err := c.folders()
	if err != nil {
		return err
	}
	if err := folders.Make(); err != nil {
		return err
	}
	tokens, err := loopback.NewTokens(folders.Data, nil)
	if err != nil {
		return err
	}
	find := &finder{folders: folders, launch: c.Launch, token: func() (string, error) {
		t, err := tokens.Create(client)
		return t.Token, err
	}}
	s, err := shim.New(shim.Options{
		In: c.Stdin, Out: c.Stdout, ID: rand.Text()[:12],
		Find: func(ctx context.Context, start bool) (shim.Address, error) { return find.find(ctx, start, path) },
	})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// finder finds the daemon of a data folder, and starts one when told to.
type finder struct {
	folders config.Folders
	launch  func(config.Folders) error
	token   func() (string, error)

	mu       sync.Mutex
	launched time.Time
}

// relaunchAfter is how long a daemon that was started gets before another start is tried.
const relaunchAfter = 20 * time.Second

func (f *finder) find(ctx context.Context, start bool, path string) (shim.Address, error) {
	token, err := f.token()
	if err != nil {
		return shim.Address{}, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		rt, ok, err := loopback.FindDaemon(f.folders.Data)
		if err != nil {
			return shim.Address{}, err
		}
		if ok {
			return shim.Address{URL: rt.URL + path, Token: token}, nil
		}
		if !start {
			return shim.Address{}, hub.Errorf(hub.CodeUnavailable, "Drawbridge is not running")
		}
		if err := f.start(); err != nil {
			return shim.Address{}, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return shim.Address{}, &hub.Error{
				Code: hub.CodeUnavailable, Message: "Drawbridge did not start",
				Hint: "Its log says why: drawbridge logs.", Cause: context.Cause(ctx),
			}
		}
	}
}

// start launches a daemon unless one lives, answering or not, or was launched a moment ago.
func (f *finder) start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.launched) < relaunchAfter {
		return nil
	}
	if held, err := loopback.Held(f.folders.Data); err != nil || held {
		return err
	}
	f.launched = time.Now()
	return f.launch(f.folders)
}

func (c *commands) demoCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "demo-server", Short: "Run a small MCP server to try things with", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return selfserver.RunDemo(cmd.Context(), c.Stdin, c.Stdout)
			}
			listener, err := loopback.Listen(address)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Stdout, "The demo server is at http://%s/mcp\n", listener.Addr())
			server := loopback.NewServer(selfserver.DemoHandler())
			stop := context.AfterFunc(cmd.Context(), func() { server.Close() })
			defer stop()
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve over HTTP at this loopback address instead of stdin and stdout")
	return cmd
}
