package history

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/spf13/cobra"
)

// checkReport is the report of one check, with what only the command needs.
type checkReport struct {
	CheckReport
	err      error           // why the check could not run, or nil
	document json.RawMessage // the report as the daemon sent it
	took     time.Duration
}

var errCheckFailed = errors.New("a result differs from the expected one")

func checkRun(e *terminal.Env) *cobra.Command {
	var all bool
	var junit string
	cmd := &cobra.Command{
		Use: "run [CHECK...]", Short: "Run the calls of checks; exit with 1 if a result differs",
		Long: "Run the calls of the named checks, or of all saved checks with --all, one check after the other.\n\n" +
			"The exit code is 0 if all results are as expected, 1 if a result differs, a check cannot run or no check is saved, and 2 for invalid usage.\n" +
			"--junit writes the results as JUnit XML, which CI systems display. It names the fields that differ, but not their values.",
		Example: "  drawbridge check run --all --junit results.xml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return terminal.UsageError(errors.New("specify the checks to run, or use --all; \"drawbridge check\" lists them"))
			}
			return runChecks(cmd.Context(), e, args, junit)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "run all saved checks")
	cmd.Flags().StringVar(&junit, "junit", "", "write the results as JUnit XML to this `FILE`")
	return cmd
}

// runChecks runs the named checks, or all if there are no names.
func runChecks(ctx context.Context, e *terminal.Env, names []string, junit string) (err error) {
	d := e.Daemon()
	if d.Err != nil { // before the file is written
		return d.Err
	}
	single := len(names) == 1
	if len(names) == 0 {
		list, err := terminal.Get[web.List[SavedCheck]](ctx, d, "checks", nil)
		if err != nil {
			return err
		}
		for _, c := range list.Items {
			names = append(names, c.Name)
		}
		if len(names) == 0 {
			return errors.New("there are no saved checks; to save one, open a call or session and choose \"Save as check\"")
		}
	}
	var file *os.File
	if junit != "" { // opened before the calls, so that an invalid path causes none
		if file, err = os.OpenFile(junit, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return fmt.Errorf("cannot write the JUnit file: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	label := serverLabels(ctx, e, d)
	reports := make([]checkReport, 0, len(names))
	ok := true
	for _, name := range names {
		r := runCheck(ctx, d, name)
		ok = ok && r.OK
		reports = append(reports, r)
		if !e.JSON && (r.err == nil || !single) {
			printCheck(e, &r, single, label)
		}
		if ctx.Err() != nil {
			break
		}
	}
	failedRun := single && reports[0].err != nil // printed as any other error of a command
	if e.JSON && !failedRun {
		if err := printCheckDocuments(e, reports, single, ok); err != nil {
			return err
		}
	}
	if file != nil {
		if err := writeJUnit(file, reports, label); err != nil {
			return fmt.Errorf("cannot write the JUnit file: %w", err)
		}
	}
	if failedRun {
		return reports[0].err
	}
	if !ok {
		return terminal.SilentError(errCheckFailed)
	}
	return nil
}

func runCheck(ctx context.Context, d *terminal.Daemon, name string) checkReport {
	var r checkReport
	start := time.Now()
	data, err := d.RequestRaw(ctx, http.MethodPost, "checks/"+url.PathEscape(name)+"/run", nil, struct{}{})
	if err == nil {
		err = terminal.Decode(data, &r.CheckReport)
	}
	r.Name, r.document, r.err, r.took = name, data, err, time.Since(start)
	r.OK = r.OK && err == nil
	return r
}

// printCheck prints the steps of a check, below its name unless it is the only one.
func printCheck(e *terminal.Env, r *checkReport, single bool, label func(id string) string) {
	indent := ""
	if !single {
		fmt.Fprintf(e.Stdout, "%s  %s\n", checkMark(r.OK), terminal.EscapeLine(r.Name))
		indent = "  "
	}
	if r.err != nil {
		fmt.Fprintf(e.Stdout, "%s        %s\n", indent, terminal.EscapeLine(r.err.Error()))
	}
	for _, s := range r.Steps {
		fmt.Fprintf(e.Stdout, "%s%s  %s %s\n", indent, checkMark(s.OK), terminal.EscapeLine(label(s.Server)), terminal.EscapeLine(s.Tool))
		for _, what := range s.Failures {
			fmt.Fprintf(e.Stdout, "%s        %s\n", indent, terminal.EscapeLine(what))
		}
		if text := versionsOf(&s); text != "" && !s.OK {
			fmt.Fprintf(e.Stdout, "%s        %s\n", indent, terminal.EscapeLine(text))
		}
	}
}

// versionsOf names the version that answered a step, and the one that answered the recorded call.
func versionsOf(s *StepReport) string {
	switch {
	case s.Version == "":
		return ""
	case s.Recorded == "":
		return "answered by " + s.Version
	case s.Recorded == s.Version:
		return "answered by " + s.Version + ", as when it was recorded"
	}
	return "answered by " + s.Version + ", recorded with " + s.Recorded
}

func checkMark(ok bool) string {
	if ok {
		return "ok    "
	}
	return "FAILED"
}

// printCheckDocuments prints the report of a single check as the daemon sent it, and several in a
// list.
func printCheckDocuments(e *terminal.Env, reports []checkReport, single, ok bool) error {
	items := make([]any, len(reports))
	for i, r := range reports {
		items[i] = r.document
		if r.err != nil { // several checks
			items[i] = map[string]any{"name": r.Name, "ok": false, "steps": []any{}, "error": r.err.Error()}
		}
	}
	if single {
		return e.PrintJSON(items[0])
	}
	return e.PrintJSON(map[string]any{"ok": ok, "items": items, "next": ""})
}

// The elements of JUnit XML that CI systems agree on.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a test suite for each check, with a test case for each step. It leaves out the
// values of differences, because CI systems publish the file and results may contain secrets.
func writeJUnit(w io.Writer, reports []checkReport, label func(id string) string) error {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	var doc junitSuites
	for _, r := range reports {
		suite := junitSuite{Name: r.Name, Tests: len(r.Steps), Time: seconds(r.took)}
		if r.err != nil {
			suite.Tests, suite.Errors = 1, 1
			suite.Cases = []junitCase{{Class: r.Name, Name: "run", Time: seconds(r.took), Error: &junitProblem{Message: r.err.Error()}}}
			doc.Suites = append(doc.Suites, suite)
			continue
		}
		for i, s := range r.Steps {
			// The number keeps two calls of one tool apart: CI systems merge cases of the same
			// name.
			c := junitCase{Class: r.Name, Name: fmt.Sprintf("%d %s %s", i+1, label(s.Server), s.Tool), Time: seconds(time.Duration(s.TookNs))}
			if !s.OK {
				suite.Failures++
				lines := s.Failures
				for _, change := range s.Changes {
					lines = append(lines, "differs: "+change.Path)
				}
				if text := versionsOf(&s); text != "" {
					lines = append(lines, text)
				}
				c.Failure = &junitProblem{Message: strings.Join(s.Failures, "; "), Text: strings.Join(lines, "\n")}
			}
			suite.Cases = append(suite.Cases, c)
		}
		doc.Suites = append(doc.Suites, suite)
	}
	data, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(xml.Header), append(data, '\n')...))
	return err
}

func checks(e *terminal.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Short: "List the saved checks: calls and their expected results", Args: terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := terminal.Table{Title: "Checks", Head: []string{"Name", "Steps", "Last run", "Result"}, Right: []bool{1: true}, Keep: []bool{0: true, 2: true, 3: true}}
			return terminal.ShowList(cmd.Context(), e, "checks", nil, t, func(c SavedCheck) []string {
				at, result := "-", "-"
				if c.Last != nil {
					at, result = e.Moment(c.Last.At), "ok"
					if !c.Last.OK {
						result = fmt.Sprintf("%d failed", c.Last.Failed)
					}
				}
				return []string{c.Name, fmt.Sprint(len(c.Steps)), at, result}
			})
		},
	}
	cmd.AddCommand(checkRun(e), checkSave(e), &cobra.Command{
		Use: "remove CHECK", Short: "Remove a saved check", Args: terminal.ArgCount(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.RequestChange(cmd.Context(), http.MethodDelete, "checks/"+url.PathEscape(args[0]), nil, "Check "+args[0]+" removed.")
		},
	})
	return cmd
}

// serverLabels maps ids to the names of servers; unknown ids map to themselves.
func serverLabels(ctx context.Context, e *terminal.Env, d *terminal.Daemon) func(id string) string {
	of := map[string]string{}
	if list, err := terminal.Get[web.List[core.ServerStatus]](ctx, d, "servers", nil); err == nil {
		for _, s := range list.Items {
			of[s.ID] = s.Label
		}
	}
	return func(id string) string { return cmp.Or(of[id], id) }
}

func checkSave(e *terminal.Env) *cobra.Command {
	var calls recordedCallFilter
	var exact bool
	cmd := &cobra.Command{
		Use: "save NAME", Short: "Save recorded calls as a check", Args: terminal.ArgCount(1, 1),
		Long: "Save the recorded tool calls of a session, a tag or a time range as a new check. Each call must end as recorded: successfully or with an error of the same kind. With --exact, it must also return the recorded result.\n\n" +
			"Calls whose arguments were redacted or truncated, or are not a JSON object, are left out.",
		Example: "  drawbridge check save checkout --from 10m --exact\n  drawbridge check save checkout --session last\n  drawbridge check run checkout --junit results.xml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if calls == (recordedCallFilter{}) {
				return terminal.UsageError(errors.New("select the calls with --session, --tag, --from or --to"))
			}
			filter := callFilter{session: calls.session, tag: calls.tag, from: calls.from, to: calls.to}
			query, err := query(cmd.Context(), e, filter)
			if err != nil {
				return err
			}
			order := map[string]any{"exact": exact}
			for key := range query {
				order[key] = query.Get(key)
			}
			return terminal.Show(cmd.Context(), e, http.MethodPost, "checks/"+url.PathEscape(args[0]), nil, order, func(c CheckOfCalls) error {
				text := core.Plural(len(c.Steps), "step") + " saved"
				if c.Skipped > 0 {
					text += fmt.Sprintf("; %s left out: redacted, truncated or invalid arguments, or no response", core.Plural(c.Skipped, "call"))
				}
				if len(c.NotObjects) > 0 {
					text += "\nCalls whose arguments are not a JSON object: " + strings.Join(c.NotObjects, ", ")
				}
				_, err := fmt.Fprintln(e.Stdout, terminal.EscapeText(text))
				return err
			})
		},
	}
	calls.flags(cmd.Flags())
	cmd.Flags().BoolVar(&exact, "exact", false, "expect the recorded results, not only the outcomes")
	return cmd
}
