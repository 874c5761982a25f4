package approvals

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/spf13/cobra"
)

type shownItem struct{ Approval }

// question returns the whole question for the user on one line, escaped: what is approved is never
// cut. Names are quoted, and blanks inside them and inside arguments are kept.
func (w *shownItem) question() string {
	text := w.Message
	switch {
	case w.Command != nil: // the command, its variables, its folder and its sandbox, on a line each
		text = "run " + strings.ReplaceAll(text, "\n", "; ")
		if w.Command.Previous != "" && w.Command.Previous != w.Command.CommandLine {
			text += "; before: " + w.Command.Previous
		}
	case w.Kind == "call":
		text = "call " + strconv.Quote(w.Tool) + " " + w.Arguments
	}
	// A control sequence would swallow what follows it.
	text = strings.ReplaceAll(string(serverlog.CleanJSON([]byte(text))), "\x1b", `\x1b`)
	return strings.ReplaceAll(terminal.EscapeText(text), "\n", " ")
}

// effect returns what is known of the effect of a call, on lines of its own, or "".
func (w *shownItem) effect() string {
	lines := slices.Clone(w.Warnings)
	for _, c := range w.Files {
		lines = append(lines, strings.TrimSpace("Effect on "+strconv.Quote(c.Path)+": "+c.Note))
		if c.Diff != "" {
			lines = append(lines, strings.TrimSuffix(c.Diff, "\n"))
		}
	}
	if p := w.Preview; p != nil {
		state := map[string]string{
			PreviewOffered: "can be run: drawbridge approvals preview " + w.shortID(), PreviewRunning: "running", PreviewFailed: "failed",
			PreviewDone: "result", PreviewIgnored: "not available",
		}[p.State]
		if p.State == PreviewDone && !p.Checked {
			state = "result (Drawbridge cannot tell whether the run changed something)"
		}
		lines = append(lines, "Preview with "+strconv.Quote(p.Argument)+": "+strings.TrimSpace(state+" "+p.Problem))
		if p.Text != "" {
			lines = append(lines, p.Text)
		}
	}
	return terminal.EscapeText(core.Visible(strings.Join(lines, "\n")))
}

// questionAndEffect is question with the effect below it.
func (w *shownItem) questionAndEffect(requestedBy string) string {
	text := strconv.Quote(w.Server) + ": " + w.question() + requestedBy
	if effect := w.effect(); effect != "" {
		text += "\n  " + strings.ReplaceAll(effect, "\n", "\n  ")
	}
	return text
}

// maxListed is the size of the longest question that the list shows.
const maxListed = 4 << 10

// listed returns the question for the list. One that is longer is cut, and says so; answering it
// shows it first.
func (w *shownItem) listed() string {
	if text := w.question(); len(text) <= maxListed && !w.ArgumentsCut {
		return text
	}
	return fmt.Sprintf("%s… (cut; see all with: drawbridge approvals %s)", core.CutBytes(w.question(), maxListed), w.shortID())
}

// complete loads the arguments that the list of the API has cut.
func (w *shownItem) complete(ctx context.Context, d *terminal.Daemon) error {
	if !w.ArgumentsCut {
		return nil
	}
	full, err := terminal.Get[shownItem](ctx, d, "approvals/"+url.PathEscape(w.ID), nil)
	if err == nil {
		*w = full
	}
	return err
}

// shortID returns the id with the beginning of the hash of the command.
func (w *shownItem) shortID() string {
	if w.Command != nil {
		return w.ID[:min(len(w.ID), len("command:"+w.Server+":")+8)]
	}
	return w.ID
}

// Commands adds the commands about pending approvals.
func Commands(e *terminal.Env, root *cobra.Command) { root.AddCommand(approvals(e)) }

func approvals(e *terminal.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals [APPROVAL]", Short: "List what waits for your approval, or show all of one", Args: terminal.ArgCount(0, 1),
		Long:    "List pending approvals, or show all of one: calls, new commands, changed tools, and forms and URLs from servers.\nForms can be filled in only in the web UI: drawbridge open /approvals.",
		Example: "  drawbridge approvals\n  drawbridge approvals --wait\n  drawbridge approvals allow command:files:1a2b3c4d\n  drawbridge approvals deny 3f2a",
	}
	var wait bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case wait:
			return watchApprovals(cmd.Context(), e)
		case len(args) == 1:
			return showApproval(cmd.Context(), e, args[0])
		}
		return listApprovals(cmd.Context(), e)
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "ask about each approval as it arrives, until interrupted")
	var minutes, session, always bool
	var where string
	var reviewed bool
	allow := &cobra.Command{
		Use: "allow APPROVAL", Short: "Approve a command or a call", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope := "once"
			switch {
			case minutes && always || minutes && session || session && always:
				return terminal.UsageError(errors.New("choose one of --minutes, --session and --always"))
			case session:
				scope = "session"
			case minutes:
				scope = "minutes"
			case always:
				scope = "always"
			}
			return answer(cmd.Context(), e, args[0], "accept", scope, where, reviewed)
		},
	}
	allow.Flags().BoolVar(&reviewed, "reviewed", false, "confirm that you have read all of a request that the list cuts")
	allow.Flags().BoolVar(&minutes, "minutes", false, "also allow further calls to this tool by this client, for ten minutes")
	allow.Flags().BoolVar(&session, "session", false, "also allow further calls to this tool in this session of the client")
	allow.Flags().StringVar(&where, "where", "", "allow further calls only if their arguments match this `CONDITION`, in the syntax of argument rules, for example '{\"/path\": {\"under\": \"/home/me/notes\"}}'")
	allow.Flags().BoolVar(&always, "always", false, "always allow this tool; changes the configuration")
	deny := &cobra.Command{
		Use: "deny APPROVAL", Short: "Deny a call or decline a form; a command stays pending", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answer(cmd.Context(), e, args[0], "decline", "once", "", true)
		},
	}
	var noChange, madeChange bool
	preview := &cobra.Command{
		Use: "preview APPROVAL", Short: "Run the tool of a call so that it only shows what it would change", Args: terminal.ArgCount(1, 1),
		Long: "Run the tool of a pending call with its preview argument, such as dryRun, and show the result.\nA tool that ignores the argument makes the change: Drawbridge finds out, and does not preview the tool again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case noChange && madeChange:
				return terminal.UsageError(errors.New("choose one of --changed-nothing and --made-change"))
			case noChange:
				return previewApproval(cmd.Context(), e, args[0], honoured)
			case madeChange:
				return previewApproval(cmd.Context(), e, args[0], ignored)
			}
			return previewApproval(cmd.Context(), e, args[0], "run")
		},
	}
	preview.Flags().BoolVar(&noChange, "changed-nothing", false, "do not run it: say that previews of this tool change nothing")
	preview.Flags().BoolVar(&madeChange, "made-change", false, "do not run it: say that previews of this tool make the change")
	cmd.AddCommand(allow, deny, preview)
	return cmd
}

// previewApproval runs a preview and shows its result, or passes on the word of the user.
func previewApproval(ctx context.Context, e *terminal.Env, id, action string) error {
	d := e.Daemon()
	w, err := findPending(ctx, e, d, id)
	if err != nil {
		return err
	}
	path := "approvals/" + url.PathEscape(w.ID)
	if err := d.Change(ctx, http.MethodPost, path+"/preview", map[string]string{"action": action}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*previewTimeout)
	defer cancel()
	for {
		got, err := terminal.Get[shownItem](ctx, d, path, nil)
		if err != nil {
			return err
		}
		if got.Preview == nil || got.Preview.State != PreviewRunning || !core.Sleep(ctx, 200*time.Millisecond) {
			return e.PrintSentence(got, got.questionAndEffect(""))
		}
	}
}

func showApproval(ctx context.Context, e *terminal.Env, id string) error {
	d := e.Daemon()
	w, err := findPending(ctx, e, d, id)
	if err != nil {
		return err
	}
	return e.PrintSentence(w, w.questionAndEffect(""))
}

func listApprovals(ctx context.Context, e *terminal.Env) error {
	t := terminal.Table{Wrap: true, Keep: []bool{true, true}, Title: "Pending approvals", Empty: "No approvals are pending.", Head: []string{"ID", "Kind", "Server", "By", "Request"}}
	return terminal.ShowList(ctx, e, "approvals", nil, t, func(w shownItem) []string {
		return []string{w.shortID(), string(w.Kind), w.Server, w.client(), w.listed()}
	})
}

// client returns the token of the client, or the name that it gives itself in quotes.
func (w *shownItem) client() string {
	if w.Client.Token == "" && w.Client.Name != "" {
		return strconv.Quote(w.Client.Name)
	}
	return cmp.Or(w.Client.Token, "-")
}

// findPending returns the only item whose id starts with id.
func findPending(ctx context.Context, e *terminal.Env, d *terminal.Daemon, id string) (*shownItem, error) {
	list, err := terminal.Get[web.List[shownItem]](ctx, d, "approvals", nil)
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
func answer(ctx context.Context, e *terminal.Env, id, action, scope, where string, reviewed bool) error {
	d := e.Daemon()
	w, err := findPending(ctx, e, d, id)
	if err != nil {
		return err
	}
	if !reviewed && len(w.question()) > maxListed {
		return &core.Error{Code: core.CodeValidation, Message: "the list shows only the beginning of this request",
			Hint: "Read it with: drawbridge approvals " + w.shortID() + ". Then add --reviewed."}
	}
	if w.Command != nil && action == "accept" && !strings.HasPrefix(id, w.shortID()) {
		return &core.Error{Code: core.CodeValidation, Message: "the id does not say which command of the server is meant; it would now " + w.listed(),
			Hint: "To approve exactly this: drawbridge approvals allow " + w.shortID()}
	}
	if w.Kind == "form" && action == "accept" {
		return &core.Error{Code: core.CodeValidation, Message: "cannot fill in a form on the command line", Hint: "Run: drawbridge open /approvals"}
	}
	body := map[string]any{"action": action, "scope": scope, "seen": w.Seen}
	if where != "" {
		if !json.Valid([]byte(where)) {
			return terminal.UsageError(errors.New("--where is not valid JSON"))
		}
		body["where"] = json.RawMessage(where)
	}
	if err := d.Change(ctx, http.MethodPost, "approvals/"+url.PathEscape(w.ID), body); err != nil {
		return err
	}
	word := map[string]string{"accept": "Allowed", "decline": "Denied"}[action]
	if w.Command != nil && action != "accept" {
		word = "Not approved, still pending"
	}
	return e.PrintSentence(map[string]string{"id": w.ID, "action": action, "scope": scope}, word+": "+w.listed())
}

func findOnly(list []shownItem, id string) (*shownItem, error) {
	var found *shownItem
	for i := range list {
		w := &list[i]
		if w.ID == id || w.shortID() == id {
			return w, nil
		}
		if strings.HasPrefix(w.ID, id) {
			if found != nil {
				return nil, terminal.UsageError(fmt.Errorf("%q matches several pending approvals: enter more of the id", id))
			}
			found = w
		}
	}
	if found == nil {
		return nil, &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no pending approval named %q", id), Hint: "See: drawbridge approvals"}
	}
	return found, nil
}

// watchApprovals asks about all pending and new approvals until it is interrupted or its input
// ends. While it follows the events, the daemon treats it as a user who can answer.
func watchApprovals(ctx context.Context, e *terminal.Env) error {
	if e.JSON {
		return terminal.UsageError(errors.New("--wait is interactive and cannot be combined with --json"))
	}
	d := e.Daemon()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := d.Send(ctx, http.MethodGet, "events", nil, nil) //nolint:bodyclose // closed below
	if err != nil {
		return err
	}
	defer stream.Body.Close()
	changed, ended, answers := make(chan struct{}, 1), make(chan Approval, 64), make(chan string)
	go func() { // ends with the stream
		defer close(changed)
		signalApprovals(stream.Body, changed, ended)
	}()
	go readAnswers(ctx, e.Stdin, answers)
	fmt.Fprintln(e.Stdout, "Waiting for approvals. Press Ctrl-C to stop.")
	asked := map[string]bool{}
	for {
		if err := askPending(ctx, e, d, asked, ended, answers); err != nil {
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case _, open := <-changed:
			if !open && ctx.Err() == nil {
				return terminal.ErrStreamEnded
			}
			if !open {
				return nil
			}
		case _, open := <-answers: // typed before a question was shown: ignored
			if !open {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// signalApprovals signals that approvals may be pending: at the start and after each event. It sends
// those that are no longer pending to ended.
func signalApprovals(stream io.Reader, changed chan<- struct{}, ended chan<- Approval) {
	events := wire.NewEventReader(stream, terminal.MaxDocument)
	for {
		event, err := events.Next()
		if err != nil {
			return
		}
		var gone Approval
		if event.Name == "approval" && json.Unmarshal(event.Data, &gone) == nil && gone.State != "" {
			select {
			case ended <- gone:
			default: // the answer to it is refused
			}
		}
		if event.Name == "approval" || event.Name == "snapshot" {
			select {
			case changed <- struct{}{}:
			default: // already signalled
			}
		}
	}
}

// readAnswers forwards lines of the keyboard; it closes answers at the end of input.
func readAnswers(ctx context.Context, in io.Reader, answers chan<- string) {
	defer close(answers)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		select {
		case answers <- lines.Text():
		case <-ctx.Done():
			return
		}
	}
}

// askPending asks about each pending approval that was not asked about before.
func askPending(ctx context.Context, e *terminal.Env, d *terminal.Daemon, asked map[string]bool, ended <-chan Approval, answers <-chan string) error {
	list, err := terminal.Get[web.List[shownItem]](ctx, d, "approvals", nil)
	if err != nil {
		return err
	}
	for i := range list.Items {
		w := &list.Items[i]
		if asked[w.ID] {
			continue
		}
		asked[w.ID] = true
		if err := w.complete(ctx, d); core.CodeOf(err) == core.CodeNotFound {
			continue // no longer pending
		} else if err != nil {
			return err
		}
		requestedBy := ""
		if client := w.client(); client != "-" {
			requestedBy = ", requested by " + terminal.EscapeLine(client)
		}
		fmt.Fprintln(e.Stdout, w.questionAndEffect(requestedBy))
		if w.Kind == "form" {
			fmt.Fprintln(e.Stdout, "  This is a form. Fill it in with: drawbridge open /approvals")
			continue
		}
		fmt.Fprint(e.Stdout, "  Allow? [y/N] ")
		if err := readAnswer(ctx, e, d, w, ended, answers); errors.Is(err, errShowsOther) {
			delete(asked, w.ID) // the event of its change makes askPending ask again
		} else if err != nil {
			return err
		}
	}
	return nil
}

// readAnswer waits for the answer about an approval, or until it is no longer pending.
func readAnswer(ctx context.Context, e *terminal.Env, d *terminal.Daemon, w *shownItem, ended <-chan Approval, answers <-chan string) error {
	for {
		select {
		case text, open := <-answers:
			if !open {
				fmt.Fprintln(e.Stdout)
				return io.EOF
			}
			return sendAnswer(ctx, e, d, w, text)
		case gone := <-ended:
			if gone.ID == w.ID {
				fmt.Fprintln(e.Stdout, "\n  "+terminal.EscapeLine("No longer pending: "+cmp.Or(gone.Reason, gone.State)))
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errShowsOther = errors.New("the approval shows something else now")

// sendAnswer sends an answer. It reports an approval that is no longer pending without an error.
func sendAnswer(ctx context.Context, e *terminal.Env, d *terminal.Daemon, w *shownItem, text string) error {
	action, said := "decline", "  Denied."
	if text = strings.ToLower(strings.TrimSpace(text)); text == "y" || text == "yes" {
		action, said = "accept", "  Allowed."
	} else if w.Command != nil {
		said = "  Not approved, still pending."
	}
	err := d.Change(ctx, http.MethodPost, "approvals/"+url.PathEscape(w.ID), map[string]string{"action": action, "scope": "once", "seen": w.Seen})
	if core.CodeOf(err) == core.CodeConflict && w.Seen != "" {
		fmt.Fprintln(e.Stdout, "  Not allowed: it shows something else now.")
		return errShowsOther
	}
	if code := core.CodeOf(err); err != nil && (code == core.CodeNotFound || code == core.CodeConflict) {
		said, err = "  It is no longer pending.", nil
	}
	if err == nil {
		fmt.Fprintln(e.Stdout, said)
	}
	return err
}
