package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/spf13/cobra"
)

// pendingItem is one entry of GET approvals.
type pendingItem struct{ api.Approval }

// question returns the question for the user on one line.
func (w *pendingItem) question() string {
	switch {
	case w.Command != nil:
		return "run " + w.Command.CommandLine
	case w.Kind == "call":
		return "call " + w.Tool + " " + truncate(w.Arguments, 200)
	}
	return truncate(w.Message, 200)
}

// shortID returns the id without the hash of the command.
func (w *pendingItem) shortID() string {
	if w.Command != nil {
		return "command:" + w.Server
	}
	return w.ID
}

func (p *program) approvals() *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "List pending approvals: calls, new commands, changed tools, and forms and URLs from servers", Args: noArgs,
		Long:    "List pending approvals: calls, new commands, changed tools, and forms and URLs from servers.\nForms can be filled in only in the web UI: drawbridge open /approvals.",
		Example: "  drawbridge approvals\n  drawbridge approvals --wait\n  drawbridge approvals allow command:files\n  drawbridge approvals deny 3f2a",
	}
	var wait bool
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if wait {
			return p.watchApprovals(cmd.Context())
		}
		return p.listApprovals(cmd.Context())
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "ask about each approval as it arrives, until interrupted")
	var minutes, session, always bool
	var where string
	allow := &cobra.Command{
		Use: "allow ID", Short: "Approve a command or a call", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope := "once"
			switch {
			case minutes && always || minutes && session || session && always:
				return usageError{errors.New("choose one of --minutes, --session and --always")}
			case session:
				scope = "session"
			case minutes:
				scope = "minutes"
			case always:
				scope = "always"
			}
			return p.answer(cmd.Context(), args[0], "accept", scope, where)
		},
	}
	allow.Flags().BoolVar(&minutes, "minutes", false, "also allow further calls to this tool by this client, for ten minutes")
	allow.Flags().BoolVar(&session, "session", false, "also allow further calls to this tool in this session of the client")
	allow.Flags().StringVar(&where, "where", "", "allow further calls only if their arguments match this `CONDITION`, in the syntax of argument rules, for example '{\"/path\": {\"under\": \"/home/me/notes\"}}'")
	allow.Flags().BoolVar(&always, "always", false, "always allow this tool; changes the configuration")
	deny := &cobra.Command{
		Use: "deny ID", Short: "Deny a call or decline a form; a command stays pending and does not run", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.answer(cmd.Context(), args[0], "decline", "once", "")
		},
	}
	cmd.AddCommand(allow, deny)
	return cmd
}

func (p *program) listApprovals(ctx context.Context) error {
	t := table{title: "Pending approvals", empty: "No approvals are pending.", head: []string{"ID", "Kind", "Server", "By", "Request"}}
	return showList(ctx, p, "approvals", nil, t, func(w pendingItem) []string {
		return []string{w.shortID(), string(w.Kind), w.Server, cmp.Or(w.Client.Token, w.Client.Name, "-"), w.question()}
	})
}

// answer answers the only item whose id starts with id.
func (p *program) answer(ctx context.Context, id, action, scope, where string) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	data, err := d.requestRaw(ctx, http.MethodGet, "approvals", nil, nil)
	if err != nil {
		return err
	}
	var list api.List[pendingItem]
	if err := decode(data, &list); err != nil {
		return err
	}
	w, err := findOnly(list.Items, id)
	if err != nil {
		return err
	}
	if w.Kind == "form" && action == "accept" {
		return &core.Error{Code: core.CodeValidation, Message: "cannot fill in a form on the command line", Hint: "Run: drawbridge open /approvals"}
	}
	body := map[string]any{"action": action, "scope": scope}
	if where != "" {
		if !json.Valid([]byte(where)) {
			return usageError{errors.New("--where is not valid JSON")}
		}
		body["where"] = json.RawMessage(where)
	}
	if err := d.change(ctx, http.MethodPost, "approvals/"+url.PathEscape(w.ID), body); err != nil {
		return err
	}
	word := map[string]string{"accept": "Allowed", "decline": "Denied"}[action]
	if w.Command != nil && action != "accept" {
		word = "Not approved, still pending"
	}
	return p.printSentence(map[string]string{"id": w.ID, "action": action, "scope": scope}, escapeLine(word+": "+w.question()))
}

func findOnly(list []pendingItem, id string) (*pendingItem, error) {
	var found *pendingItem
	for i := range list {
		w := &list[i]
		if w.ID == id || w.shortID() == id {
			return w, nil
		}
		if strings.HasPrefix(w.ID, id) {
			if found != nil {
				return nil, usageError{fmt.Errorf("%q matches several pending approvals: enter more of the id", id)}
			}
			found = w
		}
	}
	if found == nil {
		return nil, &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no pending approval named %q", id), Hint: "See: drawbridge approvals"}
	}
	return found, nil
}
