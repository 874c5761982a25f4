package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"drawbridge/backend/hub"

	"github.com/spf13/cobra"
)

// newServer is the body of POST servers.
type newServer struct {
	Name  string      `json:"name"`
	Entry serverEntry `json:"entry"`
}

// serverEntry is a server as the configuration has it.
type serverEntry struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

func (p *program) add() *cobra.Command {
	return &cobra.Command{
		Use: "add NAME -- COMMAND [ARGS...] | NAME URL", Short: "Add a server to the configuration",
		Long:    "Add a server to the configuration: a command that runs here, or the address of one that runs elsewhere.",
		Example: "  drawbridge add files -- npx -y @modelcontextprotocol/server-filesystem /tmp\n  drawbridge add docs https://example.com/mcp",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 || args[0] == "" || args[1] == "" || cmd.ArgsLenAtDash() == 0 {
				return usageError{fmt.Errorf("usage: %s", cmd.UseLine())}
			}
			return nil
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			entry := serverEntry{Command: args[1], Args: args[2:]}
			if isWeb(args[1]) {
				if len(args) > 2 {
					return usageError{errors.New("an address takes no arguments")}
				}
				entry = serverEntry{URL: args[1]}
			}
			var s hub.ServerStatus
			if done, err := p.fetch(cmd.Context(), http.MethodPost, "servers", nil, newServer{args[0], entry}, &s); done || err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.Stdout, line(name(s)+": added"))
			return err
		},
	}
}

func isWeb(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")) && u.Host != ""
}

func (p *program) remove() *cobra.Command {
	return &cobra.Command{
		Use: "remove SERVER", Short: "Take a server out of the configuration; its calls stay in the history", Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.daemon()
			if err != nil {
				return err
			}
			if _, err := d.raw(cmd.Context(), http.MethodDelete, "servers/"+url.PathEscape(args[0]), nil, nil); err != nil {
				return err
			}
			if p.json {
				return p.document(struct {
					Removed string `json:"removed"`
				}{args[0]})
			}
			_, err = fmt.Fprintln(p.Stdout, line(args[0]+": removed"))
			return err
		},
	}
}

func (p *program) rename() *cobra.Command {
	return &cobra.Command{
		Use: "rename SERVER NAME", Short: "Give a server another name in the configuration; its history follows", Args: between(2, 2),
		Long: `Give a server another name in the configuration; its history follows.

The server is started anew under that name. Profiles, saved checks, what is recorded of it and what is
trusted of it follow too. Its tools get other public names, so rules in a client's own settings that name
them want a change there.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var s hub.ServerStatus
			body := struct {
				Name string `json:"name"`
			}{args[1]}
			if done, err := p.fetch(cmd.Context(), http.MethodPost, "servers/"+url.PathEscape(args[0])+"/rename", nil, body, &s); done || err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.Stdout, line(args[0]+": is now "+name(s)))
			return err
		},
	}
}
