package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// Check is a named list of tool calls with their expected results.
type Check struct {
	Name  string `json:"name" minLength:"1" maxLength:"100" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$"`
	Steps []Step `json:"steps" minItems:"1" maxItems:"200" nullable:"false"`
	Auto  string `json:"auto,omitempty" enum:"on,off" doc:"Whether it runs automatically after the version or tools of a server change; default: if all its tools are read-only"`
}

// Step is one call of a check.
type Step struct {
	Server    string `json:"server" minLength:"1" maxLength:"64"`
	Tool      string `json:"tool" minLength:"1" maxLength:"512"`
	Arguments string `json:"arguments,omitempty" maxLength:"262144" doc:"JSON text: an object"`
	Account   string `json:"account,omitempty" maxLength:"32" doc:"Account of the server; default: the one that is chosen for the user's calls"`
	Expect    Expect `json:"expect"`
	Version   string `json:"version,omitempty" maxLength:"1000" doc:"Version of the server that responded to the recorded call"`
}

// Expect contains the conditions that the result of a step must meet. Unset fields are not
// checked, except Outcome.
type Expect struct {
	Outcome  core.Outcome `json:"outcome,omitempty" enum:"ok,tool_error,protocol_error,timeout,rejected" doc:"Default: ok"`
	Contains []string     `json:"contains,omitempty" maxItems:"50" doc:"Strings that the result must contain"`
	Result   string       `json:"result,omitempty" doc:"JSON text: the complete result"`
	MaxNs    int64        `json:"maxTookNs,omitempty" minimum:"0"`
}

// CheckReport is the result of a run of a check.
type CheckReport struct {
	Name  string       `json:"name"`
	OK    bool         `json:"ok"`
	Steps []StepReport `json:"steps" nullable:"false"`
}

// StepReport is the result of one step.
type StepReport struct {
	Server   string       `json:"server"`
	Tool     string       `json:"tool"`
	OK       bool         `json:"ok"`
	Outcome  core.Outcome `json:"outcome"`
	TookNs   int64        `json:"tookNs"`
	CallID   string       `json:"callId"`
	Version  string       `json:"version,omitempty" doc:"Version of the server that responded"`
	Recorded string       `json:"recordedVersion,omitempty" doc:"Version of the server that responded to the recorded call"`
	Failures []string     `json:"failures" nullable:"false" doc:"Deviations from the expected result, one sentence each"`
	Changes  []Change     `json:"changes,omitempty" doc:"Differences between the result and the expected one"`
}

var checkName = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Validate returns a *core.Error that names the first invalid field, or nil.
func (c *Check) Validate() error {
	if !checkName().MatchString(c.Name) {
		return invalidField("name", "must be at most 100 letters, digits, dots, dashes and underscores, and start with a letter or digit")
	}
	if len(c.Steps) == 0 {
		return invalidField("steps", "must not be empty")
	}
	for i, s := range c.Steps {
		at := fmt.Sprintf("steps[%d].", i)
		if s.Server == "" || s.Tool == "" {
			return invalidField(at+"tool", "server and tool are required")
		}
		if !isObject([]byte(s.Arguments)) {
			return invalidField(at+"arguments", "must be a JSON object")
		}
		if strings.Contains(s.Arguments, redact.Mark) {
			return invalidField(at+"arguments", "were recorded without their secrets")
		}
		if s.Expect.Result != "" && !json.Valid([]byte(s.Expect.Result)) {
			return invalidField(at+"expect.result", "must be JSON")
		}
	}
	return nil
}

// isObject reports whether arguments are a JSON object or absent.
func isObject(arguments []byte) bool {
	v, ok := decode(arguments)
	_, object := v.(map[string]any)
	return len(arguments) == 0 || ok && object
}

// Run performs the steps of a check in order. It continues after a step that failed.
func (c *Check) Run(ctx context.Context, caller Caller, by core.Client) CheckReport {
	report := CheckReport{Name: c.Name, OK: true, Steps: []StepReport{}}
	for _, s := range c.Steps {
		r := s.run(ctx, caller, by)
		report.OK = report.OK && r.OK
		report.Steps = append(report.Steps, r)
	}
	return report
}

func (s *Step) run(ctx context.Context, caller Caller, by core.Client) StepReport {
	args := s.Arguments
	if args == "" {
		args = `{}`
	}
	call := ToolCall(by, s.Server, s.Tool, []byte(args))
	call.Account = s.Account
	reply, err := caller.Call(ctx, call, nil)
	r := StepReport{Server: s.Server, Tool: s.Tool, Outcome: call.Outcome, TookNs: int64(call.Took), CallID: fmt.Sprint(call.ID), Version: call.ServedBy.String(), Recorded: s.Version}
	answer := reply.Result
	if len(reply.Error) > 0 {
		answer = reply.Error
	}
	r.Failures, r.Changes = s.Expect.unmet(call.Outcome, answer, r.TookNs)
	if err != nil && len(r.Failures) > 0 && !s.Expect.allows(call.Outcome) {
		said, _ := core.Describe(err)
		r.Failures[0] += ": " + said
	}
	r.OK = len(r.Failures) == 0
	return r
}

func (e *Expect) allows(outcome core.Outcome) bool {
	return outcome == cmp.Or(e.Outcome, core.OutcomeOK)
}

// unmet returns the conditions that a response does not meet, the outcome first, and its
// differences from the expected result.
func (e *Expect) unmet(outcome core.Outcome, answer []byte, tookNs int64) (failures []string, changes []Change) {
	failures = []string{}
	if !e.allows(outcome) {
		failures = append(failures, fmt.Sprintf("the outcome is %s, not %s", outcome, cmp.Or(e.Outcome, core.OutcomeOK)))
	}
	for i, text := range e.Contains {
		quoted := encode(text)
		if !bytes.Contains(answer, []byte(text)) && !bytes.Contains(answer, []byte(quoted[1:len(quoted)-1])) {
			failures = append(failures, fmt.Sprintf("expected text %d is not in the result", i+1))
		}
	}
	if e.Result != "" {
		if changes, _ = Compare([]byte(e.Result), answer); len(changes) > 0 {
			failures = append(failures, "the result differs in "+core.Plural(len(changes), "place"))
		}
	}
	if e.MaxNs > 0 && tookNs > e.MaxNs {
		failures = append(failures, "it took longer than expected")
	}
	return failures, changes
}

// maxSteps is the maximum number of steps of a check.
const maxSteps = 200

// SkippedCalls are calls without a step in a check.
type SkippedCalls struct {
	Skipped    int      `json:"skipped" doc:"Calls without a step: their arguments were redacted or truncated, or are not an object, or they did not end"`
	NotObjects []string `json:"notObjects,omitempty" nullable:"false" doc:"Ids of those whose arguments are not an object"`
}

// CheckFromCalls returns a check with a step for each tool call that q selects, for example those
// of a session, in order. Each step expects the recorded outcome, and with exact, also the recorded
// result where it was recorded completely. Calls are left out if their arguments were redacted or
// truncated, or are not an object, or if they did not end.
func CheckFromCalls(ctx context.Context, from Calls, name string, q store.Query, exact bool) (c Check, skipped SkippedCalls, err error) {
	c.Name = name
	var ids []int64
	for q.Limit = store.MaxLimit; ; {
		page, next, err := from.Calls(ctx, q)
		if err != nil {
			return c, skipped, err
		}
		for i := range page {
			if page[i].Method == "tools/call" && !page[i].FromServer {
				ids = append(ids, page[i].ID)
			}
		}
		if next == 0 {
			break
		}
		if q.Before = next; len(ids) > maxSteps {
			break
		}
	}
	if len(ids) > maxSteps {
		return c, skipped, core.Errorf(core.CodeValidation, "a check can contain at most %d tool calls", maxSteps)
	}
	for _, id := range slices.Backward(ids) {
		r, err := from.Call(ctx, id)
		if err != nil {
			return c, skipped, err
		}
		if r.ArgumentsCut != nil || strings.Contains(string(r.Arguments), redact.Mark) || r.Outcome == core.OutcomeRunning || r.Outcome == core.OutcomeCancelled || r.Server == "" {
			skipped.Skipped++
			continue
		}
		if !isObject(r.Arguments) {
			skipped.Skipped++
			skipped.NotObjects = append(skipped.NotObjects, strconv.FormatInt(id, 10))
			continue
		}
		step := Step{Server: r.Server, Tool: r.Name, Arguments: string(r.Arguments), Account: r.Account, Expect: Expect{Outcome: r.Outcome}, Version: r.ServedBy.String()}
		answer := string(r.Result) + string(r.Error) // one of them is empty
		if exact && answer != "" && r.ReplyCut == nil && !strings.Contains(answer, redact.Mark) {
			step.Expect.Result = answer
		}
		c.Steps = append(c.Steps, step)
	}
	if len(c.Steps) == 0 {
		return c, skipped, &core.Error{Code: core.CodeNotFound, Message: "there are no recorded tool calls that can be repeated", Hint: "\"drawbridge history --json\" shows what is recorded."}
	}
	return c, skipped, c.Validate()
}

// Values of Check.Auto, which sets whether a check runs automatically.
const (
	AutoAlways = "on"
	AutoNever  = "off"
	// "": the check runs automatically if all its tools are read-only.
)

// debounceDelay is the debounce time after a change: servers change their lists in bursts.
const debounceDelay = 3 * time.Second

// runLimit is the timeout of one automatic run of a check.
const runLimit = 5 * time.Minute

// LastRun is the result of the most recent run of a check.
type LastRun struct {
	At      time.Time `json:"at"`
	OK      bool      `json:"ok"`
	Failed  int       `json:"failed" doc:"Steps with an unexpected result"`
	Trigger string    `json:"trigger" doc:"What started the run: the user, or the server whose version or tools changed"`
	// Seen is the hash of version and tools of each server of the check at the time of the run.
	Seen map[string]string `json:"seen,omitempty"`
}

// CheckStore stores checks and their last runs. *store.Store implements it.
type CheckStore interface {
	SavedChecks(ctx context.Context) (documents [][]byte, err error)
	Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveMetadata(ctx context.Context, key string, value []byte) error
}

// CheckRunner runs saved checks automatically when the version or the tools of one of their servers
// have changed. All fields except Label are required.
type CheckRunner struct {
	Store    CheckStore
	Caller   Caller
	ReadOnly func(server, tool string) bool
	// ServerHash returns a hash of a server's version and tools, and false if they are not known.
	ServerHash func(server string) (string, bool)
	// Label returns the display name of a server. nil: the server's id is used.
	Label func(server string) string
	By    core.Client
	// Notify is called after each automatic run, with a sentence if the check failed and "" if it
	// passed.
	Notify func(check, sentence string)
	Log    *slog.Logger

	changed chan string
}

// NewCheckRunner returns a CheckRunner with the fields of w.
func NewCheckRunner(w CheckRunner) *CheckRunner {
	w.changed = make(chan string, 64)
	return &w
}

// Changed reports that the version or tools of a server may have changed. It never blocks.
func (w *CheckRunner) Changed(server string) {
	select {
	case w.changed <- server:
	default: // Run examines all checks, so a pending change is sufficient
	}
}

// Run runs checks after changes until ctx is done. It always returns nil.
func (w *CheckRunner) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
			waiting = true
			timer.Reset(debounceDelay)
		case <-timer.C:
			if waiting {
				w.runChanged(ctx)
			}
			waiting = false
			timer.Reset(time.Hour)
		}
	}
}

// runChanged runs each check whose servers' versions or tools differ from those of its last run.
func (w *CheckRunner) runChanged(ctx context.Context) {
	documents, err := w.Store.SavedChecks(ctx)
	if err != nil {
		w.Log.Debug("Cannot read the saved checks", "error", err)
		return
	}
	for _, d := range documents {
		var c Check
		if json.Unmarshal(d, &c) != nil || ctx.Err() != nil {
			continue
		}
		now, known := w.hashes(&c)
		last := w.Last(ctx, c.Name)
		if !known || maps.Equal(now, last.Seen) {
			continue
		}
		if last.Seen == nil || !w.mayAutoRun(&c) { // no earlier run, or not allowed: store the baseline only
			last.Seen = now
			w.saveRun(ctx, c.Name, last)
			continue
		}
		why := ""
		for server, hash := range now {
			if last.Seen[server] != hash {
				why = w.label(server)
			}
		}
		limit, cancel := context.WithTimeout(ctx, runLimit)
		report := c.Run(limit, w.Caller, w.By)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.SaveRun(ctx, &c, report, "the version or tools of "+why+" changed")
		sentence := ""
		if !report.OK {
			sentence = "The check " + strconv.Quote(c.Name) + " failed after the version or tools of " + strconv.Quote(why) + " changed."
		}
		w.Notify(c.Name, sentence)
	}
}

func (w *CheckRunner) label(server string) string {
	if w.Label == nil {
		return server
	}
	return w.Label(server)
}

// mayAutoRun reports whether a check may run automatically.
func (w *CheckRunner) mayAutoRun(c *Check) bool {
	if c.Auto != "" {
		return c.Auto == AutoAlways
	}
	for _, s := range c.Steps {
		if !w.ReadOnly(s.Server, s.Tool) {
			return false
		}
	}
	return true
}

// hashes returns the hashes of the servers of a check, and false if one of them is not known.
func (w *CheckRunner) hashes(c *Check) (map[string]string, bool) {
	all := make(map[string]string)
	for _, s := range c.Steps {
		hash, ok := w.ServerHash(s.Server)
		if !ok {
			return nil, false
		}
		all[s.Server] = hash
	}
	return all, true
}

// SaveRun stores the result of a run. why is who or what started it.
func (w *CheckRunner) SaveRun(ctx context.Context, c *Check, report CheckReport, why string) {
	last := LastRun{At: time.Now().UTC(), OK: report.OK, Trigger: why}
	for _, s := range report.Steps {
		if !s.OK {
			last.Failed++
		}
	}
	last.Seen, _ = w.hashes(c)
	w.saveRun(ctx, c.Name, last)
}

func lastRunKey(name string) string { return "check.last." + name }

func (w *CheckRunner) saveRun(ctx context.Context, name string, last LastRun) {
	document, err := json.Marshal(last)
	if err == nil {
		err = w.Store.SaveMetadata(ctx, lastRunKey(name), document)
	}
	if err != nil {
		w.Log.Debug("Cannot save the result of a check", "check", name, "error", err)
	}
}

// Last returns the result of the most recent run of a check. Its At is zero if there was none.
func (w *CheckRunner) Last(ctx context.Context, name string) (last LastRun) {
	if document, ok, err := w.Store.Metadata(ctx, lastRunKey(name)); err == nil && ok {
		_ = json.Unmarshal(document, &last)
	}
	return last
}
