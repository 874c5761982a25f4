package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

// maxDocument is the size limit of an API response.
const maxDocument = 256 << 20

// notRunningHint suggests starting it in the background; drawbridge serve would block the terminal.
const notRunningHint = "Start it with: drawbridge"

// daemon is a client of the running daemon.
type daemon struct {
	url   string
	token string
	http  *http.Client
}

// daemon finds the running daemon of the data folder. It warns if the version of the daemon
// differs.
func (p *program) daemon() (*daemon, error) {
	folders, err := p.folders()
	if err != nil {
		return nil, err
	}
	rt, running, err := loopback.FindDaemon(folders.Data)
	if starting := loopback.StartingDaemon(folders.Data); err == nil && !running && starting != "" {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: starting, Hint: "Try again in a moment. Its log shows what it is waiting for: drawbridge logs."}
	}
	if err != nil || !running {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is not running",
			Hint: notRunningHint, Cause: err}
	}
	token, err := loopback.ReadAdminToken(folders.Data)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnauthorized, Message: "cannot read the admin token", Cause: err}
	}
	if rt.Version != p.Version && !p.json {
		fmt.Fprintf(p.Stderr, "Drawbridge %s is running, but this command is version %s: restart Drawbridge.\n", escapeLine(rt.Version), p.Version)
	}
	return &daemon{url: rt.URL, token: token, http: &http.Client{Transport: &http.Transport{DialContext: loopback.Dialer(folders.Data)}}}, nil
}

// send makes one request; path is below /api/v1 and body nil or encoded as JSON.
// A status other than 2xx is an error.
func (d *daemon) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	req, err := loopback.NewAPIRequest(ctx, method, d.url, path, d.token, body)
	if err != nil {
		return nil, err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is not responding", Hint: "If it is starting, try again in a moment.", Cause: err}
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, parseProblem(resp)
}

// parseProblem parses a problem document.
func parseProblem(resp *http.Response) error {
	var doc web.ErrorDocument
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(data, &doc) != nil || doc.Detail == "" {
		return core.Errorf(core.CodeInternal, "Drawbridge responded with status %s", resp.Status)
	}
	if doc.Code == "" {
		doc.Code = core.CodeInternal
	}
	return &problemError{
		Err:    &core.Error{Code: doc.Code, Message: doc.Detail, Hint: doc.Hint, Fields: doc.Errors, Retriable: doc.Retriable},
		Status: resp.StatusCode,
	}
}

// problemError is the error of a problem document with its HTTP status, because several statuses
// have the same code.
type problemError struct {
	Err    *core.Error
	Status int
}

func (e *problemError) Error() string { return e.Err.Error() }

func (e *problemError) Unwrap() error { return e.Err }

// requestRaw reads one document.
func (d *daemon) requestRaw(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	resp, err := d.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("cannot read the response: %w", err)
	}
	return bytes.TrimSpace(data), nil
}

// fetch requests a document. With --json it prints the document and reports done; otherwise it
// decodes it into to.
func (p *program) fetch(ctx context.Context, method, path string, query url.Values, body, to any) (done bool, err error) {
	d, err := p.daemon()
	if err != nil {
		return false, err
	}
	data, err := d.requestRaw(ctx, method, path, query, body)
	if err != nil {
		return false, err
	}
	if p.json {
		return true, p.printRaw(data)
	}
	if to == nil {
		return false, nil
	}
	return false, decode(data, to)
}

// request makes one request and decodes the response.
func request[T any](ctx context.Context, d *daemon, method, path string, query url.Values, body any) (to T, err error) {
	data, err := d.requestRaw(ctx, method, path, query, body)
	if err != nil {
		return to, err
	}
	return to, decode(data, &to)
}

// get reads one document.
func get[T any](ctx context.Context, d *daemon, path string, query url.Values) (T, error) {
	return request[T](ctx, d, http.MethodGet, path, query, nil)
}

// change makes a request whose response has no content of interest.
func (d *daemon) change(ctx context.Context, method, path string, body any) error {
	_, err := d.requestRaw(ctx, method, path, nil, body)
	return err
}

// show requests a document of the daemon. With --json it prints the document unchanged; otherwise
// it passes it to printDocument.
func show[T any](ctx context.Context, p *program, method, path string, query url.Values, body any, printDocument func(T) error) error {
	var to T
	if done, err := p.fetch(ctx, method, path, query, body, &to); done || err != nil {
		return err
	}
	return printDocument(to)
}

// showList is show for a list that is printed as a table with one row for each item. A title with
// %d contains the number of items.
func showList[T any](ctx context.Context, p *program, path string, query url.Values, t table, row func(T) []string) error {
	return show(ctx, p, http.MethodGet, path, query, nil, func(list web.List[T]) error {
		return printRows(p, list, list.Items, t, row)
	})
}

// onDaemon returns the action of a command that needs the running daemon.
func (p *program) onDaemon(run func(ctx context.Context, d *daemon, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		d, err := p.daemon()
		if err != nil {
			return err
		}
		return run(cmd.Context(), d, args)
	}
}

// printRaw prints a document of the daemon unchanged.
func (p *program) printRaw(document []byte) error {
	_, err := fmt.Fprintf(p.Stdout, "%s\n", document)
	return err
}

func serverPath(server, below string) string { return "servers/" + url.PathEscape(server) + below }

// serverID returns the id of the server with the id or name text; text itself if there is none,
// because the history contains removed servers.
func (d *daemon) serverID(ctx context.Context, text string) string {
	if s, err := get[core.ServerStatus](ctx, d, serverPath(text, ""), nil); err == nil && s.ID != "" {
		return s.ID
	}
	return text
}

// knownServer returns the id of the server with the given id or name, or an error.
func (d *daemon) knownServer(ctx context.Context, text string) (string, error) {
	s, err := get[core.ServerStatus](ctx, d, serverPath(text, ""), nil)
	if core.CodeOf(err) == core.CodeNotFound {
		return "", unknownServer(text)
	}
	return s.ID, err
}

func unknownServer(name string) error {
	return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no server named %q", name), Hint: "List them with: drawbridge status"}
}

// clientName returns the name of the client that equals text ignoring case; text itself if there is
// none or more than one.
func (p *program) clientName(ctx context.Context, text string) string {
	d, err := p.daemon()
	if err != nil {
		return text
	}
	list, err := get[web.List[api.Client]](ctx, d, "clients", nil)
	if err != nil {
		return text
	}
	found := map[string]bool{}
	for _, c := range list.Items {
		for _, one := range []string{c.Token, c.Name} {
			if one == text {
				return text
			}
			if strings.EqualFold(one, text) {
				found[one] = true
			}
		}
	}
	if len(found) == 1 {
		for one := range found {
			return one
		}
	}
	return text
}

var errStreamEnded = errors.New("the event stream ended: Drawbridge stopped, or this command read too slowly")

// formatAge formats the time since t in the largest fitting unit.
func formatAge(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(0, now.Sub(t))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func decode(data []byte, to any) error {
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("cannot read the response: %w", err)
	}
	return nil
}

func (p *program) debug() *cobra.Command {
	return &cobra.Command{
		Use: "debug SERVER", Short: "Show everything known about a server: its process, its log and its messages", Args: argCount(1, 1),
		Long: "Show everything known about a server: its command, its stderr output and the last messages.\nRecognized secrets in the messages are redacted; others may remain.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), p, http.MethodGet, serverPath(args[0], "/debug"), nil, nil, func(d supervisor.Debug) error {
				return p.printDebug(&d, time.Now())
			})
		},
	}
}

// printDebug omits unknown values.
func (p *program) printDebug(d *supervisor.Debug, now time.Time) error {
	var b strings.Builder
	say := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-13s %s\n", title, escapeLine(text))
		}
	}
	took := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.Round(100 * time.Microsecond).String()
	}
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return formatAge(now, t)
	}
	s := &d.Status
	say("Server", displayName(*s)+": "+s.State.Word())
	say("Reason", s.Reason)
	for _, warning := range s.Warnings {
		say("Warning", warning)
	}
	say("Configured", d.Configured)
	say("Started", s.Command)
	say("Executable", d.Path)
	say("Searched", d.SearchPath)
	say("Folder", d.Dir)
	say("Start", d.Start)
	say("Session", d.Session)
	say("Framing", d.Framing)
	say("Environment", strings.Join(d.Environment, ", "))
	for _, process := range d.Processes {
		text := fmt.Sprintf("%d %s, %.1f MB", process.PID, process.Name, float64(process.RSS)/1e6)
		if process.Path != "" {
			text += ", " + process.Path
		}
		say("Process", text)
	}
	if s.ExitCode != nil {
		say("Exit code", strconv.Itoa(*s.ExitCode))
	}
	era := string(s.Era)
	if d.BothEras {
		era += " and modern"
	}
	say("Era", era)
	say("Protocol", s.Version)
	say("Instructions", d.Instructions)
	say("Offers", fmt.Sprintf("%s, %s, %s", core.Plural(s.Tools, "tool"), core.Plural(s.Prompts, "prompt"), core.Plural(s.Resources+s.Templates, "resource")))
	say("Restarts", strconv.Itoa(s.Restarts))
	say("In flight", strconv.Itoa(s.InFlight))
	t := &d.Timings
	say("Started at", moment(t.Began))
	say("Startup time", took(t.StartTook))
	say("Tools listed", moment(t.ListedAt))
	say("Last response", moment(t.LastMessage))
	say("Last call", moment(t.LastCall))
	say("Ping", took(t.PingTook))
	say("Next start in", took(t.NextLaunch))
	if len(d.Stderr) > 0 {
		b.WriteString("\nLast stderr lines\n")
		for _, l := range d.Stderr {
			b.WriteString("  " + escapeLine(l) + "\n")
		}
	}
	if len(d.Frames) > 0 {
		b.WriteString("\nLast messages\n")
		for _, f := range d.Frames {
			arrow := "<-"
			if f.Sent {
				arrow = "->"
			}
			first, headers, _ := strings.Cut(f.HTTP, "\n")
			if first != "" {
				fmt.Fprintf(&b, "  %s %s %s\n", f.At.Local().Format("15:04:05.000"), arrow, escapeLine(first))
			}
			for header := range strings.Lines(headers) {
				b.WriteString("      " + escapeLine(strings.TrimSuffix(header, "\n")) + "\n")
			}
			if first == "" || f.Bytes > 0 {
				fmt.Fprintf(&b, "  %s %s %d bytes  %s\n", f.At.Local().Format("15:04:05.000"), arrow, f.Bytes, escapeLine(f.Text))
			}
		}
	}
	_, err := p.Stdout.Write([]byte(b.String()))
	return err
}
