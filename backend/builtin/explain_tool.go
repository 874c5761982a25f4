package builtin

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// stateExplanations explains each state and what can be done about it.
var stateExplanations = map[core.State]string{
	core.StateStopped:       "It is stopped. The next call starts it, unless only the user may start it.",
	core.StateStarting:      "It is starting. Calls wait for it.",
	core.StateRunning:       "It is running, and its tools are known.",
	core.StateDegraded:      "It responds, but some of its lists are unavailable.",
	core.StateWaiting:       "It is waiting for a dependency (Docker, its container, or the network and the remote server) and starts automatically once that is available.",
	core.StateRestarting:    "It failed and will be restarted shortly.",
	core.StateFailed:        "It failed too often and is no longer restarted automatically. The next call tries to start it again; see its log.",
	core.StateNeedsSignIn:   "The user must sign in to it, in Drawbridge's window.",
	core.StateNeedsApproval: "Its command is new or has changed, and needs approval in Drawbridge's window.",
	core.StatePaused:        "All servers are paused. No call is sent until the user resumes them.",
	core.StateDisabled:      "It is disabled in the configuration.",
}

func (o *Server) explain(ctx context.Context, who core.Client, arguments []byte) (any, error) {
	var in struct {
		Server string `json:"server"`
		Call   string `json:"call"`
	}
	if err := decodeArguments(arguments, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Call != "":
		return o.explainCall(ctx, who, in.Call)
	case in.Server == "":
		return nil, argumentError("server", "is missing: specify a server or a call")
	}
	for _, s := range o.o.Status() {
		if s.ID == in.Server {
			return map[string]any{"server": summarizeServer(s), "explanation": stateExplanations[s.State]}, nil
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "there is no server named %.64q", in.Server)
}

func (o *Server) explainCall(ctx context.Context, who core.Client, id string) (any, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	unknown := core.Errorf(core.CodeNotFound, "the history contains no call %.32q by this client", id)
	if err != nil {
		return nil, unknown
	}
	r, err := o.o.History.Call(ctx, n)
	if core.CodeOf(err) == core.CodeNotFound || err == nil && !o.visible(who, &r.Call) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"call": summarizeCall(&r.Call), "explanation": explainOutcome(r),
		"arguments": string(r.Arguments), "result": string(r.Result), "error": string(r.Error),
	}, nil
}

func explainOutcome(r *store.Record) string {
	c := &r.Call
	reason := c.ReasonForClient()
	if reason != "" {
		reason = " " + reason
	}
	switch c.Outcome {
	case core.OutcomeOK:
		return fmt.Sprintf("The server responded after %s.", c.Took.Round(time.Microsecond))
	case core.OutcomeToolError:
		return "The tool ran and reported an error." + reason
	case core.OutcomeProtocolError:
		return "The server rejected the request, or the connection to it failed." + reason
	case core.OutcomeTimeout:
		return "The server did not respond in time." + reason
	case core.OutcomeCancelled:
		return "The client cancelled the call." + reason
	case core.OutcomeRejected:
		return "Drawbridge rejected the call." + reason
	}
	return "The call is still in flight."
}
