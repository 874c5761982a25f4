package policy

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/require"
)

// allAtOnce serves all records in one page.
type allAtOnce struct{ fakeCalls }

func (a allAtOnce) Calls(context.Context, store.Query) (page []core.Call, next int64, err error) {
	for _, r := range a.fakeCalls {
		page = append(page, r.Call)
	}
	return page, 0, nil
}

// The conditions come from what similar calls have in common, and all match the call itself.
func TestRuleIsSuggestedFromSimilarCalls(t *testing.T) {
	t.Setenv("HOME", "/srv/root/user")
	t.Setenv("USERPROFILE", "/srv/root/user")
	for _, c := range []struct {
		name, own, workspace string
		others               []string
		want                 []string
	}{
		{"common folder", `{"path":"/srv/data/a/x.txt"}`, "", []string{`{"path":"/srv/data/b/y.txt"}`, `{"path":"/srv/data/z"}`}, []string{`{"/path":{"under":"/srv/data"}}`}},
		{"nothing in common but the root", `{"path":"/srv/data/x"}`, "", []string{`{"path":"/etc/y"}`}, []string{`{"/path":{"under":"/srv/data"}}`}},
		{"working folder", `{"path":"/home/me/p/src/x"}`, "/home/me/p", []string{`{"path":"/home/me/p/src/y"}`}, []string{`{"/path":{"under":"${workspaceFolder}"}}`}},
		{"lists", `{"paths":["file:///srv/a/x","/srv/b/y"]}`, "", nil, []string{`{"/paths/*":{"under":"/srv"}}`}},
		{"host and range", `{"n":5,"url":"https://API.example.com/x"}`, "", []string{`{"n":100,"url":"https://other.example.com"}`}, []string{`{"/url":{"host":"api.example.com"}}`, `{"/n":{"max":100,"min":5}}`}},
		{"recurring text", `{"mode":"fast","text":"once"}`, "", []string{`{"mode":"fast","text":"a"}`, `{"mode":"slow","text":"b"}`, `{"mode":"fast","text":"c"}`}, []string{`{"/mode":{"glob":"fast"}}`}},
		{"nested", `{"a":{"b/c":{"~d":"x"}}}`, "", nil, []string{`{"/a/b~1c/~0d":{"glob":"x"}}`}},
		{"relative path", `{"path":"notes/a.txt"}`, "/home/me/p", []string{`{"path":"notes/b/c.txt"}`}, []string{`{"/path":{"under":["/srv/root/notes","${workspaceFolder}"]}}`}},
		{"relative and absolute", `{"sourceFiles":["x/a.txt"]}`, "", []string{`{"sourceFiles":["/etc/x"]}`}, []string{`{"/sourceFiles/*":{"under":["/srv/root/x","/home/me/p/x"]}}`}},
		{"relative path beside the home folder", `{"path":"a.txt"}`, "", nil, []string{`{"/path":{"glob":"a.txt"}}`}},
		{"relative path that leaves", `{"path":"../a"}`, "", nil, []string{`{"/path":{"glob":"../a"}}`}},
		{"no path by its name", `{"profile":"a/b"}`, "", nil, []string{`{"/profile":{"glob":"a/b"}}`}},
		{"nothing usable", `{"deep":true,"text":"a * b","n":9007199254740993,"at":"/","s":"[redacted]"}`, "", nil, nil},
		{"no arguments", `{}`, "", []string{`{"a":"b"}`}, nil},
	} {
		var calls fakeCalls
		for i, arguments := range append(c.others, `{"path":`) {
			calls = append(calls, &store.Record{Arguments: []byte(arguments), Call: core.Call{ID: int64(i + 1), At: time.Now(), Server: "s", Method: "tools/call", Name: "t"}})
		}
		like := &core.Call{ID: 99, Server: "s", Name: "t", Workspace: c.workspace, Params: []byte(c.own), Arguments: core.Span{End: len(c.own)}}
		got, err := SuggestRule(t.Context(), allAtOnce{calls}, like, time.Time{}, []string{"/srv/root", "/home/me/p"})
		if err != nil || !slices.Equal(got.Where, c.want) && len(got.Where)+len(c.want) > 0 {
			t.Errorf("%s: %q, want %q (%v)", c.name, got.Where, c.want, err)
		}
	}
}

// fakeCalls serves records in pages of two, newest first.
type fakeCalls []*store.Record

func (r fakeCalls) Calls(_ context.Context, q store.Query) (page []core.Call, next int64, err error) {
	for i := len(r) - 1; i >= 0; i-- {
		if c := r[i].Call; (q.Before == 0 || c.ID < q.Before) && !c.At.Before(q.From) {
			if len(page) == 2 {
				return page, page[1].ID, nil
			}
			page = append(page, c)
		}
	}
	return page, 0, nil
}

func (r fakeCalls) Call(_ context.Context, id int64) (*store.Record, error) {
	for _, one := range r {
		if one.ID == id {
			return one, nil
		}
	}
	return nil, core.Errorf(core.CodeNotFound, "no such call")
}

func TestRulesAreTriedOnRecordedCalls(t *testing.T) {
	now, problems := config.Parse("c.json", []byte(`{"mcpServers": {"files": {"command": "x"}}, "profiles": {"office": {}}, "clients": {"tied": {"profile": "office"}}}`))
	require.NotNil(t, now, problems)
	rules, problems := config.ParseArgumentRules("rules.jsonc", []byte(`[ // a list alone
		{"tool": "files__put", "where": {"/path": {"notUnder": "${workspaceFolder}"}}, "then": "deny", "because": "outside"},
		{"tool": "put", "where": {"/mode": {"present": true}}, "then": "ask"},
		{"profiles": "office", "then": "allow"}]`))
	require.True(t, len(problems) <= 0, problems)
	var calls fakeCalls
	start := time.Now().Add(-time.Hour)
	add := func(client, tool, arguments string, change func(*store.Record)) {
		r := &store.Record{Arguments: []byte(arguments), Call: core.Call{ID: int64(len(calls) + 1), At: start.Add(time.Duration(len(calls)) * time.Second), Server: "files",
			Method: "tools/call", Name: tool, Workspace: volume + "/nowhere/ws", Client: core.Client{Token: client}, BytesIn: len(arguments) + 50}}
		if change != nil {
			change(r)
		}
		calls = append(calls, r)
	}
	add("cursor", "put", `{"path":"`+volume+`/etc/old"}`, func(r *store.Record) { r.At = start.Add(-48 * time.Hour) })
	add("cursor", "put", `{"path":"`+volume+`/etc/passwd"}`, nil)
	add("cursor", "put", `{"path":"`+volume+`/nowhere/ws/a"}`, nil)
	add("cursor", "put", `{"path":"`+volume+`/nowhere/ws/a","mode":"[redacted]"}`, nil)
	add("cursor", "put", `{"path":"`+volume+`/nowhere/ws/a","mo`, func(r *store.Record) { r.ArgumentsCut = &store.Cut{Size: 1 << 20} })
	add("cursor", "put", ``, nil)
	add("cursor", "put", `{"path":"`+volume+`/nowhere/ws/a","mode":1}`, nil)
	add("tied", "get", `[redacted]`, nil) // the rule does not look at arguments
	add("cursor", "get", `{}`, nil)
	user := func(change func(*core.Call)) func(*store.Record) {
		return func(r *store.Record) {
			r.Client, r.Era = core.Client{Name: core.PageClient}, core.Legacy
			if change != nil {
				change(&r.Call)
			}
		}
	}
	ask := `{"path":"` + volume + `/nowhere/ws/a","mode":2}`
	add("", "put", ask, user(nil)) // the user is not asked
	add("", "put", ask, user(func(c *core.Call) { c.Session = "claims the name" }))
	add("", "put", ask, user(func(c *core.Call) { c.Era = core.Modern }))
	add("", "put", ask, user(func(c *core.Call) { c.Client.Name = "drawbridge-app" }))
	add("", "put", `{"path":"`+volume+`/etc/passwd"}`, user(func(c *core.Call) { c.Account = "work" }))
	add("cursor", "x", `{}`, func(r *store.Record) { r.Method = "prompts/get" })
	got, err := TryRules(t.Context(), calls, NewArgumentRules(rules, now), start.Add(-time.Hour))
	require.NoError(t, err)
	if got.Calls != 13 || got.Denied != 2 || got.Asked != 4 || got.Allowed != 1 || got.Redacted != 1 || got.Cut != 1 || got.NotRecorded != 1 || !got.Complete {
		t.Errorf("%+v", got)
	}
	if len(got.Decisions) != 6 || got.Decisions[0].Account != "work" || got.Decisions[1].Client != "drawbridge-app" || got.Decisions[4].Then != "ask" ||
		got.Decisions[5].ID != "2" || got.Decisions[5].Rule != "policy.rules[0]" || !strings.Contains(got.Decisions[5].Why, "outside") || len(got.Rules) != 3 {
		t.Errorf("%+v", got.Decisions)
	}
}
