package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/spf13/cobra"
)

// serverEntry is a server in the form of the configuration.
type serverEntry struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

func (p *program) remove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove SERVER", Short: "Remove a server and the secrets that only it used; its calls stay in the history", Args: terminal.ArgCount(1, 1),
		RunE: p.OnDaemon(func(ctx context.Context, d *terminal.Daemon, args []string) error {
			own, id := secretsOnlyOf(ctx, d, args[0]), d.ServerID(ctx, args[0])
			if err := d.Change(ctx, http.MethodDelete, terminal.ServerPath(args[0], ""), nil); err != nil {
				return err
			}
			text := args[0] + ": removed"
			if names := strings.Join(own, ", "); names != "" {
				text += ", with the secrets that only it used: " + names
				if !yes && !p.JSON && p.Attended() && p.ConfirmOrFail(terminal.EscapeLine("Delete the secrets that only it used, too ("+names+")? They cannot be restored."), "") != nil {
					own, text = nil, args[0]+": removed; to delete its secrets: drawbridge secret rm NAME"
				}
			}
			for _, name := range own {
				if err := d.Change(ctx, http.MethodDelete, "secrets/"+url.PathEscape(name), nil); err != nil {
					return err
				}
			}
			if c, err := clientconf.Open(&p.Env); err == nil {
				for _, e := range c.EntriesOf(id) {
					fmt.Fprintln(p.Stderr, terminal.EscapeLine("Warning: "+e.String()+". Undo the entry with: "+e.Undo()))
				}
			}
			err := p.PrintSentence(map[string]any{"removed": args[0], "secrets": append([]string{}, own...)}, terminal.EscapeLine(text))
			return cmp.Or(err, ctx.Err()) // interrupted at the question
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before the secrets that only the server used are deleted")
	return cmd
}

// secretsOnlyOf returns the names of the secrets that only this server refers to.
func secretsOnlyOf(ctx context.Context, d *terminal.Daemon, server string) (names []string) {
	list, err := terminal.Get[secret.Secrets](ctx, d, "secrets", nil)
	if err != nil {
		return nil // they stay, and are listed as not used
	}
	id := d.ServerID(ctx, server)
	for _, s := range list.Items {
		if slices.Equal(s.Servers, []string{id}) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (p *program) rename() *cobra.Command {
	return &cobra.Command{
		Use: "rename SERVER NAME", Short: "Rename a server; its history is kept", Args: terminal.ArgCount(2, 2),
		Long: `Rename a server, and restart it. Its entries in the files of clients, profiles, argument rules, saved checks, recorded
calls and trusted tools are kept. Rules that refer to it by a pattern that cannot be changed are listed as warnings.
The public names of its tools change, so rules in a client's own settings that name them must be updated.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{"name": args[1]}
			return terminal.Show(cmd.Context(), &p.Env, http.MethodPost, terminal.ServerPath(args[0], "/rename"), nil, body, func(s api.RenamedServer) error {
				for _, w := range s.Warnings {
					fmt.Fprintln(p.Stderr, terminal.EscapeLine("Warning: "+w))
				}
				_, err := fmt.Fprintln(p.Stdout, terminal.EscapeLine(args[0]+": renamed to "+terminal.DisplayName(s.ServerStatus)))
				return err
			})
		},
	}
}
