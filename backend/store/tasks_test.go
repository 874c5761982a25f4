package store

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taskCall returns call i, which created a task.
func taskCall(i int) (*core.Call, core.Reply) {
	c := aCall(i)
	c.Era, c.Took = core.Modern, time.Millisecond
	c.Task = &core.Task{Call: c.ID, ID: fmt.Sprint("task", i), Status: "working", TTL: time.Minute}
	return c, core.Reply{Result: fmt.Appendf(nil, `{"resultType":"task","taskId":"task%d","status":"working"}`, i)}
}

// taskRequest returns a request about the task of a call, sent after some time.
func taskRequest(of *core.Call, method string, after time.Duration, outcome core.Outcome, state core.Task) *core.Call {
	c := *of
	c.ID, c.At, c.Method, c.Outcome = of.ID+after.Microseconds(), of.At.Add(after), method, outcome
	c.Params = []byte(`{"taskId":"x"}`)
	c.Arguments = core.Span{}
	state.Call, state.ID = of.ID, of.Task.ID
	c.Task = &state
	return &c
}

// A call whose result is a task is one call in lists, counts and statistics. It has the outcome,
// the duration and the result of its task.
func TestCallWithATaskIsOneCall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	b := openAt(t, path, later)
	record := func(c *core.Call, reply core.Reply) { b.Recorder().Record(c, reply) }
	done, first := taskCall(1)
	record(done, first)
	record(taskRequest(done, "tasks/get", time.Second, core.OutcomeOK, core.Task{Status: "input_required", TTL: -1}), core.Reply{Result: []byte(`{"status":"input_required"}`)})
	record(taskRequest(done, "tasks/update", 2*time.Second, core.OutcomeOK, core.Task{TTL: -1}), core.Reply{Result: []byte(`{}`)})
	record(taskRequest(done, "tasks/get", 3*time.Second, core.OutcomeToolError, core.Task{Status: "completed", Ended: true, HasResult: true, TTL: -1}),
		core.Reply{Result: []byte(`{"status":"completed","result":{"isError":true,"n":9007199254740993}}`)})
	// The state is final: what comes later changes nothing.
	record(taskRequest(done, "tasks/cancel", 4*time.Second, core.OutcomeOK, core.Task{TTL: -1}), core.Reply{Result: []byte(`{}`)})
	record(taskRequest(done, "tasks/get", 5*time.Second, core.OutcomeOK, core.Task{Status: "working", TTL: -1}), core.Reply{Result: []byte(`{"status":"working"}`)})
	record(taskRequest(done, "tasks/get", 6*time.Second, core.OutcomeProtocolError, core.Task{Ended: true, TTL: -1}), core.Reply{Error: []byte(`{"code":-32602,"message":"gone"}`)})
	open, opened := taskCall(100_000)
	record(open, opened)
	cancelled, reply := taskCall(200_000)
	record(cancelled, reply)
	record(taskRequest(cancelled, "tasks/cancel", time.Second, core.OutcomeOK, core.Task{TTL: -1}), core.Reply{Result: []byte(`{}`)})
	ordinary := aCall(300_000)
	record(ordinary, aReply)
	orphan := taskRequest(open, "tasks/get", time.Hour, core.OutcomeOK, core.Task{Status: "completed", Ended: true, TTL: -1})
	orphan.Task.Call = 7 // not recorded
	record(orphan, core.Reply{Result: []byte(`{"status":"completed"}`)})
	flushed(t, b)

	for range 2 { // before and after a restart
		calls, _, err := b.Calls(t.Context(), Query{})
		require.NoError(t, err)
		var got []string
		for _, c := range calls {
			status := ""
			if c.Task != nil {
				status = c.Task.Status
			}
			got = append(got, fmt.Sprintln(c.Method, c.Outcome, c.Took, status))
		}
		took := orphan.Took
		want := fmt.Sprintln("tasks/get ok", took, "") + fmt.Sprintln("tools/call", ordinary.Outcome, ordinary.Took, "") + "tools/call cancelled 1.001s expired\ntools/call ok 1ms expired\ntools/call tool_error 3.001s completed\n"
		assert.Equal(t, want, strings.Join(got, ""))
		f, err := b.Facets(t.Context(), Query{})
		require.NoError(t, err)
		require.EqualValues(t, 5, f.Total)
		for _, o := range f.Outcomes {
			assert.Equal(t, map[string]int64{"ok": 2, "expired": 1, "tool_error": 1, "cancelled": 1}[o.Value], o.Calls, o.Value)
		}
		if u, err := b.Usage(t.Context(), UsageQuery{From: done.At.Add(-time.Hour), To: done.At.Add(48 * time.Hour)}); err != nil || u.Total.Calls != 5 || u.Total.Errors != 1 {
			t.Errorf("%+v, %v", u.Total, err)
		}
		list, err := b.Clients(t.Context())
		assert.Truef(t, err == nil && len(list) == 1 && list[0].Calls == 5, "%+v, %v", list, err)
		if list, _, err := b.Sessions(t.Context(), 0, 0); err != nil || len(list) != 1 || list[0].Calls != 5 || list[0].Errors != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		r, err := b.Call(t.Context(), done.ID)
		if err != nil || string(r.Result) != `{"isError":true,"n":9007199254740993}` || string(r.TaskState.Created) != string(first.Result) || len(r.TaskState.Requests) != 6 || !r.Task.Ended {
			t.Errorf("%+v %+v %v", r, r.TaskState, err)
		}
		if r, err := b.Call(t.Context(), open.ID); err != nil || string(r.Result) != string(opened.Result) || r.Task.Ended || r.TaskState.Created != nil {
			t.Errorf("%+v %v", r, err)
		}
		b.stop()
		b = openAt(t, path, later)
	}
	defer b.stop()
	tasks, err := b.Tasks(t.Context(), done.At, 2)
	if err != nil || len(tasks) != 2 || tasks[1].ID != "task200000" || tasks[0].ID != "task100000" || tasks[0].Client != open.Client || tasks[0].Server != open.Server || tasks[0].Name != open.Name || tasks[0].TTL != time.Minute || !tasks[0].Created.Equal(open.At) {
		t.Errorf("%+v, %v", tasks, err)
	}

	// Erasing the call erases what the requests about its task contain, and takes it out of the
	// counts.
	n, err := b.Erase(t.Context(), Selection{IDs: []int64{done.ID}})
	require.Truef(t, err == nil && n == 1, "%v %v", n, err)
	if calls, _, err := b.Calls(t.Context(), Query{Text: "9007199254740993"}); err != nil || len(calls) != 0 {
		t.Errorf("%+v, %v", calls, err)
	}
	if u, err := b.Usage(t.Context(), UsageQuery{From: done.At.Add(-time.Hour), To: done.At.Add(48 * time.Hour)}); err != nil || u.Total.Calls != 4 || u.Total.Errors != 0 {
		t.Errorf("%+v, %v", u.Total, err)
	}
	requireIntegrity(t, b)
}

// The id of a task leads to the task after a restart, also if it looks like a token. Known secrets
// are removed from it, and payloads contain neither.
func TestIDOfATaskIsKeptIfItOnlyLooksLikeASecret(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	defer b.stop()
	b.Recorder().SetSecrets([]string{"hunter2hunter2"}, nil)
	ids := []string{"ghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36], "eyJhbGciOiJIUzI1NiJ9.eyJ0YXNrIjoiMSJ9.c2lnbmF0dXJlc2lnbmF0dXJl", "of hunter2hunter2"}
	for i, id := range ids {
		c, _ := taskCall(i)
		c.Task.ID = id
		b.Recorder().Record(c, core.Reply{Result: []byte(`{"resultType":"task","taskId":"` + id + `"}`)})
	}
	flushed(t, b)
	tasks, err := b.Tasks(t.Context(), aCall(0).At.Add(-time.Hour), 10)
	assert.Truef(t, err == nil && len(tasks) == 3 && tasks[0].ID == ids[0] && tasks[1].ID == ids[1] && tasks[2].ID == "of [redacted]", "%+v, %v", tasks, err)
	for i, id := range ids {
		c, _ := taskCall(i)
		if r, err := b.Call(t.Context(), c.ID); err != nil || strings.Contains(string(r.Result), id) {
			t.Errorf("%s, %v", r.Result, err)
		}
	}
}

// Until a task has ended, filters and facets name its call by the state of the task instead of ok.
// A task that nobody asked about until its end has expired after its ttl, or a day after the last
// request about it. Before that, and once its end is recorded, it has its own status.
func TestOpenTaskIsShownAsExpiredAfterItsTTL(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return aCall(0).At.Add(time.Duration(passed.Load())) })
	minute, reply := taskCall(1)
	b.Recorder().Record(minute, reply)
	unlimited, reply := taskCall(2)
	unlimited.Task.TTL = -1
	b.Recorder().Record(unlimited, reply)
	ended, reply := taskCall(3)
	b.Recorder().Record(ended, reply)
	b.Recorder().Record(taskRequest(ended, "tasks/get", time.Second, core.OutcomeOK, core.Task{Status: "completed", Ended: true, TTL: -1}), core.Reply{Result: []byte(`{"status":"completed"}`)})
	flushed(t, b)
	defer b.stop()
	for _, at := range []struct {
		after             time.Duration
		minute, unlimited string
	}{{59 * time.Second, "working", "working"}, {2 * time.Minute, "expired", "working"}, {25 * time.Hour, "expired", "expired"}} {
		passed.Store(int64(at.after))
		for call, want := range map[*core.Call]string{minute: at.minute, unlimited: at.unlimited, ended: "completed"} {
			if r, err := b.Call(t.Context(), call.ID); err != nil || r.Task.Status != want || r.Task.Ended != (call == ended) {
				t.Errorf("after %s: %+v, want %s: %v", at.after, r.Task, want, err)
			}
		}
		calls, _, err := b.Calls(t.Context(), Query{})
		if err != nil || len(calls) != 3 || calls[2].Task.Status != at.minute || calls[1].Task.Status != at.unlimited {
			t.Errorf("after %s: %+v, %v", at.after, calls, err)
		}
		want := map[string]int64{"ok": 1}
		want[at.minute]++
		want[at.unlimited]++
		for _, state := range []core.Outcome{"ok", "working", "input_required", "expired"} {
			calls, _, err := b.Calls(t.Context(), Query{Outcome: state})
			require.NoErrorf(t, err, "after %s", at.after)
			require.Equalf(t, want[string(state)], int64(len(calls)), "after %s", at.after)
		}
		for _, q := range []Query{{}, {MinTook: 1}} { // from rollups, and from calls
			f, err := b.Facets(t.Context(), q)
			got := map[string]int64{}
			for _, o := range f.Outcomes {
				got[o.Value] = o.Calls
			}
			if err != nil || !maps.Equal(got, want) || f.Total != 3 {
				t.Errorf("after %s: %v of %d, want %v: %v", at.after, got, f.Total, want, err)
			}
		}
	}
}

// If the result of a task could not be fetched, its call says why, until a request succeeds.
func TestCallWithATaskSaysWhyItsResultWasNotFetched(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	defer b.stop()
	reason := func(call *core.Call, want string) {
		t.Helper()
		flushed(t, b)
		if r, err := b.Call(t.Context(), call.ID); err != nil || r.Reason != want || r.Task.Status != "expired" {
			t.Errorf("%q, want %q: %v", r.Reason, want, err)
		}
	}
	lost, created := taskCall(1)
	b.Recorder().Record(lost, created)
	failed := taskRequest(lost, "tasks/get", time.Second, core.OutcomeProtocolError, core.Task{TTL: -1})
	failed.Code, failed.Reason = core.CodeUnavailable, "the result is larger than the limit"
	b.Recorder().Record(failed, core.Reply{Error: []byte(`{"code":-32603,"message":"too large"}`)})
	reason(lost, "the last request about the task failed: the result is larger than the limit")
	rejected := taskRequest(lost, "tasks/get", 2*time.Second, core.OutcomeRejected, core.Task{TTL: -1})
	rejected.Reason = "denied"
	b.Recorder().Record(rejected, core.Reply{})
	reason(lost, "the last request about the task failed: the result is larger than the limit")
	b.Recorder().Record(taskRequest(lost, "tasks/get", 3*time.Second, core.OutcomeOK, core.Task{Status: "working", TTL: -1}), core.Reply{Result: []byte(`{"status":"working"}`)})
	reason(lost, "")
}
