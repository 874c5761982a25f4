package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type callRow struct{ CallDetail }

func (c callRow) description() string {
	switch {
	case c.Tool == "":
		return c.Method
	case c.Method == core.PreviewMethod:
		return c.Tool + " (preview)"
	}
	return c.Tool
}

func (c callRow) cells(e *terminal.Env) []string {
	outcome, took := string(c.Outcome), time.Duration(c.TookNs).Round(100*time.Microsecond).String()
	switch {
	case c.Outcome == core.OutcomeRunning:
		outcome, took = "running", "-"
	case c.hasOpenTask():
		outcome, took = cmp.Or(c.Task.Status, "working"), "-"
	}
	return []string{e.Moment(c.At), c.Client, c.Server, c.description(), outcome, took, e.ShortID(c.ID)}
}

// hasOpenTask reports whether the task that the call created has not ended.
func (c callRow) hasOpenTask() bool {
	return c.Task != nil && c.Task.Call == c.ID && !c.Task.Ended && c.Outcome == core.OutcomeOK
}

// filterOutcome returns the value of --outcome that selects the call.
func (c callRow) filterOutcome() string {
	switch {
	case !c.hasOpenTask():
		return string(c.Outcome)
	case c.Task.Status == core.TaskExpired, c.Task.Status == "input_required":
		return c.Task.Status
	}
	return "working"
}

// maxCalls is the page size limit of the API.
const maxCalls = 500

// Commands adds the commands about calls, recorded and new, and about saved checks.
func Commands(e *terminal.Env, root *cobra.Command) {
	root.AddCommand(replay(e), call(e), history(e), checks(e), usage(e))
}

func history(e *terminal.Env) *cobra.Command {
	var filter callFilter
	var limit int
	var follow, all, asCSV bool
	cmd := &cobra.Command{
		Use: "history [ID|WORDS]", Short: "Show, search and export the recorded calls", Args: cobra.ArbitraryArgs,
		Long: "Show the newest calls, or one call with its arguments and result.\n\n" +
			"ID is the last column of the list, the full id of a call, or the last digits of one (at least four). A number below 1000 counts from the newest call: 1 is the newest.\n\n" +
			"Instead of ID, you can specify filters in the syntax of the Calls page: words, server:NAME, tool:NAME, client:NAME, session:ID, folder:PATH, account:NAME, version:VERSION, tag:TAG,\n" +
			"outcome:OUTCOME (error means tool_error), took:>1s and took:<1s; put values with spaces in \"quotes\".\nTo search for a number, use --search.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.Trim(args[0], "0123456789") == "" && args[0] != "" {
				return oneCall(cmd.Context(), e, args[0])
			}
			if err := filter.parse(strings.Join(args, " ")); err != nil {
				return err
			}
			if limit < 1 || limit > maxCalls {
				return terminal.UsageError(fmt.Errorf("--limit must be from 1 to %d", maxCalls))
			}
			query, err := query(cmd.Context(), e, filter)
			if err != nil {
				return err
			}
			query.Set("limit", strconv.Itoa(limit))
			if client := query.Get("client"); client != "" {
				query.Set("client", e.ClientName(cmd.Context(), client))
			}
			switch {
			case follow && (all || asCSV):
				return terminal.UsageError(errors.New("--follow cannot be combined with --csv or --export"))
			case follow && filter.version != "":
				return terminal.UsageError(errors.New("--follow cannot be combined with --server-version"))
			case follow && filter.tag != "":
				return terminal.UsageError(errors.New("--follow cannot be combined with --tag: tags are added after a call ends"))
			case follow:
				return followCalls(cmd.Context(), e, query)
			case asCSV:
				query.Set("format", "csv")
			case !all:
				return calls(cmd.Context(), e, query)
			}
			if all && !cmd.Flags().Changed("limit") {
				query.Del("limit")
			}
			return export(cmd.Context(), e, query)
		},
	}
	f := cmd.Flags()
	f.IntVar(&limit, "limit", 20, "the maximum `NUMBER` of calls")
	filter.flags(f)
	f.BoolVar(&all, "export", false, "print all calls that match, with arguments and results, as JSON Lines")
	f.BoolVar(&asCSV, "csv", false, "print CSV, with arguments and results")
	f.BoolVarP(&follow, "follow", "f", false, "print new calls as they finish, until interrupted")
	cmd.AddCommand(historyPrune(e), recordFull(e))
	return cmd
}

func calls(ctx context.Context, e *terminal.Env, query url.Values) error {
	t := terminal.Table{Title: "Calls, newest first", Head: []string{"At", "Client", "Server", "Tool", "Outcome", "Took", "ID"}, Right: []bool{5: true}, Keep: []bool{0: true, 4: true, 6: true}}
	if e.Terminal() {
		t.Empty = "No calls match."
	}
	return terminal.Show(ctx, e, http.MethodGet, "calls", query, nil, func(list web.List[callRow]) error {
		if len(list.Items) == 0 && t.Empty == "" {
			fmt.Fprintln(e.Stderr, "No calls match.") // programs read the header
		}
		return terminal.PrintRows(e, list, list.Items, t, func(c callRow) []string { return c.cells(e) })
	})
}

func servedBy(by *ServedBy) string {
	text := "answered by " + strings.TrimSpace(by.Name+" "+by.Version)
	if by.Package != "" {
		text += " (" + by.Package + ")"
	}
	if by.Definition != "" {
		text += ", definition " + by.Definition
	}
	return text
}

// oneCall shows the call with an id, the last digits of one, or a position from the newest.
func oneCall(ctx context.Context, e *terminal.Env, id string) error {
	if n, _ := strconv.Atoi(id); n > 0 && len(id) < minSuffix {
		d := e.Daemon()
		var all []callRow
		for query := (url.Values{"limit": {strconv.Itoa(min(n, maxCalls))}}); len(all) < n; {
			list, err := terminal.Get[web.List[callRow]](ctx, d, "calls", query)
			if err != nil {
				return err
			}
			if all = append(all, list.Items...); list.Next == "" {
				break
			}
			query.Set("before", list.Next)
		}
		if len(all) < n {
			return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no call %d among the newest %d", n, len(all)), Hint: "List them with: drawbridge history. To search for a number: drawbridge history --search NUMBER"}
		}
		id = all[n-1].ID
	}
	return terminal.Show(ctx, e, http.MethodGet, "calls/"+url.PathEscape(id), nil, nil, func(c callRow) error { return printCallDetail(e, c) })
}

func printCallDetail(e *terminal.Env, c callRow) error {
	cells := c.cells(e)
	fmt.Fprintln(e.Stdout, terminal.EscapeLine(strings.Join(append(cells[:len(cells)-1], c.ID), "  ")))
	if c.Reason != "" {
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(c.Reason))
	}
	if c.Invalid != "" {
		fmt.Fprintln(e.Stdout, "invalid: the result does not match the tool's outputSchema: "+terminal.EscapeLine(c.Invalid))
	}
	if c.Account != "" {
		fmt.Fprintln(e.Stdout, "account "+terminal.EscapeLine(c.Account))
	}
	if by := c.ServedBy; by != nil {
		fmt.Fprintln(e.Stdout, terminal.EscapeLine(servedBy(by)))
	}
	for _, part := range []struct{ title, text string }{{"Arguments", c.Arguments}, {"Result", c.Result}, {"Error", c.Error}} {
		if part.text == "" {
			continue
		}
		fmt.Fprintf(e.Stdout, "\n%s\n%s", part.title, terminal.EscapeText(indentJSON([]byte(part.text))))
	}
	if c.Stack != "" {
		fmt.Fprintf(e.Stdout, "\nStack\n%s\n", terminal.EscapeText(c.Stack))
	}
	return nil
}

// outcomeChoices lists outcomes for people.
const outcomeChoices = "one of ok, tool_error, protocol_error, timeout, cancelled, rejected, unavailable, failed, working, input_required and expired"

var outcomes = []core.Outcome{core.OutcomeOK, core.OutcomeToolError, core.OutcomeProtocolError, core.OutcomeTimeout, core.OutcomeCancelled, core.OutcomeRejected, "unavailable", "failed", "working", "input_required", core.TaskExpired}

// callFilter holds the filters of commands on calls; they equal those of the API.
type callFilter struct {
	server, client, tool, outcome, text string
	session, workspace, tag, from, to   string
	version, account                    string
	least, most                         time.Duration
}

func (c *callFilter) flags(f *pflag.FlagSet) {
	f.StringVar(&c.server, "server", "", "only calls to this `SERVER`")
	f.StringVar(&c.client, "client", "", "only calls from this `CLIENT`")
	f.StringVar(&c.tool, "tool", "", "only calls to this `TOOL`")
	f.StringVar(&c.outcome, "outcome", "", "only calls with this `OUTCOME`: ok, tool_error, protocol_error, timeout, cancelled, rejected, unavailable, failed (each of the failures); or working, input_required, expired for a task that has not ended")
	f.StringVar(&c.text, "search", "", "only calls that contain these `WORDS`")
	f.StringVar(&c.session, "session", "", "only calls in this `SESSION`, or last for the newest one")
	f.StringVar(&c.workspace, "workspace", "", "only calls from clients that worked in this `FOLDER`")
	f.StringVar(&c.account, "account", "", "only calls that used this `ACCOUNT` of a server")
	f.StringVar(&c.tag, "tag", "", "only calls with this `TAG`")
	f.StringVar(&c.version, "server-version", "", "only calls with a response from this `VERSION` of a server: the version that the server reports, the version of its package, or the first 8 or more characters of a definition hash")
	f.StringVar(&c.from, "from", "", "only calls since this `TIME`: 2026-01-31, 2026-01-31T10:00:00Z, or 2h for the last two hours")
	f.StringVar(&c.to, "to", "", "only calls before this `TIME`, in the format of --from")
	f.DurationVar(&c.least, "min-took", 0, "only calls that took at least this `DURATION`, such as 500ms")
	f.DurationVar(&c.most, "max-took", 0, "only calls that took at most this `DURATION`")
}

var filterToken = regexp.MustCompile(`(^|\s)([a-z]+):("[^"]*"|[^\s"]+)`)

// parse adds the filters of a text in the filter syntax of the Calls page; see history. The
// remaining text is searched for.
func (c *callFilter) parse(text string) error {
	var wrong error
	text = filterToken.ReplaceAllStringFunc(text, func(token string) string {
		name, value, _ := strings.Cut(strings.TrimSpace(token), ":")
		value = strings.Trim(value, `"`)
		into := map[string]*string{"server": &c.server, "tool": &c.tool, "client": &c.client, "session": &c.session, "folder": &c.workspace, "account": &c.account, "tag": &c.tag, "version": &c.version, "outcome": &c.outcome}[name]
		switch {
		case name == "outcome" && value == "error":
			c.outcome = string(core.OutcomeToolError)
		case into != nil:
			*into = value
		case name == "took" && (strings.HasPrefix(value, ">") || strings.HasPrefix(value, "<")):
			took, err := time.ParseDuration(value[1:])
			if err != nil {
				wrong = terminal.UsageError(fmt.Errorf("%q is not a duration such as took:>500ms", token))
			} else if value[0] == '>' {
				c.least = took
			} else {
				c.most = took
			}
		default:
			return token // a word such as https:
		}
		return " "
	})
	if text = strings.TrimSpace(text); text != "" {
		c.text = strings.TrimSpace(c.text + " " + text)
	}
	return wrong
}

func (c *callFilter) query() (url.Values, error) {
	if c.outcome != "" && !slices.Contains(outcomes, core.Outcome(c.outcome)) {
		return nil, terminal.UsageError(errors.New("--outcome must be " + outcomeChoices))
	}
	query := url.Values{}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	for key, value := range map[string]string{"server": c.server, "client": c.client, "tool": c.tool, "outcome": c.outcome, "q": c.text, "session": c.session, "workspace": c.workspace, "account": c.account, "tag": c.tag, "version": c.version} {
		set(key, value)
	}
	for key, value := range map[string]string{"from": c.from, "to": c.to} {
		at, err := parseTime(value, time.Now())
		if err != nil {
			return nil, terminal.UsageError(fmt.Errorf("--%s: %w", key, err))
		}
		set(key, at)
	}
	for key, value := range map[string]time.Duration{"minTookNs": c.least, "maxTookNs": c.most} {
		if value < 0 {
			return nil, terminal.UsageError(fmt.Errorf("a duration must not be negative"))
		}
		if value > 0 {
			set(key, strconv.FormatInt(int64(value), 10))
		}
	}
	return query, nil
}

// lastSession is the value of --session that stands for the newest session.
const lastSession = "last"

// resolveSession replaces lastSession by the id of the newest recorded session, in which server was
// called if it is not "".
func resolveSession(ctx context.Context, d *terminal.Daemon, session *string, server string) error {
	if *session != lastSession {
		return nil
	}
	list, err := terminal.Get[web.List[Session]](ctx, d, "sessions", url.Values{"limit": {"200"}})
	if err != nil {
		return err
	}
	for _, s := range list.Items {
		if server == "" || slices.Contains(s.Servers, server) {
			*session = s.Session
			return nil
		}
	}
	return &core.Error{Code: core.CodeNotFound, Message: "no session is recorded yet", Hint: "Calls by drawbridge call have none: select them with --from, such as --from 10m. List the calls: drawbridge history"}
}

func query(ctx context.Context, e *terminal.Env, filter callFilter) (url.Values, error) {
	if filter.session == lastSession {
		if err := resolveSession(ctx, e.Daemon(), &filter.session, filter.server); err != nil {
			return nil, err
		}
	}
	return filter.query()
}

// parseTime parses a point in time in common formats; "" stays "".
func parseTime(text string, now time.Time) (string, error) {
	if text == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC().Format(time.RFC3339Nano), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at.UTC().Format(time.RFC3339Nano), nil
		}
	}
	return "", fmt.Errorf("%q is not a time such as 2026-01-31, 2026-01-31T10:00:00Z or 2h", text)
}

const (
	// askEvery is the interval of asking the history which of the finished calls match the search
	// text.
	askEvery       = 300 * time.Millisecond
	maxQueuedCalls = 2000 // maximum number of queued calls
)

// endedCall is a finished call of the event stream.
type endedCall struct {
	callRow
	raw []byte
}

// followCalls prints calls as they finish. The stream cannot filter by search text, so the history is
// asked which of the latest calls match.
func followCalls(ctx context.Context, e *terminal.Env, query url.Values) error {
	d := e.Daemon()
	if server := query.Get("server"); server != "" {
		query.Set("server", d.ServerID(ctx, server))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	resp, err := d.Send(ctx, http.MethodGet, "events", nil, nil) //nolint:bodyclose // closed below
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	calls := make(chan endedCall, maxQueuedCalls)
	go func() { // ends with the stream
		defer close(calls)
		readCalls(ctx, resp.Body, calls)
	}()
	var waiting []endedCall
	ask := time.NewTimer(0)
	<-ask.C
	for {
		open := true
		var c endedCall
		select {
		case c, open = <-calls:
			if open && matchesFilters(c.callRow, query) {
				if waiting = append(waiting, c); len(waiting) == 1 {
					ask.Reset(askEvery)
				}
			}
			if open && query.Has("q") && len(waiting) < maxQueuedCalls {
				continue
			}
		case <-ask.C:
		}
		if ctx.Err() != nil {
			return nil // interrupted: the normal end
		}
		if err := printMatching(ctx, e, d, query, waiting); err != nil || !open {
			return cmp.Or(err, terminal.ErrStreamEnded)
		}
		waiting = waiting[:0]
	}
}

// printMatching prints the calls that match the search text.
func printMatching(ctx context.Context, e *terminal.Env, d *terminal.Daemon, query url.Values, calls []endedCall) error {
	var found map[string]bool
	if query.Has("q") && len(calls) > 0 {
		var err error
		if found, err = filterCalls(ctx, d, query, calls); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if query.Has("q") && !found[c.ID] {
			continue
		}
		if err := printFollowed(e, c); err != nil {
			return err
		}
	}
	return nil
}

// readCalls forwards finished calls of the stream. It ignores the initial snapshot.
func readCalls(ctx context.Context, stream io.Reader, calls chan<- endedCall) {
	events := wire.NewEventReader(stream, terminal.MaxDocument)
	for {
		event, err := events.Next()
		if err != nil {
			return
		}
		c := endedCall{raw: event.Data}
		if event.Name != "call" || json.Unmarshal(event.Data, &c.callRow) != nil || c.Outcome == core.OutcomeRunning {
			continue
		}
		select {
		case calls <- c:
		case <-ctx.Done():
			return
		}
	}
}

// matchesFilters reports whether a call passes the filters except the search text.
func matchesFilters(c callRow, query url.Values) bool {
	for key, value := range map[string]string{"server": c.Server, "tool": c.Tool, "outcome": c.filterOutcome(), "session": c.Session, "workspace": c.Workspace, "account": c.Account} {
		if want := query.Get(key); want != "" && want != value {
			return false
		}
	}
	if want := query.Get("client"); want != "" && want != c.Client && want != c.Token {
		return false
	}
	if least, err := strconv.ParseInt(query.Get("minTookNs"), 10, 64); err == nil && c.TookNs < least {
		return false
	}
	if most, err := strconv.ParseInt(query.Get("maxTookNs"), 10, 64); err == nil && c.TookNs > most {
		return false
	}
	if from, err := time.Parse(time.RFC3339Nano, query.Get("from")); err == nil && c.At.Before(from) {
		return false
	}
	to, err := time.Parse(time.RFC3339Nano, query.Get("to"))
	return err != nil || c.At.Before(to)
}

// filterCalls returns which of the given calls pass the filters, according to the history.
func filterCalls(ctx context.Context, d *terminal.Daemon, query url.Values, calls []endedCall) (map[string]bool, error) {
	first, last := calls[0].At, calls[0].At
	for _, c := range calls {
		if c.At.Before(first) {
			first = c.At
		}
		if c.At.After(last) {
			last = c.At
		}
	}
	query = maps.Clone(query)
	query.Set("from", first.UTC().Format(time.RFC3339Nano))
	query.Set("to", last.Add(time.Microsecond).UTC().Format(time.RFC3339Nano))
	query.Set("limit", strconv.Itoa(maxCalls))
	found := make(map[string]bool)
	for {
		page, err := terminal.Get[web.List[callRow]](ctx, d, "calls", query)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Items {
			found[c.ID] = true
		}
		if page.Next == "" {
			return found, nil
		}
		query.Set("before", page.Next)
	}
}

func printFollowed(e *terminal.Env, c endedCall) error {
	if e.JSON {
		_, err := fmt.Fprintf(e.Stdout, "%s\n", c.raw)
		return err
	}
	_, err := fmt.Fprintln(e.Stdout, terminal.EscapeLine(strings.Join(c.cells(e), "  ")))
	return err
}
