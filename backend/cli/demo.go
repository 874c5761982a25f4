package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/builtin"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

func (p *program) demo() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "demo-server", Hidden: true, Short: "Run a small MCP server for demonstrations", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return builtin.RunDemo(cmd.Context(), p.Stdin, p.Stdout)
			}
			return p.demoHTTP(cmd.Context(), address)
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve streamable HTTP at this loopback `ADDRESS` instead of stdin and stdout")
	return cmd
}

func (p *program) demoHTTP(ctx context.Context, address string) error {
	listener, err := loopback.Listen(address)
	if err != nil {
		return err
	}
	server := loopback.NewServer(builtin.DemoHandler())
	fmt.Fprintf(p.Stderr, "The demo server listens on http://%s/mcp\n", listener.Addr())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
		err = <-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
