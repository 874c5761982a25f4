package clientconf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// export is the command that prints servers for other programs.
func export(e *terminal.Env) *cobra.Command {
	var format string
	var withSecrets, withoutLimits bool
	cmd := &cobra.Command{
		Use: "export [SERVER...]", Short: "Print servers in the format of other programs", Args: terminal.ArgCount(0, 1000),
		Long: "Print servers, or all of them, as the mcpServers object that most MCP clients and gateways read. Settings that only Drawbridge has are left out and named, and so are servers in containers and those with limits: tool lists, approval or a sandbox. Secrets are printed as references unless --with-secrets prints their values.",
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
			o := ExportOptions{IDs: args, WithoutLimits: withoutLimits}
			if withSecrets {
				store, err := secret.StoreOf(e)
				if err != nil {
					return err
				}
				o.SecretValue = store.Get
			}
			text, notes, err := Export(cmd.Context(), c, o)
			if err != nil {
				return err
			}
			for _, note := range notes {
				fmt.Fprintln(e.Stderr, terminal.EscapeLine(note))
			}
			return e.PrintRaw(text)
		},
	}
	cmd.Flags().StringVar(&format, "to", "mcpServers", "the `FORMAT`: mcpServers")
	cmd.Flags().BoolVar(&withSecrets, "with-secrets", false, "print the values of secrets")
	cmd.Flags().BoolVar(&withoutLimits, "without-limits", false, "also print servers whose tool lists, approval or sandbox other programs do not have")
	return cmd
}

// ExportOptions are what Export prints.
type ExportOptions struct {
	IDs []string // of servers; nil for all
	// SecretValue returns the value of a secret. If it is nil, references stay, and secrets that are not in
	// the store are replaced by references.
	SecretValue   func(ctx context.Context, name string) (string, error)
	WithoutLimits bool // also servers that other programs would not limit
}

// exportedKeys are the keys of our configuration that other programs know.
var exportedKeys = []string{"type", "transport", "command", "args", "env", "cwd", "url", "httpUrl", "headers", "disabled", "enabled", "name", "description"}

// Export returns servers as an mcpServers object, and notes about what it lacks.
func Export(ctx context.Context, c *config.Config, o ExportOptions) (text []byte, notes []string, err error) {
	wanted := map[string]bool{}
	for _, id := range o.IDs {
		s, ok := c.Server(id)
		if !ok {
			return nil, nil, core.Errorf(core.CodeNotFound, "there is no server named %q", id)
		}
		wanted[s.ID] = true
	}
	servers := map[string]*configEntry{}
	for n := range c.Servers {
		s := &c.Servers[n]
		if len(o.IDs) > 0 && !wanted[s.ID] {
			continue
		}
		limits := limitsOf(s)
		switch {
		case s.Type != core.Stdio && s.Type != core.HTTP && s.Type != core.SSE:
			notes = append(notes, "Left out, because it is neither a local program nor a URL: "+s.ID)
			continue
		case len(limits) > 0 && !o.WithoutLimits:
			notes = append(notes, fmt.Sprintf("Left out, because the limits of %s would be lost: %s. Set them in the other program, too, and add --without-limits.", s.ID, strings.Join(limits, ", ")))
			continue
		}
		lost := slices.DeleteFunc(s.Keys(), func(key string) bool { return slices.Contains(exportedKeys, key) || slices.Contains(limits, key) })
		if lost = append(limits, lost...); len(lost) > 0 {
			notes = append(notes, fmt.Sprintf("Other programs do not have these settings of %s: %s", s.ID, strings.Join(lost, ", ")))
		}
		x := exporter{ExportOptions: o, ctx: ctx, id: s.ID}
		if servers[s.Label], err = x.entry(c, s); err != nil {
			return nil, nil, err
		}
		notes = append(notes, x.notes...)
	}
	if len(c.Policy.Arguments) > 0 {
		notes = append(notes, "Other programs do not have the argument rules: policy.rules")
	}
	raw, err := core.EncodeJSON(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, raw, "", "  ")
	return out.Bytes(), notes, err
}

// limitsOf names the settings by which Drawbridge limits what clients can do with a server.
func limitsOf(s *config.Server) (keys []string) {
	if s.Filter != nil {
		for _, key := range []string{"includeTools", "excludeTools", "tools"} {
			if slices.Contains(s.Keys(), key) {
				keys = append(keys, key)
			}
		}
	}
	if s.Rules.Approval != config.ApprovalNever {
		keys = append(keys, "approval")
	}
	if s.Sandbox.On {
		keys = append(keys, "sandbox")
	}
	return keys
}

// exporter converts one server.
type exporter struct {
	ExportOptions
	ctx   context.Context
	id    string
	notes []string
	err   error
}

func (x *exporter) entry(c *config.Config, s *config.Server) (*configEntry, error) {
	e := &configEntry{
		Command: s.Command, Args: slices.Clone(s.Args), Env: maps.Clone(s.Env), InheritEnv: s.InheritEnv, Cwd: s.Cwd,
		URL: s.URL, Headers: maps.Clone(s.Headers), Disabled: s.Disabled,
	}
	if s.Type != core.Stdio {
		e.Type = string(s.Type)
	}
	if x.SecretValue == nil {
		known := config.ReferencedSecrets(c)
		h := newSecretExtractor(s.Label, func(name, _ string) bool { return known[name] != nil })
		h.Map(e.Env)
		h.Map(e.Headers)
		h.Args(e.Args)
		e.URL = h.URL(e.URL)
		for _, name := range slices.Sorted(maps.Keys(h.values)) {
			x.addNote("A secret in the configuration of %s is printed as ${secret:%s}. Print it with --with-secrets.", s.ID, name)
		}
	}
	for _, text := range []*string{&e.Command, &e.Cwd, &e.URL} {
		*text = x.text(*text, false)
	}
	for n := range e.Args {
		e.Args[n] = x.text(e.Args[n], false)
	}
	for key := range e.Env {
		e.Env[key] = x.text(e.Env[key], false)
	}
	for key := range e.Headers {
		e.Headers[key] = x.text(e.Headers[key], true)
	}
	return e, x.err
}

var escapeOrSecret = osutil.LazyRegexp(`\$\$\{|\$\{secret:([^}]*?)(?::-[^}]*)?\}`)

// text returns text with the values of secrets, and without our escape, which other programs do not know.
func (x *exporter) text(text string, inHeader bool) string {
	return escapeOrSecret().ReplaceAllStringFunc(text, func(found string) string {
		value := "${"
		if name := escapeOrSecret().FindStringSubmatch(found)[1]; found != "$${" {
			if x.SecretValue == nil {
				return found
			}
			var err error
			if value, err = x.SecretValue(x.ctx, name); err != nil {
				x.err = cmp.Or(x.err, fmt.Errorf("cannot read the secret %q: %w", name, err))
			}
			if inHeader && strings.ContainsAny(value, "\r\n") {
				x.addNote("The secret %q of %s contains a line break, which a header cannot: its reference is kept.", name, x.id)
				return found
			}
		}
		if strings.Contains(value, "${") {
			x.addNote("A value of %s contains ${ as text. Programs with variables replace it.", x.id)
		}
		return value
	})
}

func (x *exporter) addNote(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(x.notes, note) {
		x.notes = append(x.notes, note)
	}
}
