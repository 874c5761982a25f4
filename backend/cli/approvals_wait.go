package cli

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
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// watchApprovals asks about all pending and new approvals until it is interrupted or its input
// ends. While it follows the events, the daemon treats it as a user who can answer.
func (p *program) watchApprovals(ctx context.Context) error {
	if p.json {
		return usageError{errors.New("--wait is interactive and cannot be combined with --json")}
	}
	d, err := p.daemon()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := d.send(ctx, http.MethodGet, "events", nil, nil) //nolint:bodyclose // closed below
	if err != nil {
		return err
	}
	defer stream.Body.Close()
	changed, ended, answers := make(chan struct{}, 1), make(chan api.Approval, 64), make(chan string)
	go func() { // ends with the stream
		defer close(changed)
		signalApprovals(stream.Body, changed, ended)
	}()
	go readAnswers(ctx, p.Stdin, answers)
	fmt.Fprintln(p.Stdout, "Waiting for approvals. Press Ctrl-C to stop.")
	asked := map[string]bool{}
	for {
		if err := p.askPending(ctx, d, asked, ended, answers); err != nil {
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case _, open := <-changed:
			if !open && ctx.Err() == nil {
				return errStreamEnded
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
func signalApprovals(stream io.Reader, changed chan<- struct{}, ended chan<- api.Approval) {
	events := wire.NewEventReader(stream, maxDocument)
	for {
		event, err := events.Next()
		if err != nil {
			return
		}
		var gone api.Approval
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
func (p *program) askPending(ctx context.Context, d *daemon, asked map[string]bool, ended <-chan api.Approval, answers <-chan string) error {
	list, err := get[api.List[pendingItem]](ctx, d, "approvals", nil)
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
			requestedBy = ", requested by " + escapeLine(client)
		}
		fmt.Fprintln(p.Stdout, strconv.Quote(w.Server)+": "+w.question()+requestedBy)
		if w.Kind == "form" {
			fmt.Fprintln(p.Stdout, "  This is a form. Fill it in with: drawbridge open /approvals")
			continue
		}
		fmt.Fprint(p.Stdout, "  Allow? [y/N] ")
		if err := p.readAnswer(ctx, d, w, ended, answers); err != nil {
			return err
		}
	}
	return nil
}

// readAnswer waits for the answer about an approval, or until it is no longer pending.
func (p *program) readAnswer(ctx context.Context, d *daemon, w *pendingItem, ended <-chan api.Approval, answers <-chan string) error {
	for {
		select {
		case text, open := <-answers:
			if !open {
				fmt.Fprintln(p.Stdout)
				return io.EOF
			}
			return p.sendAnswer(ctx, d, w, text)
		case gone := <-ended:
			if gone.ID == w.ID {
				fmt.Fprintln(p.Stdout, "\n  "+escapeLine("No longer pending: "+cmp.Or(gone.Reason, gone.State)))
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendAnswer sends an answer. It reports an approval that is no longer pending without an error.
func (p *program) sendAnswer(ctx context.Context, d *daemon, w *pendingItem, text string) error {
	action, said := "decline", "  Denied."
	if text = strings.ToLower(strings.TrimSpace(text)); text == "y" || text == "yes" {
		action, said = "accept", "  Allowed."
	} else if w.Command != nil {
		said = "  Not approved, still pending."
	}
	err := d.change(ctx, http.MethodPost, "approvals/"+url.PathEscape(w.ID), map[string]string{"action": action, "scope": "once"})
	if code := core.CodeOf(err); err != nil && (code == core.CodeNotFound || code == core.CodeConflict) {
		said, err = "  It is no longer pending.", nil
	}
	if err == nil {
		fmt.Fprintln(p.Stdout, said)
	}
	return err
}
