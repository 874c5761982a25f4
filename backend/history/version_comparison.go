package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// VersionComparison sends the same calls to two versions of a server and compares the results.
type VersionComparison struct {
	Server string
	By     core.Client
	// NotAllowed returns the reason not to send calls of a tool, such as that it may change
	// something, or "".
	NotAllowed func(tool string) string
	// Refused returns the reason not to send one call, such as a rule on its arguments, or "".
	Refused func(tool string, arguments []byte) string
	// Old and Repeat run the current version, Candidate the other one. What differs between Old and
	// Repeat is not a difference of the Candidate.
	Old, Repeat, Candidate Sender
}

// Sender sends calls to one server. upstream.Conn implements it.
type Sender interface {
	Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
	Catalog() *core.Catalog
}

// Results of a compared call.
const (
	Alike     = "alike"
	Different = "different"
	Failed    = "failed" // it succeeds with the current version, but not with the candidate
	Skipped   = "skipped"
)

// ComparisonReport compares two versions of a server.
type ComparisonReport struct {
	Alike     int            `json:"alike"`
	Different int            `json:"different"`
	Failed    int            `json:"failed"`
	Skipped   int            `json:"skipped"`
	Enough    bool           `json:"enough" doc:"Whether results could be compared, of at least half of the calls that were sent"`
	Calls     []ComparedCall `json:"calls" nullable:"false"`
}

// compared reports whether results could be compared, of at least half of the calls that were sent.
// Definitions do not count, because they say nothing about results.
func (r *ComparisonReport) compared() bool {
	compared, without := 0, 0
	for i := range r.Calls {
		switch c := &r.Calls[i]; {
		case c.Definitions != "":
		case c.Result != Skipped:
			compared++
		case c.sent:
			without++
		}
	}
	return compared > 0 && compared >= without
}

// ComparedCall is a call that was sent to both versions, or skipped; or a comparison of
// definitions.
type ComparedCall struct {
	Tool        string `json:"tool,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	Resource    string `json:"resource,omitempty" doc:"URI"`
	Definitions string `json:"definitions,omitempty" enum:"server,prompts,resources,resourceTemplates" doc:"What was compared without a call: the instructions and capabilities of the server, or a list, by name or URI"`

	Arguments string   `json:"arguments,omitempty" doc:"JSON text: an object"`
	CallID    string   `json:"callId,omitempty" doc:"The recorded call that was repeated"`
	Check     string   `json:"check,omitempty" doc:"The saved check that contains the call"`
	Result    string   `json:"result" enum:"alike,different,failed,skipped" doc:"failed: succeeds with the current version only"`
	Reason    string   `json:"reason,omitempty" doc:"Why it failed or was skipped, or which expectations of the check are no longer met"`
	Changes   []Change `json:"changes,omitempty" doc:"Differences from the result of the current version"`
	More      int      `json:"more,omitempty" doc:"Number of further differences, which changes leaves out"`
	Unstable  []string `json:"unstable,omitempty" doc:"JSON Pointers of values that also differ between runs of the current version; they are not compared. The last entry may say how many are left out"`

	expect *Expect
	sent   bool // and the current version responded
}

// ErrNotSent is the cause of the error of a Sender that did not send the call.
var ErrNotSent = errors.New("not sent")

const unstableOutcome = "unstable: the current version returned different results for the same call"

// Limits of a comparison.
const (
	maxComparedCalls    = 100  // recorded calls
	maxPerTarget        = 20   // recorded calls to one tool or prompt, and of all resources
	maxExamined         = 5000 // recorded calls that are searched
	maxPayloads         = 1000 // recorded calls that are read
	comparedCallTimeout = 30 * time.Second
)

// Select returns the calls to send: the steps of the checks (JSON documents) for the server, and
// the newest recorded calls with different arguments of each tool and prompt, and reads of
// resources.
func (r *VersionComparison) Select(ctx context.Context, from Calls, checks [][]byte) (list []ComparedCall, err error) {
	for _, document := range checks {
		var c Check
		if err := json.Unmarshal(document, &c); err != nil {
			return nil, err
		}
		for _, s := range c.Steps {
			if s.Server == r.Server {
				one := ComparedCall{Tool: s.Tool, Arguments: s.Arguments, Check: c.Name, expect: &s.Expect}
				if one.Reason = ofOtherAccount(s.Account); one.Reason != "" {
					one.Result = Skipped
				}
				list = append(list, one)
			}
		}
	}
	recorded, err := r.selectRecorded(ctx, from)
	return append(list, recorded...), err
}

func (r *VersionComparison) selectRecorded(ctx context.Context, from Calls) (list []ComparedCall, err error) {
	seen, perTarget, sent, read, examined := map[string]bool{}, map[string]int{}, 0, 0, 0
	for q := (store.Query{Server: r.Server, Limit: store.MaxLimit}); ; {
		page, next, err := from.Calls(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			c := &page[i]
			if c.FromServer || !answered(c) {
				continue
			}
			one, of := recordedRequest(c)
			if of == "" {
				continue
			}
			if why := cmp.Or(r.notAllowed(&one), ofOtherAccount(c.Account)); why != "" {
				if key := of + "\x00" + why; !seen[key] {
					one.Result, one.Reason = Skipped, why
					seen[key], list = true, append(list, one)
				}
				continue
			}
			if perTarget[of] == maxPerTarget {
				continue
			}
			if read++; sent == maxComparedCalls || read > maxPayloads {
				return list, nil
			}
			full, err := from.Call(ctx, c.ID)
			if core.CodeOf(err) == core.CodeNotFound {
				continue // deleted in the meantime
			} else if err != nil {
				return nil, err
			}
			if full.ArgumentsCut != nil || redacted(full.Arguments) || redacted([]byte(c.Name)) {
				continue
			}
			if one.Resource == "" {
				one.Arguments = string(full.Arguments)
			}
			arguments, ok := decode(fullArguments(&one))
			if !ok {
				continue
			}
			if key := of + "\x00" + one.Resource + encode(arguments); !seen[key] {
				seen[key] = true
				perTarget[of]++
				sent++
				one.CallID = strconv.FormatInt(c.ID, 10)
				list = append(list, one)
			}
		}
		if examined += len(page); next == 0 || examined >= maxExamined {
			return list, ctx.Err()
		}
		q.Before = next
	}
}

// Run compares the definitions and sends the calls, one after the other, until ctx is done.
func (r *VersionComparison) Run(ctx context.Context, calls []ComparedCall) ComparisonReport {
	report := ComparisonReport{Calls: append(r.compareDefinitions(), calls...)}
	for i := range report.Calls {
		c := &report.Calls[i]
		if c.Result == "" {
			r.compare(ctx, c)
			if ctx.Err() != nil { // the results may be incomplete
				c.Result, c.Reason, c.Changes = Skipped, "the time limit of the comparison was reached", nil
			}
		}
		switch c.Result {
		case Alike:
			report.Alike++
		case Different:
			report.Different++
		case Failed:
			report.Failed++
		default:
			report.Skipped++
		}
	}
	report.Enough = report.compared()
	return report
}

// compare sends a call to both versions. The candidate is called between two runs of the current
// version, so that values that depend on the time differ between these as well.
func (r *VersionComparison) compare(ctx context.Context, c *ComparedCall) {
	why := r.notAllowed(c)
	if why == "" && c.Tool != "" {
		why = r.Refused(c.Tool, fullArguments(c))
	}
	if why != "" {
		c.Result, c.Reason = Skipped, why
		return
	}
	before := r.send(ctx, r.Old, c)
	if before.err != nil {
		c.Result, c.Reason = Skipped, "the current version did not respond: "+before.reason()
		return
	}
	c.sent = true
	now := r.send(ctx, r.Candidate, c)
	if errors.Is(now.err, ErrNotSent) {
		c.Result, c.Reason = Skipped, "not sent to the other version: "+now.reason()
		return
	}
	again := r.send(ctx, r.Repeat, c)
	if again.err != nil || again.outcome != before.outcome {
		c.Result, c.Reason = Skipped, unstableOutcome+": "+before.describe()+", then "+again.describe()
		return
	}
	c.Changes, c.Unstable = newChanges(before.text, again.text, now.text)
	switch {
	case before.outcome == core.OutcomeOK && now.outcome != core.OutcomeOK:
		c.Result, c.Reason = Failed, now.reason()
	case before.outcome != now.outcome || len(c.Changes) > 0:
		c.Result = Different
	case slices.ContainsFunc(c.Unstable, func(path string) bool { return path == "" || path == "/content/0/text" }):
		c.Result, c.Reason = Skipped, "nothing to compare: the text differs between runs of the current version"
	default:
		c.Result = Alike
	}
	if c.expect == nil || c.Result == Failed {
		return
	}
	unmet, _ := c.expect.unmet(now.outcome, now.text, int64(now.took))
	if met, _ := c.expect.unmet(before.outcome, before.text, int64(before.took)); len(met) > 0 {
		c.Reason = "the current version did not meet the expectations of the check"
	} else if len(unmet) > 0 {
		c.Result, c.Reason = Different, strings.Join(unmet, "; ")
	}
}

type sentCall struct {
	text    []byte // the result, or the error
	outcome core.Outcome
	err     error // no response
	took    time.Duration
}

func (r *VersionComparison) send(ctx context.Context, to Sender, c *ComparedCall) (s sentCall) {
	ctx, cancel := context.WithTimeout(ctx, comparedCallTimeout)
	defer cancel()
	began := time.Now()
	reply, err := to.Send(ctx, r.request(c), nil)
	s = sentCall{text: reply.Result, outcome: core.OutcomeOK, err: err, took: time.Since(began)}
	var result struct {
		IsError bool `json:"isError"`
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.outcome, s.text = core.OutcomeTimeout, nil
	case err != nil:
		s.outcome, s.text = core.OutcomeProtocolError, nil
	case len(reply.Error) > 0:
		s.outcome, s.text = core.OutcomeProtocolError, reply.Error
	case json.Unmarshal(reply.Result, &result) == nil && result.IsError:
		s.outcome = core.OutcomeToolError
	}
	return s
}

// describe returns the outcome, and why it is not a success.
func (s *sentCall) describe() string {
	if s.outcome == core.OutcomeOK {
		return "a result"
	}
	return fmt.Sprintf("%q", s.reason())
}

// reason describes a response that is not a success.
func (s *sentCall) reason() string {
	if s.outcome == core.OutcomeTimeout {
		return "no response within " + comparedCallTimeout.String()
	}
	if s.err != nil {
		text, _ := core.Describe(s.err)
		return text
	}
	var e struct {
		Message string
		Content []struct{ Text string }
	}
	_ = json.Unmarshal(s.text, &e)
	if len(e.Content) > 0 && e.Message == "" {
		e.Message = e.Content[0].Text
	}
	if e.Message == "" {
		return fmt.Sprintf("the outcome is %s", s.outcome)
	}
	return e.Message
}

// recordedRequest returns the request of a recorded call, without its arguments, and what it counts
// for: the tool, the prompt, or all resources. of is "" if the request is not repeated.
func recordedRequest(c *core.Call) (one ComparedCall, of string) {
	switch c.Method {
	case "tools/call":
		one.Tool, of = c.Name, "tool\x00"+c.Name
	case "prompts/get":
		one.Prompt, of = c.Name, "prompt\x00"+c.Name
	case "resources/read":
		one.Resource, of = c.Name, "resources"
	}
	return one, of
}

// answered reports whether the server answered a recorded call, if only with an error.
func answered(c *core.Call) bool {
	return c.Outcome == core.OutcomeOK || c.Outcome == core.OutcomeToolError || c.Outcome == core.OutcomeProtocolError && c.Code == ""
}

// ofOtherAccount returns why a call with this account of the server is not sent, or "". Compared
// versions run with the credentials of the server itself, which must not get the calls of others.
func ofOtherAccount(account string) string {
	if account == "" || account == core.DefaultAccount {
		return ""
	}
	return fmt.Sprintf("it used account %q, but the versions are compared with account %q", account, core.DefaultAccount)
}

// notAllowed returns why a call must not be sent, or "". To get a prompt and to read a resource
// changes nothing.
func (r *VersionComparison) notAllowed(c *ComparedCall) string {
	if c.Tool == "" {
		return ""
	}
	return r.NotAllowed(c.Tool)
}

// fullArguments returns the arguments of a call, which may be left out.
func fullArguments(c *ComparedCall) []byte {
	if c.Arguments == "" {
		return []byte(`{}`)
	}
	return []byte(c.Arguments)
}

func (r *VersionComparison) request(c *ComparedCall) *core.Call {
	if c.Resource != "" {
		uri, _ := json.Marshal(c.Resource)
		return &core.Call{
			Client: r.By, ByUser: true, Era: core.Legacy, Server: r.Server, Method: "resources/read", Name: c.Resource, PublicName: c.Resource,
			Params: append(append([]byte(`{"uri":`), uri...), '}'),
		}
	}
	call := ToolCall(r.By, r.Server, c.Tool+c.Prompt, fullArguments(c))
	if c.Prompt != "" {
		call.Method = "prompts/get"
	}
	return call
}

// compareDefinitions compares what the versions say about themselves and list, except tools, whose
// definitions are compared with the trusted ones. Lists that are empty in both versions are left
// out.
func (r *VersionComparison) compareDefinitions() []ComparedCall {
	all := []ComparedCall{}
	for _, name := range []string{"server", string(core.Prompts), string(core.Resources), string(core.Templates)} {
		before, now := definitionsOf(r.Old.Catalog(), name), definitionsOf(r.Candidate.Catalog(), name)
		if string(before) == "{}" && string(now) == "{}" {
			continue
		}
		c := ComparedCall{Definitions: name, Result: Alike}
		c.Changes, c.Unstable = newChanges(before, definitionsOf(r.Repeat.Catalog(), name), now)
		if len(c.Changes) > 0 {
			c.Result = Different
		}
		all = append(all, c)
	}
	return all
}

func definitionsOf(c *core.Catalog, name string) []byte {
	all := map[string]json.RawMessage{}
	put := func(items []core.Item) {
		for _, item := range items {
			all[item.Name] = item.Raw
		}
	}
	switch core.Kind(name) {
	case core.Prompts:
		put(c.Prompts)
	case core.Resources:
		put(c.Resources)
	case core.Templates:
		put(c.Templates)
	default:
		if len(c.Capabilities) > 0 {
			all["capabilities"] = c.Capabilities
		}
		if c.Instructions != "" {
			all["instructions"], _ = json.Marshal(c.Instructions)
		}
	}
	text, err := json.Marshal(all)
	if err != nil { // the catalog has only valid JSON
		return []byte("{}")
	}
	return text
}
