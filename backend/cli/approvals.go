package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"

	"github.com/spf13/cobra"
)

// pendingItem is one entry of GET approvals.
type pendingItem struct{ api.Approval }

// question returns the whole question for the user on one line, escaped: what is approved is never
// cut. Names are quoted, and blanks inside them and inside arguments are kept.
func (w *pendingItem) question() string {
	text := w.Message
	switch {
	case w.Command != nil:
		text = "run " + w.Command.CommandLine
	case w.Kind == "call":
		text = "call " + strconv.Quote(w.Tool) + " " + w.Arguments
	}
	// A control sequence would swallow what follows it.
	text = strings.ReplaceAll(string(serverlog.CleanJSON([]byte(text))), "\x1b", `\x1b`)
	return strings.ReplaceAll(escapeText(text), "\n", " ")
}

// maxListed is the size of the longest question that the list shows.
const maxListed = 4 << 10

// listed returns the question for the list. One that is longer is cut, and says so; answering it
// shows it first.
func (w *pendingItem) listed() string {
	if text := w.question(); len(text) <= maxListed && !w.ArgumentsCut {
		return text
	}
	return fmt.Sprintf("%s… (cut; see all with: drawbridge approvals show %s)", core.CutBytes(w.question(), maxListed), w.shortID())
}

// complete loads the arguments that the list of the API has cut.
func (w *pendingItem) complete(ctx context.Context, d *daemon) error {
	if !w.ArgumentsCut {
		return nil
	}
	full, err := get[pendingItem](ctx, d, "approvals/"+url.PathEscape(w.ID), nil)
	if err == nil {
		*w = full
	}
	return err
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
	var reviewed bool
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
			return p.answer(cmd.Context(), args[0], "accept", scope, where, reviewed)
		},
	}
	allow.Flags().BoolVar(&reviewed, "reviewed", false, "confirm that you have read all of a request that the list cuts")
	allow.Flags().BoolVar(&minutes, "minutes", false, "also allow further calls to this tool by this client, for ten minutes")
	allow.Flags().BoolVar(&session, "session", false, "also allow further calls to this tool in this session of the client")
	allow.Flags().StringVar(&where, "where", "", "allow further calls only if their arguments match this `CONDITION`, in the syntax of argument rules, for example '{\"/path\": {\"under\": \"/home/me/notes\"}}'")
	allow.Flags().BoolVar(&always, "always", false, "always allow this tool; changes the configuration")
	deny := &cobra.Command{
		Use: "deny ID", Short: "Deny a call or decline a form; a command stays pending and does not run", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.answer(cmd.Context(), args[0], "decline", "once", "", true)
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show all of a pending approval", Args: argCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.daemon()
			if err != nil {
				return err
			}
			w, err := p.findPending(cmd.Context(), d, args[0])
			if err == nil {
				err = p.printSentence(w, strconv.Quote(w.Server)+": "+w.question())
			}
			return err
		},
	}
	cmd.AddCommand(allow, deny, show)
	return cmd
}

func (p *program) listApprovals(ctx context.Context) error {
	t := table{whole: true, title: "Pending approvals", empty: "No approvals are pending.", head: []string{"ID", "Kind", "Server", "By", "Request"}}
	return showList(ctx, p, "approvals", nil, t, func(w pendingItem) []string {
		return []string{w.shortID(), string(w.Kind), w.Server, w.client(), w.listed()}
	})
}

// client returns the token of the client, or the name that it gives itself in quotes.
func (w *pendingItem) client() string {
	if w.Client.Token == "" && w.Client.Name != "" {
		return strconv.Quote(w.Client.Name)
	}
	return cmp.Or(w.Client.Token, "-")
}

// findPending returns the only item whose id starts with id.
func (p *program) findPending(ctx context.Context, d *daemon, id string) (*pendingItem, error) {
	list, err := get[api.List[pendingItem]](ctx, d, "approvals", nil)
	if err != nil {
		return nil, err
	}
	w, err := findOnly(list.Items, id)
	if err != nil {
		return nil, err
	}
	return w, w.complete(ctx, d)
}

// answer answers the only item whose id starts with id.
func (p *program) answer(ctx context.Context, id, action, scope, where string, reviewed bool) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	w, err := p.findPending(ctx, d, id)
	if err != nil {
		return err
	}
	if !reviewed && len(w.question()) > maxListed {
		return &core.Error{Code: core.CodeValidation, Message: "the list shows only the beginning of this request",
			Hint: "Read it with: drawbridge approvals show " + w.shortID() + ". Then add --reviewed."}
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
	return p.printSentence(map[string]string{"id": w.ID, "action": action, "scope": scope}, word+": "+w.listed())
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
