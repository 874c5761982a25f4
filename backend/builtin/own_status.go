package builtin

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// serverSummary is what a client may know about a server: no command, no path, no stderr.
type serverSummary struct {
	ID      string     `json:"id"`
	Label   string     `json:"label"`
	State   core.State `json:"state"`
	Reason  string     `json:"reason,omitempty"`
	Since   time.Time  `json:"since"`
	Tools   int        `json:"tools"`
	Prompts int        `json:"prompts"`
	Warning []string   `json:"warnings,omitempty"`
}

func summarizeServer(s core.ServerStatus) serverSummary {
	return serverSummary{s.ID, s.Label, s.State, s.Reason, s.Since, s.Tools, s.Prompts, s.Warnings}
}

func (o *Own) status(_ context.Context, _ core.Client, arguments []byte) (any, error) {
	if err := decodeArguments(arguments, &struct{}{}); err != nil {
		return nil, err
	}
	list := []serverSummary{}
	for _, s := range o.o.Status() {
		list = append(list, summarizeServer(s))
	}
	return map[string]any{"version": o.o.Version, "servers": list}, nil
}

// stateExplanations explains each state and what can be done about it.
var stateExplanations = map[core.State]string{
	core.StateStopped:       "It is stopped and starts with the next call, unless it may be started by the user only.",
	core.StateStarting:      "It is being started. Calls wait for it.",
	core.StateRunning:       "It runs and has been listed.",
	core.StateDegraded:      "It answers, but something is missing.",
	core.StateWaiting:       "It waits for what it needs (Docker, its container, or the network and the remote server), and starts by itself once that is there.",
	core.StateBackoff:       "It failed and will be started again shortly.",
	core.StateCrashed:       "It failed too often and was given up. The next call tries it once more; its log says more.",
	core.StateNeedsLogin:    "It wants a login, which the user does in Drawbridge's window.",
	core.StateNeedsApproval: "Its command is new or was changed, and waits for approval in Drawbridge's window.",
	core.StateDisabled:      "It is disabled in the configuration.",
}

func (o *Own) explain(ctx context.Context, who core.Client, arguments []byte) (any, error) {
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
		return nil, argumentError("server", "is missing: name a server or a call")
	}
	for _, s := range o.o.Status() {
		if s.ID == in.Server {
			return map[string]any{"server": summarizeServer(s), "explanation": stateExplanations[s.State]}, nil
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "no server is called %.64q", in.Server)
}

func (o *Own) explainCall(ctx context.Context, who core.Client, id string) (any, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	unknown := core.Errorf(core.CodeNotFound, "there is no call %.32q of yours in the history", id)
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
	reason := c.Reason
	if reason != "" {
		reason = " " + reason
	}
	switch c.Outcome {
	case core.OutcomeOK:
		return fmt.Sprintf("The server answered after %s.", c.Took.Round(time.Microsecond))
	case core.OutcomeToolError:
		return "The tool ran and reported an error of its own." + reason
	case core.OutcomeProtocolError:
		return "The server refused the request, or the connection to it broke." + reason
	case core.OutcomeTimeout:
		return "The server did not answer in time." + reason
	case core.OutcomeCancelled:
		return "The client gave the call up." + reason
	case core.OutcomeRejected:
		return "Drawbridge did not pass the call on." + reason
	}
	return "The call has not ended yet."
}
