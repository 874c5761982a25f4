package selfserver

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/store"
)

// serverFacts is what a client learns of a server: no command, no path, no stderr.
type serverFacts struct {
	ID      string    `json:"id"`
	Label   string    `json:"label"`
	State   hub.State `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since"`
	Tools   int       `json:"tools"`
	Prompts int       `json:"prompts"`
	Warning []string  `json:"warnings,omitempty"`
}

func facts(s hub.ServerStatus) serverFacts {
	return serverFacts{s.ID, s.Label, s.State, s.Reason, s.Since, s.Tools, s.Prompts, s.Warnings}
}

func (o *Own) status(_ context.Context, _ hub.Client, arguments []byte) (any, error) {
	if err := read(arguments, &struct{}{}); err != nil {
		return nil, err
	}
	list := []serverFacts{}
	for _, s := range o.o.Status() {
		list = append(list, facts(s))
	}
	return map[string]any{"version": o.o.Version, "servers": list}, nil
}

// meaning is what a state tells, and what can be done about it.
var meaning = map[hub.State]string{
	hub.StateStopped:       "It is stopped and starts with the next call, unless it may be started by a person only.",
	hub.StateStarting:      "It is being started. Calls wait for it.",
	hub.StateRunning:       "It runs and has been listed.",
	hub.StateDegraded:      "It answers, but something is missing.",
	hub.StateWaiting:       "It waits for what it needs (Docker, its container, or the network and the remote server), and starts by itself once that is there.",
	hub.StateBackoff:       "It failed and will be started again shortly.",
	hub.StateCrashed:       "It failed too often and was given up. The next call tries it once more; its log says more.",
	hub.StateNeedsLogin:    "It wants a login, which a person does in Drawbridge's window.",
	hub.StateNeedsApproval: "Its command is new or was changed, and waits for a person's word in Drawbridge's window.",
	hub.StateDisabled:      "It is disabled in the configuration.",
}

func (o *Own) explain(ctx context.Context, who hub.Client, arguments []byte) (any, error) {
	var in struct {
		Server string `json:"server"`
		Call   string `json:"call"`
	}
	if err := read(arguments, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Call != "":
		return o.explainCall(ctx, who, in.Call)
	case in.Server == "":
		return nil, invalid("server", "is missing: name a server or a call")
	}
	for _, s := range o.o.Status() {
		if s.ID == in.Server {
			return map[string]any{"server": facts(s), "explanation": meaning[s.State]}, nil
		}
	}
	return nil, hub.Errorf(hub.CodeNotFound, "no server is called %.64q", in.Server)
}

func (o *Own) explainCall(ctx context.Context, who hub.Client, id string) (any, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	unknown := hub.Errorf(hub.CodeNotFound, "there is no call %.32q of yours in the history", id)
	if err != nil {
		return nil, unknown
	}
	r, err := o.o.History.Call(ctx, n)
	if hub.CodeOf(err) == hub.CodeNotFound || err == nil && !o.visible(who, &r.Call) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"call": callFacts(&r.Call), "explanation": outcome(r),
		"arguments": string(r.Arguments), "result": string(r.Result), "error": string(r.Error),
	}, nil
}

func outcome(r *store.Record) string {
	c := &r.Call
	reason := c.Reason
	if reason != "" {
		reason = " " + reason
	}
	switch c.Outcome {
	case hub.OutcomeOK:
		return fmt.Sprintf("The server answered after %s.", c.Took.Round(time.Microsecond))
	case hub.OutcomeToolError:
		return "The tool ran and reported an error of its own." + reason
	case hub.OutcomeProtocolError:
		return "The server refused the request, or the connection to it broke." + reason
	case hub.OutcomeTimeout:
		return "The server did not answer in time." + reason
	case hub.OutcomeCancelled:
		return "The client gave the call up." + reason
	case hub.OutcomeRejected:
		return "Drawbridge did not pass the call on." + reason
	}
	return "The call has not ended yet."
}
