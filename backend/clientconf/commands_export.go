package clientconf

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// export is the command that prints servers for other programs.
func export(e *terminal.Env) *cobra.Command {
	var format string
	var withSecrets bool
	cmd := &cobra.Command{
		Use: "export [SERVER...]", Short: "Print servers in the format of other programs", Args: terminal.ArgCount(0, 1000),
		Long: "Print servers, or all of them, as the mcpServers object that most MCP clients and gateways read. Settings that only Drawbridge has are left out, and so are servers in containers. References to secrets are kept unless --with-secrets replaces them by their values.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "mcpServers" {
				return terminal.UsageError(fmt.Errorf("the format %q is not known: use mcpServers", format))
			}
			folders, err := e.Folders()
			if err != nil {
				return err
			}
			c, err := e.Sources(folders).Load()
			if err != nil {
				return err
			}
			value := func(context.Context, string) (string, error) { return "", nil }
			if withSecrets {
				store, err := secret.StoreOf(e)
				if err != nil {
					return err
				}
				value = store.Get
			}
			text, left, err := Export(cmd.Context(), c, args, value)
			if err != nil {
				return err
			}
			for _, id := range left {
				fmt.Fprintln(e.Stderr, "Left out, because it is neither a local program nor a URL: "+terminal.EscapeLine(id))
			}
			return e.PrintRaw(text)
		},
	}
	cmd.Flags().StringVar(&format, "to", "mcpServers", "the `FORMAT`: mcpServers")
	cmd.Flags().BoolVar(&withSecrets, "with-secrets", false, "print the values of secrets")
	return cmd
}

// Export returns servers as an mcpServers object, and the ids of those that it cannot describe. secretValue
// returns the value of a secret, or "" to keep the reference.
func Export(ctx context.Context, c *config.Config, ids []string, secretValue func(ctx context.Context, name string) (string, error)) (text []byte, left []string, err error) {
	wanted := map[string]bool{}
	for _, id := range ids {
		s, ok := c.Server(id)
		if !ok {
			return nil, nil, core.Errorf(core.CodeNotFound, "there is no server named %q", id)
		}
		wanted[s.ID] = true
	}
	servers := map[string]configEntry{}
	for _, s := range c.Servers {
		if len(ids) > 0 && !wanted[s.ID] {
			continue
		}
		e := configEntry{Command: s.Command, Args: s.Args, Env: s.Env, InheritEnv: s.InheritEnv, Cwd: s.Cwd, Disabled: s.Disabled}
		switch s.Type {
		case core.Stdio:
		case core.HTTP, core.SSE:
			e.Type, e.URL, e.Headers = string(s.Type), s.URL, s.Headers
		default:
			left = append(left, s.ID)
			continue
		}
		servers[s.Label] = e
	}
	text, err = json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	for name := range config.ReferencedSecrets(c) {
		reference := "${secret:" + name + "}"
		if !strings.Contains(string(text), reference) {
			continue
		}
		value, err := secretValue(ctx, name)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the secret %q: %w", name, err)
		}
		if value != "" {
			quoted, err := core.EncodeJSON(value)
			if err != nil {
				return nil, nil, err
			}
			text = []byte(strings.ReplaceAll(string(text), reference, string(quoted[1:len(quoted)-1])))
		}
	}
	return text, left, nil
}
