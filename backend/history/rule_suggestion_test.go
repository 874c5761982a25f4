package history

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// allAtOnce serves all records in one page.
type allAtOnce struct{ recordedCalls }

func (a allAtOnce) Calls(context.Context, store.Query) (page []core.Call, next int64, err error) {
	for _, r := range a.recordedCalls {
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
		var calls recordedCalls
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
