package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/spf13/cobra"
)

// MaxDocument is the size limit of an API response.
const MaxDocument = 256 << 20

// NotRunningHint suggests starting it in the background; drawbridge serve would block the terminal.
const NotRunningHint = "Start it with: drawbridge"

// Daemon is a client of the running daemon. If none runs, each request fails with the reason.
type Daemon struct {
	Err   error // why no daemon can be asked
	url   string
	token string
	http  *http.Client
}

// Daemon finds the running daemon of the data folder. It warns if the version of the daemon
// differs.
func (e *Env) Daemon() *Daemon {
	d, err := e.findDaemon()
	if err != nil {
		return &Daemon{Err: err}
	}
	return d
}

func (e *Env) findDaemon() (*Daemon, error) {
	folders, err := e.Folders()
	if err != nil {
		return nil, err
	}
	rt, running, err := loopback.FindDaemon(folders.Data)
	if starting := loopback.StartingDaemon(folders.Data); err == nil && !running && starting != "" {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: starting, Hint: "Try again in a moment. Its log shows what it is waiting for: drawbridge logs."}
	}
	if err != nil || !running {
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is not running",
			Hint: NotRunningHint, Cause: err}
	}
	token, err := loopback.ReadAdminToken(folders.Data)
	if err != nil {
		return nil, &core.Error{Code: core.CodeUnauthorized, Message: "cannot read the admin token", Cause: err}
	}
	if rt.Version != e.Version && !e.JSON {
		fmt.Fprintf(e.Stderr, "Drawbridge %s is running, but this command is version %s. Restart it with: drawbridge quit, then drawbridge\n", EscapeLine(rt.Version), e.Version)
	}
	return &Daemon{url: rt.URL, token: token, http: &http.Client{Transport: &http.Transport{DialContext: loopback.Dialer(folders.Data)}}}, nil
}

// DaemonRuns reports whether a daemon runs for the data folder.
func (e *Env) DaemonRuns() bool {
	folders, err := e.Folders()
	if err != nil {
		return false
	}
	_, ok, err := loopback.FindDaemon(folders.Data)
	return ok && err == nil
}

// SyncConfig returns when a running daemon uses the configuration files as they are now, or says why it
// does not. confirm is as for config.Reloader.Sync: a removal that is confirmed while no daemon runs is not
// reported by the next one.
func (e *Env) SyncConfig(ctx context.Context, confirm string) error {
	if !e.DaemonRuns() {
		folders, err := e.Folders()
		if err != nil || confirm != config.AnyETag {
			return err
		}
		if _, missing := os.Stat(e.Sources(folders).Main()); !errors.Is(missing, fs.ErrNotExist) {
			return nil
		}
		if err = os.Remove(folders.LastGoodConfigFile()); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err := e.Daemon().Change(ctx, http.MethodPost, "config/reload", map[string]string{"confirm": confirm})
	if core.CodeOf(err) == core.CodeNotFound {
		return nil // an older daemon: it follows the files a moment later
	}
	return err
}

// Send makes one request; path is below /api/v1 and body nil or encoded as JSON.
// A status other than 2xx is an error.
func (d *Daemon) Send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	if d.Err != nil {
		return nil, d.Err
	}
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
	return &ProblemError{
		Err:    &core.Error{Code: doc.Code, Message: doc.Detail, Hint: doc.Hint, Fields: doc.Errors, Retriable: doc.Retriable},
		Status: resp.StatusCode,
	}
}

// ProblemError is the error of a problem document with its HTTP status, because several statuses
// have the same code.
type ProblemError struct {
	Err    *core.Error
	Status int
}

func (e *ProblemError) Error() string { return e.Err.Error() }

func (e *ProblemError) Unwrap() error { return e.Err }

// RequestRaw reads one document.
func (d *Daemon) RequestRaw(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	resp, err := d.Send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxDocument))
	if err != nil {
		return nil, fmt.Errorf("cannot read the response: %w", err)
	}
	return bytes.TrimSpace(data), nil
}

// Fetch requests a document. With --json it prints the document and reports done; otherwise it
// decodes it into to.
func (e *Env) Fetch(ctx context.Context, method, path string, query url.Values, body, to any) (done bool, err error) {
	d := e.Daemon()
	data, err := d.RequestRaw(ctx, method, path, query, body)
	if err != nil {
		return false, err
	}
	if e.JSON {
		return true, e.PrintRaw(data)
	}
	if to == nil {
		return false, nil
	}
	return false, Decode(data, to)
}

// Request makes one request and decodes the response.
func Request[T any](ctx context.Context, d *Daemon, method, path string, query url.Values, body any) (to T, err error) {
	data, err := d.RequestRaw(ctx, method, path, query, body)
	if err != nil {
		return to, err
	}
	return to, Decode(data, &to)
}

// Get reads one document.
func Get[T any](ctx context.Context, d *Daemon, path string, query url.Values) (T, error) {
	return Request[T](ctx, d, http.MethodGet, path, query, nil)
}

// Change makes a request whose response has no content of interest.
func (d *Daemon) Change(ctx context.Context, method, path string, body any) error {
	_, err := d.RequestRaw(ctx, method, path, nil, body)
	return err
}

// Show requests a document of the daemon. With --json it prints the document unchanged; otherwise
// it passes it to printDocument.
func Show[T any](ctx context.Context, e *Env, method, path string, query url.Values, body any, printDocument func(T) error) error {
	var to T
	if done, err := e.Fetch(ctx, method, path, query, body, &to); done || err != nil {
		return err
	}
	return printDocument(to)
}

// ShowList is show for a list that is printed as a table with one row for each item. A title with
// %d contains the number of items.
func ShowList[T any](ctx context.Context, e *Env, path string, query url.Values, t Table, row func(T) []string) error {
	return Show(ctx, e, http.MethodGet, path, query, nil, func(list web.List[T]) error {
		return PrintRows(e, list, list.Items, t, row)
	})
}

// OnDaemon returns the action of a command that needs the running daemon.
func (e *Env) OnDaemon(run func(ctx context.Context, d *Daemon, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return run(cmd.Context(), e.Daemon(), args)
	}
}

// PrintRaw prints a document of the daemon unchanged.
func (e *Env) PrintRaw(document []byte) error {
	_, err := fmt.Fprintf(e.Stdout, "%s\n", document)
	return err
}

// ServerPath returns the path of a server, or of what is below it.
func ServerPath(server, below string) string { return "servers/" + url.PathEscape(server) + below }

// ServerID returns the id of the server with the id or name text; text itself if there is none,
// because the history contains removed servers.
func (d *Daemon) ServerID(ctx context.Context, text string) string {
	if s, err := Get[core.ServerStatus](ctx, d, ServerPath(text, ""), nil); err == nil && s.ID != "" {
		return s.ID
	}
	return text
}

// KnownServer returns the id of the server with the given id or name, or an error.
func (d *Daemon) KnownServer(ctx context.Context, text string) (string, error) {
	s, err := Get[core.ServerStatus](ctx, d, ServerPath(text, ""), nil)
	if core.CodeOf(err) == core.CodeNotFound {
		return "", &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no server named %q", text), Hint: "List them with: drawbridge status"}
	}
	return s.ID, err
}

// SplitToolName replaces the public name of a tool, as clients show it, in the first of args by its
// server and its own name.
func (e *Env) SplitToolName(ctx context.Context, args []string) []string {
	if len(args) > 1 && args[1] != "-" && !strings.HasPrefix(strings.TrimSpace(args[1]), "{") {
		return args // the own name of a tool
	}
	for _, v := range e.values(ctx, "TOOL", nil) {
		if v.Name == args[0] {
			return append([]string{v.Server, v.Tool}, args[1:]...)
		}
	}
	return args
}

// Decode decodes a response.
func Decode(data []byte, to any) error {
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("cannot read the response: %w", err)
	}
	return nil
}

// RequestChange requests a change, and prints the response with --json, otherwise a sentence.
func (e *Env) RequestChange(ctx context.Context, method, path string, body any, sentence string) error {
	if done, err := e.Fetch(ctx, method, path, nil, body, nil); done || err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.Stdout, sentence)
	return err
}

// ServerQuery returns the query for the server in the first argument, or for all without one.
func ServerQuery(args []string) url.Values {
	query := url.Values{}
	if len(args) > 0 {
		query.Set("server", args[0])
	}
	return query
}

// ErrStreamEnded is the error of a command that follows events, which ends only with its user.
var ErrStreamEnded = errors.New("the event stream ended: Drawbridge stopped, or this command read too slowly")

// ClientName returns the name of the client that equals text ignoring case; text itself if there is
// none or more than one.
func (e *Env) ClientName(ctx context.Context, text string) string {
	list, err := Get[web.List[struct{ Token, Name string }]](ctx, e.Daemon(), "clients", nil)
	if err != nil {
		return text
	}
	match := text
	for _, c := range list.Items {
		for _, name := range []string{c.Token, c.Name} {
			switch same := strings.EqualFold(name, text); {
			case name == text, same && match != text && match != name:
				return text
			case same:
				match = name
			}
		}
	}
	return match
}

// NameAndID returns the name of a server, and its id if different: commands accept both.
func NameAndID(s core.ServerStatus) string {
	if s.Label != "" && s.Label != s.ID {
		return s.Label + " (" + s.ID + ")"
	}
	return s.ID
}

// DisplayName returns the name of a server.
func DisplayName(s core.ServerStatus) string {
	if s.Label != "" {
		return s.Label
	}
	return s.ID
}
