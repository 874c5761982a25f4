package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// A call may wait for minutes after its checks: for the user, for a free slot, for a server that
// starts, for input, or before a retry. Meanwhile the client can lose access, the rules or the
// definition of the tool can change, and the server can become another program. Whatever is done
// after a wait is therefore preceded by Readmit, and what the user sees is withdrawn as soon as
// Readmit would refuse it.

// Readmit repeats the checks of Admit for a call that was admitted with plan and may have waited. It
// consumes nothing and does not wait. Without the plan, plan is zero.
func (p *Policy) Readmit(call *core.Call, plan Plan, sink core.ServerMessageHandler) error {
	return p.readmit(call, &plan, sink, call.Approval != "")
}

// Watch returns a context that is cancelled when Readmit would refuse the call; the error is then
// its cause. stop must be called.
func (p *Policy) Watch(ctx context.Context, call *core.Call, plan Plan, sink core.ServerMessageHandler) (_ context.Context, stop func() error) {
	return p.grants.await(ctx, func() error { return p.readmit(call, &plan, sink, false) })
}

// readmit is Readmit. Without all, the rules are not evaluated again if they are the same: only the
// file system can change their decision then, and large arguments take long.
func (p *Policy) readmit(call *core.Call, plan *Plan, sink core.ServerMessageHandler, all bool) error {
	if client, ok := sink.(core.ClientAdmission); ok {
		if err := client.StillAdmitted(call); err != nil {
			return err
		}
	}
	if bound := call.Admission.Approved; bound != "" && bound != boundTo(call) {
		return changedError(call, "it is not the call that was approved")
	}
	rules := p.rules.Load()
	view, _ := p.Views.Server(call.Server)
	same := rules == plan.rules && view == plan.view
	if asked := call.Admission.Definition != ""; p.Process != nil && (asked || !same) {
		process, err := p.Process(call)
		if err != nil && (asked || core.CodeOf(err) == core.CodeRejected) {
			return err
		}
		if was := call.Admission.Process; was != "" && was != process {
			return changedError(call, "its process has ended")
		}
	}
	if same && !all && !plan.Unlisted {
		return nil
	}
	s := rules.server(call.Server)
	target, err := p.lookupTarget(call, s)
	if err != nil {
		return err
	}
	if err := checkAdmission(call, s, target); err != nil {
		return err
	}
	if call.Method != "tools/call" {
		return checkTask(call, rules, s, target.Hints)
	}
	d := rules.decide(s, call)
	if err := checkArgumentRules(call, d); err != nil {
		return err
	}
	if err := p.validateArguments(call, s.tool(call), target); err != nil {
		return err
	}
	word, err := approvalOf(call, rules, s, target.Hints, d)
	if err != nil || word != config.ApprovalAsk || call.Continues {
		return err
	}
	if call.Admission.Definition == "" || call.Admission.Rule != d.askingID() {
		return changedError(call, "the rules now require another approval")
	}
	if call.Approval != "" && call.Admission.Approved == "" && p.grants.find(s, call, p.grantFor(call, d), time.Now()) == "" {
		return changedError(call, "the permission of the user has ended")
	}
	return nil
}

// checkAdmission records what a call is admitted to, or refuses a call that was admitted to
// something else. A request about a task is refused if its tool is denied.
func checkAdmission(call *core.Call, s *server, target registry.Target) error {
	was := &call.Admission
	now := s.launchKeys[call.Account]
	if now == "" {
		now = s.launchKeys[""] // the default account, or one that does not exist
	}
	switch {
	case was.Launch == "":
		was.Launch = now
	case was.Launch != now:
		return changedError(call, "its command, environment, address or credentials are different now")
	case was.Definition != "" && was.Definition != definitionHash(target):
		return changedError(call, "the definition of the tool is different now")
	}
	return nil
}

// checkTask refuses a request about a task of a tool that is denied now. A task can always be
// cancelled.
func checkTask(call *core.Call, rules *ruleset, s *server, hints registry.Hints) error {
	if !strings.HasPrefix(call.Method, "tasks/") || call.Method == "tasks/cancel" || call.Name == "" {
		return nil
	}
	created := *call // the arguments are not known any more
	created.Method = "tools/call"
	d := rules.decideWithoutArguments(s, &created)
	if err := checkArgumentRules(&created, d); err != nil {
		return err
	}
	_, err := approvalOf(&created, rules, s, hints, d)
	return err
}

// definitionHash identifies the definition of a tool that the user approves.
func definitionHash(target registry.Target) string {
	sum := sha256.Sum256(target.Raw)
	return hex.EncodeToString(sum[:16])
}

// boundTo identifies what an approval of the call allows: exactly these bytes.
func boundTo(call *core.Call) string {
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte(call.Client.Token), []byte(call.Server), []byte(call.Account), []byte(call.Name),
		[]byte(call.Admission.Launch), []byte(call.Admission.Definition), argumentsOf(call),
	} {
		fmt.Fprintf(h, "%d ", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// changedError returns the error of a call that waited while something changed.
func changedError(call *core.Call, what string) error {
	e := core.Errorf(core.CodeRejected, "server %q has changed while the call waited: %s", call.Server, what)
	e.Hint, e.Retriable = "Make the call again.", true
	return e
}
