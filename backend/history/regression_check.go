package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
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
