package history

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// CallRules decides about calls by their arguments; *policy.ArgumentRules implements it.
type CallRules interface {
	NeedsArguments(call *core.Call) (needs, applies bool)
	DependsOnProfile(call *core.Call) bool
	Decide(call *core.Call) (then, key, why string)
}

// RuleTrial is what rules would have done with the recorded calls to tools.
type RuleTrial struct {
	From     time.Time `json:"from" doc:"Calls since this time were tested"`
	Complete bool      `json:"complete" doc:"false: older calls after 'from' were not tested, because there are too many"`
	Calls    int       `json:"calls" doc:"Tool calls that were tested"`
	Asked    int       `json:"asked" doc:"Calls for which the user would have been asked"`
	Denied   int       `json:"denied" doc:"Calls that would have been denied"`
	Allowed  int       `json:"allowed" doc:"Calls that a rule would have allowed without asking"`
	// Calls that could not be evaluated, by the reason.
	Redacted    int `json:"redacted" doc:"Calls that could not be evaluated because secrets were removed from their arguments"`
	Cut         int `json:"cut" doc:"Calls that could not be evaluated because their arguments were too long to be recorded completely"`
	NotRecorded int `json:"notRecorded" doc:"Calls that could not be evaluated because their arguments were not recorded"`

	ProfileUnknown int `json:"profileUnknown" doc:"Calls that were evaluated as calls without a profile, because the history does not record it, although a rule is for a profile"`

	Decisions []RuleDecision `json:"decisions" nullable:"false" doc:"The newest calls that would have needed approval or been denied"`
	Rules     []RuleCount    `json:"rules" nullable:"false" doc:"How many calls each rule decides"`
}

// RuleDecision is what rules would have done with one call.
type RuleDecision struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Client string    `json:"client"`
	Server string    `json:"server"`
	Tool   string    `json:"tool"`
	// Account is the account of the server that was used; "" if it has none.
	Account string `json:"account"`
	Then    string `json:"then" enum:"ask,deny"`
	Rule    string `json:"rule" doc:"Configuration key of the rule"`
	Why     string `json:"why"`
}

// RuleCount is the number of calls about which a rule decides.
type RuleCount struct {
	Rule  string `json:"rule"`
	Calls int    `json:"calls"`
}

// Limits of a trial.
const (
	maxTriedCalls     = 100_000
	maxTriedArguments = 20_000 // calls whose arguments are read
	maxDecisions      = 100
	trialTime         = 20 * time.Second
)

// TryRules decides about the recorded calls since from, newest first, as if rules had been in
// force. Links and folders are those of today.
func TryRules(ctx context.Context, calls Calls, rules CallRules, from time.Time) (*RuleTrial, error) {
	out := &RuleTrial{From: from.UTC(), Decisions: []RuleDecision{}, Rules: []RuleCount{}}
	end := time.Now().Add(trialTime)
	read := 0
	for q := (store.Query{From: from, Limit: store.MaxLimit}); ; {
		page, next, err := calls.Calls(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			c := &page[i]
			if c.Method != "tools/call" || c.FromServer || c.Server == "" {
				continue
			}
			if out.Calls >= maxTriedCalls || read >= maxTriedArguments || time.Now().After(end) {
				return out, nil
			}
			out.Calls++
			if rules.DependsOnProfile(c) {
				out.ProfileUnknown++
			}
			needs, applies := rules.NeedsArguments(c)
			if !applies {
				continue
			}
			if needs {
				read++
				judged, err := out.loadArguments(ctx, calls, c)
				if err != nil {
					return nil, err
				}
				if !judged {
					continue
				}
			}
			out.decide(rules, c)
		}
		if next == 0 {
			out.Complete = true
			return out, nil
		}
		q.Before = next
	}
}

// loadArguments reads the arguments of a call. It returns false, and counts the call, if they are
// not there as they were.
func (t *RuleTrial) loadArguments(ctx context.Context, calls Calls, c *core.Call) (bool, error) {
	r, err := calls.Call(ctx, c.ID)
	if core.CodeOf(err) == core.CodeNotFound {
		t.NotRecorded++ // deleted meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case r.ArgumentsCut != nil:
		t.Cut++
		return false, nil
	case bytes.Contains(r.Arguments, []byte(redact.Mark)):
		t.Redacted++
		return false, nil
	case len(r.Arguments) == 0 && c.BytesIn > len(c.Name)+len(`{"name":"","arguments":{}}`):
		t.NotRecorded++
		return false, nil
	}
	c.Params, c.Arguments = r.Arguments, core.Span{End: len(r.Arguments)}
	return true, nil
}

// isByUser reports whether the user made a call, on the page or the command line. A client can
// report any name, but its calls have a session, a shim or the modern era.
func isByUser(c *core.Call) bool {
	return c.Client.Token == "" && (c.Client.Name == core.PageClient || c.Client.Name == core.CommandClient) &&
		c.Session == "" && c.Shim == "" && c.Era == core.Legacy
}

func (t *RuleTrial) decide(rules CallRules, c *core.Call) {
	then, key, why := rules.Decide(c)
	switch then {
	case "":
		return
	case "allow":
		t.Allowed++
	case "ask":
		if isByUser(c) {
			return // the user is not asked about calls of the page and the command line
		}
		t.Asked++
	case "deny":
		t.Denied++
	}
	found := false
	for i := range t.Rules {
		if t.Rules[i].Rule == key {
			t.Rules[i].Calls++
			found = true
		}
	}
	if !found {
		t.Rules = append(t.Rules, RuleCount{key, 1})
	}
	if then != "allow" && len(t.Decisions) < maxDecisions {
		client := c.Client.Token
		if client == "" {
			client = c.Client.Name
		}
		t.Decisions = append(t.Decisions, RuleDecision{ID: strconv.FormatInt(c.ID, 10), At: c.At, Client: client, Server: c.Server, Tool: c.Name, Account: c.Account, Then: then, Rule: key, Why: why})
	}
}
