package history

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// SavedCheck is a check with its last result.
type SavedCheck struct {
	Check
	Last *LastRun `json:"last,omitempty"`
}

func (f *Feature) listChecks(ctx context.Context, _ *web.None) (*web.Answer[web.List[SavedCheck]], error) {
	checks, err := f.savedChecks(ctx)
	if err != nil {
		return nil, err
	}
	list := web.List[SavedCheck]{Items: []SavedCheck{}}
	for _, c := range checks {
		saved := SavedCheck{Check: c}
		if last := f.Checks.Last(ctx, c.Name); !last.At.IsZero() {
			last.Seen = nil
			saved.Last = &last
		}
		list.Items = append(list.Items, saved)
	}
	return web.Reply(list)
}

type checkInput struct {
	Name string `path:"name" maxLength:"100"`
	web.Caller
}

type putCheckInput struct {
	Name string `path:"name" maxLength:"100"`
	Body struct {
		Steps []Step `json:"steps" minItems:"1" maxItems:"200" nullable:"false"`
		Auto  string `json:"auto,omitempty" enum:",on,off" doc:"Whether it runs automatically after the version or tools of a server change; default: if all its tools are read-only"`
	}
}

func (f *Feature) putCheck(ctx context.Context, in *putCheckInput) (*web.Answer[Check], error) {
	c := Check{Name: in.Name, Steps: in.Body.Steps, Auto: in.Body.Auto}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := f.saveCheck(ctx, &c); err != nil {
		return nil, err
	}
	return web.Reply(c)
}

type checkOfCallsInput struct {
	Name string `path:"name" maxLength:"100"`
	Body struct {
		Session string    `json:"session,omitempty" maxLength:"200"`
		Tag     string    `json:"tag,omitempty" maxLength:"50"`
		From    time.Time `json:"from,omitzero"`
		To      time.Time `json:"to,omitzero"`
		Exact   bool      `json:"exact,omitempty" doc:"Expect the recorded results, not only the outcomes"`
	}
}

// CheckOfCalls is a check that was made of recorded calls.
type CheckOfCalls struct {
	Check
	SkippedCalls
}

func (f *Feature) saveCheckFromCalls(ctx context.Context, in *checkOfCallsInput) (*web.Answer[CheckOfCalls], error) {
	q := store.Query{Session: in.Body.Session, Tag: in.Body.Tag, From: in.Body.From, To: in.Body.To}
	if q == (store.Query{}) {
		return nil, &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "body.session", Error: "session, tag, from or to is required"}}}
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	if old, err := f.Store.SavedCheck(ctx, in.Name); err != nil || old != nil {
		return nil, cmp.Or(err, error(&core.Error{Code: core.CodeConflict, Message: "a check with this name already exists", Hint: "Choose another name, or delete the existing check with: drawbridge check remove " + in.Name}))
	}
	c, skipped, err := CheckFromCalls(ctx, f.Store, in.Name, q, in.Body.Exact)
	if err != nil {
		return nil, err
	}
	if err := f.saveCheck(ctx, &c); err != nil {
		return nil, err
	}
	return web.Reply(CheckOfCalls{c, skipped})
}

func (f *Feature) deleteCheck(ctx context.Context, in *checkInput) (*struct{}, error) {
	return nil, f.Store.DeleteCheck(ctx, in.Name)
}

func (f *Feature) runCheck(ctx context.Context, in *checkInput) (*web.Answer[CheckReport], error) {
	document, err := f.Store.SavedCheck(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if document == nil {
		return nil, core.Errorf(core.CodeNotFound, "there is no such check")
	}
	var c Check
	if err := json.Unmarshal(document, &c); err != nil {
		return nil, err
	}
	report := c.Run(ctx, f.Gateway, in.Client(f.Version))
	f.Checks.SaveRun(ctx, &c, report, "run manually")
	return web.Reply(report)
}
