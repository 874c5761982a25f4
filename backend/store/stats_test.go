package store

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentilesAreWithinFivePercent(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	single := aCall(-60_000)
	single.Name = "single"
	b.Recorder().Record(single, aReply)
	flushed(t, b)
	inServer := single.Took - single.Queued
	exact, err := b.Usage(t.Context(), UsageQuery{From: single.At.Add(-time.Hour), To: single.At.Add(time.Hour)})
	if err != nil || exact.Total.P50 != inServer || exact.Total.P99 != inServer || exact.ByTool[0].P95 != inServer {
		t.Errorf("a single call was in its server for %s, and that is reported as %+v, %v", inServer, exact.Total, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	for n := range 3000 {
		c := aCall(n)
		c.Took = time.Duration(math.Exp(r.NormFloat64()*2) * float64(5*time.Millisecond))
		all = append(all, c.Took)
		b.Recorder().Record(c, aReply)
		if n%500 == 0 {
			flushed(t, b)
		}
	}
	flushed(t, b)
	at := aCall(0).At
	u, err := b.Usage(t.Context(), UsageQuery{From: at.Add(-time.Hour), To: at.Add(48 * time.Hour), Tool: "echo"})
	require.NoError(t, err)
	require.EqualValues(t, 3000, u.Total.Calls)
	slices.Sort(all)
	for p, got := range map[float64]time.Duration{0.5: u.Total.P50, 0.95: u.Total.P95, 0.99: u.Total.P99} {
		want := all[int(math.Ceil(p*3000))-1]
		off := math.Abs(float64(got)/float64(want) - 1)
		assert.Falsef(t, off > 0.05, "p%v is %v, not %v: %.1f %% off", p*100, got, want, off*100)
	}
}

// What differs only in numbers is one error, with a search that finds its calls; an HTTP status is none.
func TestErrorsThatDifferInNumbersAreOne(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	for n, reason := range []string{"Issue ACME-12 not found", "Issue ACME-13 not found", "Issue ACME-13 not found", "HTTP 404 (req-1)", "HTTP 500 (req-2)", "17", "18", "No space"} {
		c := aCall(n)
		c.Outcome, c.Reason = core.OutcomeProtocolError, reason
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	facets, err := b.Facets(t.Context(), Query{})
	require.NoError(t, err)
	assert.Equal(t, []Facet{
		{Value: "Issue ACME-13 not found", Calls: 3, Search: "Issue not found"}, {Value: "17", Calls: 1}, {Value: "18", Calls: 1},
		{Value: "HTTP 404 (req-1)", Calls: 1}, {Value: "HTTP 500 (req-2)", Calls: 1}, {Value: "No space", Calls: 1},
	}, facets.Errors)
	found, _, err := b.Calls(t.Context(), Query{Text: facets.Errors[0].Search})
	require.NoError(t, err)
	assert.Len(t, found, 3)
}

// A person who answers after two minutes does not make a server slow, and what the policy rejects is
// no error of a tool.
func TestUsageIsThatOfServers(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	for n, outcome := range []core.Outcome{core.OutcomeOK, core.OutcomeRejected, core.OutcomeCancelled, core.OutcomeTimeout, core.OutcomeProtocolError, core.OutcomeProtocolError} {
		c := aCall(n)
		c.Outcome, c.Queued, c.Took = outcome, 2*time.Minute, 2*time.Minute+time.Millisecond
		if c.Reason = "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 1"; n == 5 {
			c.Code, c.Reason = core.CodeUnavailable, "not running"
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	at := aCall(0).At
	u, err := b.Usage(t.Context(), UsageQuery{From: at.Add(-time.Hour), To: at.Add(time.Hour)})
	if err != nil || u.Total.Calls != 6 || u.Total.Errors != 3 || u.Total.Rejected != 1 || u.Total.P99 > 2*time.Millisecond || u.Total.Mean != time.Millisecond {
		t.Errorf("%+v, %v", u.Total, err)
	}
	facets, err := b.Facets(t.Context(), Query{From: at.Add(-time.Hour), To: at.Add(time.Hour)})
	if err != nil || !slices.Contains(facets.Outcomes, Facet{Value: "unavailable", Calls: 1}) || !slices.Contains(facets.Outcomes, Facet{Value: "protocol_error", Calls: 1}) {
		t.Errorf("%+v, %v", facets, err)
	}
	want := []Facet{{Value: "KeyError: 1", Calls: 2}, {Value: "not running", Calls: 1}}
	assert.Equal(t, want, facets.Errors)
	failed, err := b.Facets(t.Context(), Query{Outcome: outcomeFailed, From: at.Add(-time.Hour), To: at.Add(time.Hour)})
	assert.Truef(t, err == nil && failed.Total == 3, "failed: %+v, %v", failed, err)
	if found, _, err := b.Calls(t.Context(), Query{Outcome: outcomeFailed}); err != nil || len(found) != 3 {
		t.Errorf("failed: %+v, %v", found, err)
	}
	sampled, err := b.Facets(t.Context(), Query{MinTook: time.Second})
	require.NoError(t, err)
	require.Contains(t, sampled.Outcomes, Facet{Value: "unavailable", Calls: 1})
	for outcome, code := range map[core.Outcome]core.Code{"unavailable": core.CodeUnavailable, core.OutcomeProtocolError: aCall(0).Code} {
		if found, _, err := b.Calls(t.Context(), Query{Outcome: outcome}); err != nil || len(found) != 1 || found[0].Code != code {
			t.Errorf("%s: %+v, %v", outcome, found, err)
		}
	}
}

// TestUsageOfAnyRangeMatchesItsCalls compares rollups with the calls of random ranges.
func TestUsageOfAnyRangeMatchesItsCalls(t *testing.T) {
	t.Parallel()
	now := aCall(0).At.Truncate(24 * time.Hour).Add(10*time.Hour + 17*time.Minute + 5*time.Second)
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return now })
	r := rand.New(rand.NewPCG(3, 4))
	var when []time.Time
	for n := range 2000 {
		c := aCall(n)
		c.At = now.Add(-time.Duration(r.Float64()*float64(10*24*time.Hour)) - time.Second)
		c.ID = c.At.UnixMicro()*1 + int64(n%7)
		if n%9 == 0 {
			c.Outcome = core.OutcomeTimeout
		}
		when = append(when, c.At)
		b.Recorder().Record(c, aReply)
		if n%200 == 0 {
			flushed(t, b)
		}
	}
	flushed(t, b)
	for range 60 {
		from := now.Add(-time.Duration(r.Float64() * float64(11*24*time.Hour)))
		to := from.Add(time.Duration(r.Float64() * float64(now.Sub(from))))
		unit := func(t time.Time) time.Duration {
			if t.After(now.Add(-47 * time.Hour)) {
				return time.Minute
			}
			return time.Hour
		}
		wideFrom, wideTo := from.Truncate(unit(from)), to.Truncate(unit(to)).Add(unit(to))
		if unit(from) == time.Hour { // the boundary between hours and minutes moves with the clock
			wideFrom = from.Truncate(time.Hour)
		}
		least, most := int64(0), int64(0)
		for _, at := range when {
			if !at.Before(from) && at.Before(to) {
				least++
			}
			if !at.Before(wideFrom.Add(-time.Hour)) && at.Before(wideTo.Add(time.Hour)) {
				most++
			}
		}
		u, err := b.Usage(t.Context(), UsageQuery{From: from, To: to})
		if err != nil || u.Total.Calls < least || u.Total.Calls > most {
			t.Errorf("%v to %v: %d calls, %v; want %d to %d", from, to, u.Total.Calls, err, least, most)
		}
		var series int64
		for _, one := range u.Series {
			series += one.Calls
		}
		assert.Equalf(t, u.Total.Calls, series, "%v to %v", from, to)
	}
	u, err := b.Usage(t.Context(), UsageQuery{From: now.Add(-11 * 24 * time.Hour)})
	if err != nil || u.Total.Calls != 2000 || u.Total.Errors != 223 || len(u.ByServer) != 1 || u.ByTool[0].Tool != "echo" || u.ByClient[0].Client != "Cursor" {
		t.Errorf("all: %+v, %v", u, err)
	}
	if u, err := b.Usage(t.Context(), UsageQuery{From: now.Add(-11 * 24 * time.Hour), Server: "nope"}); err != nil || u.Total.Calls != 0 {
		t.Errorf("of a server that is not there: %+v, %v", u, err)
	}
}

// The hourly rollups of a partial first day would be half of all rows.
func TestLongRangeIsReadFromDayRollups(t *testing.T) {
	t.Parallel()
	now := aCall(0).At.Truncate(24 * time.Hour).Add(13 * time.Hour)
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return now })
	for n, at := range []time.Duration{30*24*time.Hour + 5*time.Hour, 30 * 24 * time.Hour, time.Hour} {
		c := aCall(n)
		c.At = now.Add(-at)
		c.ID = c.At.UnixMicro()
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	for span, want := range map[time.Duration]struct {
		calls int64
		from  time.Time
	}{
		30 * 24 * time.Hour: {3, now.Add(-30 * 24 * time.Hour).Truncate(24 * time.Hour)},
		13 * 24 * time.Hour: {1, now.Add(-13 * 24 * time.Hour)},
	} {
		u, err := b.Usage(t.Context(), UsageQuery{From: now.Add(-span)})
		if err != nil || u.Total.Calls != want.calls || !u.From.Equal(want.from) {
			t.Errorf("%s: %d calls from %s on, %v; want %+v", span, u.Total.Calls, u.From, err, want)
		}
	}
}

func TestFacetsApplyAllOtherFilters(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	for n := range 120 {
		c := aCall(n)
		c.Server = []string{"files", "git", "web"}[n%3]
		c.Client.Name = []string{"Cursor", "Claude"}[n%2]
		if n%10 == 0 {
			c.Outcome = core.OutcomeTimeout
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	for _, text := range []string{"", "echo"} {
		f, err := b.Facets(t.Context(), Query{Server: "git", Outcome: core.OutcomeOK, To: aCall(0).At.Add(time.Hour), Text: text})
		require.NoError(t, err)
		if f.Total != 36 || len(f.Servers) != 3 || f.Servers[0].Calls != 36 || len(f.Outcomes) != 2 || f.Outcomes[0].Calls != 36 || f.Outcomes[1].Calls != 4 {
			t.Errorf("text %q: %+v", text, f)
		}
		if len(f.Tools) != 1 || f.Tools[0].Server != "git" || len(f.Clients) != 2 || f.Clients[0].Calls+f.Clients[1].Calls != 36 {
			t.Errorf("text %q: %+v", text, f)
		}
	}
}
