package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// comparedVersion is a version of a server.
type comparedVersion struct {
	sent    []string
	answers map[string]string // by tool; {n} becomes the number of calls so far
	took    time.Duration
	lists   core.Catalog
}

func (s *comparedVersion) Catalog() *core.Catalog { return &s.lists }

func (s *comparedVersion) Send(ctx context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	if s.sent = append(s.sent, call.Name+string(call.Params[call.Arguments.Start:call.Arguments.End])); call.Method != "tools/call" {
		s.sent[len(s.sent)-1] = call.Method + " " + string(call.Params)
	}
	answer := strings.ReplaceAll(s.answers[call.Name], "{n}", fmt.Sprint(len(s.sent)))
	select {
	case <-ctx.Done():
		return core.Reply{}, ctx.Err()
	case <-time.After(s.took):
	}
	switch {
	case answer == "not sent":
		return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Message: "it ended 5 times", Cause: ErrNotSent}
	case answer == "":
		return core.Reply{}, core.Errorf(core.CodeUnavailable, "the server is gone")
	case strings.HasPrefix(answer, `{"code"`):
		return core.Reply{Error: json.RawMessage(answer)}, nil
	}
	return core.Reply{Result: json.RawMessage(answer)}, nil
}

func compareVersions(t *testing.T, old, candidate map[string]string, took time.Duration, calls ...ComparedCall) (ComparisonReport, []*comparedVersion) {
	t.Helper()
	all := []*comparedVersion{{answers: old}, {answers: old, sent: []string{"started later"}}, {answers: candidate, took: took}}
	r := VersionComparison{
		Server: "s", Old: all[0], Repeat: all[1], Candidate: all[2],
		NotAllowed: func(tool string) string { return map[string]string{"write": "may have side effects"}[tool] },
		Refused: func(_ string, arguments []byte) string {
			if strings.Contains(string(arguments), "private") {
				return "a rule refuses it"
			}
			return ""
		},
	}
	var report ComparisonReport
	synctest.Test(t, func(t *testing.T) { report = r.Run(t.Context(), calls) })
	return report, all
}

func TestComparisonNamesEveryDifferenceAndNothingUnstable(t *testing.T) {
	old := map[string]string{
		"same": `{"content":[{"text":"a"}]}`, "time": `{"content":[{"text":"{\"n\":{n}}"}],"n":{n}}`, "mixed": `{"id":{n},"v":1}`,
		"changed": `{"v":1}`, "gone": `{"v":1}`, "fails": `{"code":-1,"message":"no"}`, "mended": `{"isError":true}`, "write": `{}`, "private": `{}`,
	}
	candidate := map[string]string{
		"same": old["same"], "time": old["time"], "mixed": `{"id":{n},"v":2}`,
		"changed": `{"v":2}`, "gone": `{"code":-32602,"message":"unknown tool"}`, "fails": old["fails"], "mended": `{"isError":false}`, "write": `{"v":3}`,
	}
	report, all := compareVersions(t, old, candidate, 0,
		ComparedCall{Tool: "same"}, ComparedCall{Tool: "time"}, ComparedCall{Tool: "mixed"}, ComparedCall{Tool: "changed"}, ComparedCall{Tool: "gone"},
		ComparedCall{Tool: "fails"}, ComparedCall{Tool: "mended"}, ComparedCall{Tool: "write"}, ComparedCall{Tool: "same", Arguments: `{"private":1}`},
		ComparedCall{Tool: "never answers"})
	var got []string
	for _, c := range report.Calls {
		got = append(got, fmt.Sprint(c.Tool, " ", c.Result, " ", c.Changes, " ", c.Unstable, " ", c.Reason))
	}
	want := []string{
		"same alike [] [] ", "time alike [] [/content/0/text/n /n] ", "mixed different [{/v changed 1 2}] [/id] ", "changed different [{/v changed 1 2}] [] ",
		"gone failed [{/code added  -32602} {/message added  \"unknown tool\"} {/v removed 1 }] [] unknown tool", "fails alike [] [] ",
		"mended different [{/isError changed true false}] [] ", "write skipped [] [] may have side effects", "same skipped [] [] a rule refuses it",
		"never answers skipped [] [] the current version did not respond: the server is gone",
	}
	assert.Equalf(t, want, got, "got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	r := report
	assert.Truef(t, r.Alike == 3 && r.Different == 3 && r.Failed == 1 && r.Skipped == 3, "%+v", report)
	for _, s := range all {
		for _, sent := range s.sent {
			assert.NotContains(t, sent, "write")
			assert.NotContains(t, sent, "private")
		}
	}
}

// A current version that answers differently each time must not hide what the candidate does.
func TestComparisonLeavesOutWhatIsUnstable(t *testing.T) {
	const ok, busy = `{"content":[{"type":"text","text":"a total of 100"}]}`, `{"content":[{"type":"text","text":"busy"}],"isError":true}`
	bad := `{"content":[{"type":"text","text":"other"}]}`
	for name, c := range map[string]struct {
		old, repeat, candidate string
		want                   string
	}{
		"second run fails":          {ok, busy, bad, `skipped ` + unstableOutcome + `: a result, then "busy"`},
		"first run fails":           {busy, ok, bad, `skipped ` + unstableOutcome + `: "busy", then a result`},
		"no second answer":          {ok, "", bad, `skipped ` + unstableOutcome + `: a result, then "the server is gone"`},
		"both fail":                 {busy, busy, busy, "alike "},
		"whole text is masked":      {`{"content":[{"type":"text","text":"alpha beta"}]}`, `{"content":[{"type":"text","text":"gamma delta"}]}`, `{"content":[{"type":"text","text":"eps zeta"}]}`, "skipped nothing to compare: the text differs between runs of the current version"},
		"candidate was not sent":    {ok, ok, "not sent", "skipped not sent to the other version: it ended 5 times"},
		"candidate does not answer": {ok, ok, "", "failed the server is gone"},
	} {
		answers := func(text string) *comparedVersion { return &comparedVersion{answers: map[string]string{"a": text}} }
		allowed := func(string) string { return "" }
		r := VersionComparison{Server: "s", Old: answers(c.old), Repeat: answers(c.repeat), Candidate: answers(c.candidate), NotAllowed: allowed, Refused: func(string, []byte) string { return "" }}
		report := r.Run(t.Context(), []ComparedCall{{Tool: "a"}})
		got := report.Calls[0].Result + " " + report.Calls[0].Reason
		assert.Truef(t, got == c.want && !(len(report.Calls[0].Changes) > 0 && report.Calls[0].Result == Skipped), "%s: %s, want %s", name, got, c.want)
		assert.Equal(t, report.Skipped == 0, report.Enough, name)
	}
}

func TestComparisonEndsWithItsContext(t *testing.T) {
	same := map[string]string{"a": `{}`}
	report, _ := compareVersions(t, same, same, time.Hour, ComparedCall{Tool: "a"})
	assert.Truef(t, report.Failed == 1 && report.Calls[0].Reason == "no response within 30s", "%+v", report)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := func(string) string { return "" }
	r := VersionComparison{Old: &comparedVersion{answers: same}, Repeat: &comparedVersion{answers: same}, Candidate: &comparedVersion{answers: same}, NotAllowed: none, Refused: func(string, []byte) string { return "" }}
	report = r.Run(ctx, []ComparedCall{{Tool: "a"}})
	assert.Truef(t, report.Skipped == 1 && report.Calls[0].Reason == "the time limit of the comparison was reached", "%+v", report)
}

func TestComparisonChecksExpectationsOfChecks(t *testing.T) {
	old, candidate := map[string]string{"a": `{"text":"old","n":{n}}`}, map[string]string{"a": `{"text":"old","n":{n}}`}
	for _, c := range []struct {
		expect Expect
		want   string
	}{
		{Expect{Contains: []string{"old"}}, "alike "},
		{Expect{Contains: []string{"1"}}, "alike "},
		{Expect{Contains: []string{"other"}}, "alike the current version did not meet the expectations of the check"},
		{Expect{MaxNs: int64(50 * time.Millisecond)}, "different it took longer than expected"},
	} {
		report, _ := compareVersions(t, old, candidate, 60*time.Millisecond, ComparedCall{Tool: "a", Check: "c", expect: &c.expect})
		got := report.Calls[0].Result + " " + report.Calls[0].Reason
		assert.Equalf(t, c.want, got, "%+v", c.expect)
	}
}

func TestComparisonSelectsNewestDistinctCallsAndSteps(t *testing.T) {
	calls := &recordedPast{}
	add := func(tool, arguments string, outcome core.Outcome) {
		calls.list = append([]core.Call{{ID: int64(len(calls.list) + 1), Server: "s", Method: "tools/call", Name: tool, Outcome: outcome}}, calls.list...)
		calls.arguments = append(calls.arguments, arguments)
	}
	add("read", `{"n":1}`, core.OutcomeOK)
	add("read", `{"a":1,"b":2}`, core.OutcomeOK)
	add("read", `{"b":2, "a":1}`, core.OutcomeToolError)
	add("read", `{"a":3}`, core.OutcomeRejected)
	add("read", `{"a":4}`, core.OutcomeProtocolError) // an error of the server
	add("read", `{"a":5}`, core.OutcomeProtocolError)
	calls.list[0].Code = core.CodeUnavailable // no answer of the server
	add("read", `{"a":6}`, core.OutcomeOK)
	calls.list[0].Account = "work"
	add("write", `{"a":1}`, core.OutcomeOK)
	add("write", `{"a":2}`, core.OutcomeOK)
	for i := range maxPerTarget + 5 {
		add("many", fmt.Sprintf(`{"i":%d}`, i), core.OutcomeOK)
	}
	r := VersionComparison{Server: "s", NotAllowed: func(tool string) string { return map[string]string{"write": "no"}[tool] }}
	check := []byte(`{"name":"c","steps":[{"server":"s","tool":"x","expect":{}},{"server":"other","tool":"y","expect":{}},{"server":"s","tool":"z","account":"work","expect":{}}]}`)
	list, err := r.Select(t.Context(), calls, [][]byte{check})
	require.NoError(t, err)
	other := `it used account "work", but the versions are compared with account "default"`
	var got []string
	for _, c := range list {
		if c.Tool != "many" {
			got = append(got, c.Tool+c.Arguments+c.CallID+c.Check+c.Result+c.Reason)
		}
	}
	want := []string{"xc", "zcskipped" + other, "writeskippedno", "readskipped" + other, `read{"a":4}5`, `read{"b":2, "a":1}3`, `read{"n":1}1`}
	assert.Truef(t, slices.Equal(got, want) && len(list) == len(want)+maxPerTarget, "%q and %d calls, want %q", got, len(list), want)
}

// Prompts and resources are read again, and lists are compared by name; what differs between runs
// of the current version is not a difference.
func TestComparisonIncludesPromptsResourcesAndLists(t *testing.T) {
	items := func(list ...string) (all []core.Item) {
		for i := 0; i < len(list); i += 2 {
			all = append(all, core.Item{Name: list[i], Raw: json.RawMessage(list[i+1])})
		}
		return all
	}
	calls := &recordedPast{arguments: []string{`{"city":"Bern"}`, `{"uri":"a://1"}`, `{"uri":"a://1"}`, `{}`}}
	for i, c := range []core.Call{{Method: "prompts/get", Name: "p"}, {Method: "resources/read", Name: "a://1"}, {Method: "resources/read", Name: "a://1"}, {Method: "completion/complete", Name: "p"}} {
		c.ID, c.Server, c.Outcome = int64(i+1), "s", core.OutcomeOK
		calls.list = append([]core.Call{c}, calls.list...)
	}
	old := core.Catalog{
		Instructions: "Be kind.", Prompts: items("p", `{"name":"p","description":"was"}`, "gone", `{"name":"gone"}`), Resources: items("a://1", `{"uri":"a://1","size":7}`),
		Templates: items("t", `{"uriTemplate":"t"}`),
	}
	repeat, candidate := old, old
	repeat.Resources = items("a://1", `{"uri":"a://1","size":8}`)
	candidate.Instructions, candidate.Prompts = "Be brief.", items("p", `{"name":"p","description":"is"}`)
	candidate.Resources = items("a://1", `{"uri":"a://1","size":9}`)
	answers := func(lists core.Catalog, prompt string) *comparedVersion {
		return &comparedVersion{lists: lists, answers: map[string]string{"p": prompt, "a://1": `{"contents":[{"text":"a","n":{n}}]}`}}
	}
	first, second := answers(old, `{"messages":[1]}`), answers(repeat, `{"messages":[1]}`)
	second.sent = []string{"started later"}
	r := VersionComparison{
		Server: "s", Old: first, Repeat: second, Candidate: answers(candidate, `{"messages":[2]}`),
		NotAllowed: func(string) string { return "a tool that is not read-only" }, Refused: func(string, []byte) string { return "no" },
	}
	list, err := r.Select(t.Context(), calls, nil)
	require.NoError(t, err)
	report := r.Run(t.Context(), list)
	var got []string
	for _, c := range report.Calls {
		got = append(got, fmt.Sprint(c.Definitions, c.Prompt, c.Resource, " ", c.Result, " ", c.Changes, " ", c.Unstable, " ", c.CallID))
	}
	want := []string{
		`server different [{/instructions changed "Be kind." "Be brief."}] [] `, `prompts different [{/gone removed {"name":"gone"} } {/p/description changed "was" "is"}] [] `,
		"resources alike [] [/a:~1~11/size] ", "resourceTemplates alike [] [] ", "a://1 alike [] [/contents/0/n] 3", "p different [{/messages/0 changed 1 2}] [] 1",
	}
	assert.Equalf(t, want, got, "got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	if sent := strings.Join(first.sent, " "); !strings.Contains(sent, `resources/read {"uri":"a://1"}`) || !strings.Contains(sent, `prompts/get {"name":"p","arguments":{"city":"Bern"}}`) {
		t.Errorf("sent %s", sent)
	}
	none := r.Run(t.Context(), nil)
	assert.True(t, !none.Enough && report.Enough, "equal definitions say nothing about results")
}

// recordedPast is a history.
type recordedPast struct {
	list      []core.Call // newest first
	arguments []string    // by id, from 1
}

func (r *recordedPast) Calls(_ context.Context, q store.Query) ([]core.Call, int64, error) {
	for i, c := range r.list {
		if q.Before == 0 || c.ID < q.Before {
			end := min(i+3, len(r.list))
			next := int64(0)
			if end < len(r.list) {
				next = r.list[end-1].ID
			}
			return r.list[i:end], next, nil
		}
	}
	return nil, 0, nil
}

func (r *recordedPast) Call(_ context.Context, id int64) (*store.Record, error) {
	return &store.Record{Arguments: []byte(r.arguments[id-1])}, nil
}
