package history

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

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
