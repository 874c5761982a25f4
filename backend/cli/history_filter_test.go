package cli

import (
	"strings"
	"testing"
	"time"
)

func TestFilterLanguageOfThePageIsUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		`server:files outcome:error took:>1s "text"`:         "minTookNs=1000000000&outcome=tool_error&q=%22text%22&server=files",
		`two words tool:read client:"Claude Code" took:<5ms`: "client=Claude+Code&maxTookNs=5000000&q=two+words&tool=read",
		`https://x.org/a:b outcome:protocol_error`:           "outcome=protocol_error&q=https%3A%2F%2Fx.org%2Fa%3Ab",
		``: "",
	} {
		var f callFilter
		if err := f.parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if q, err := f.query(); err != nil || q.Encode() != want {
			t.Errorf("%s: %s, %v; want %s", text, q.Encode(), err, want)
		}
	}
	if (&callFilter{}).parse("took:>soon") == nil {
		t.Error("took:>soon is taken")
	}
}

func TestTimesAreParsedInCommonForms(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local).UTC().Format(time.RFC3339Nano)
	for text, want := range map[string]string{
		"": "", "2h": "2026-03-01T10:00:00Z", "2026-01-31": day, "2026-01-31T10:00:00+02:00": "2026-01-31T08:00:00Z",
	} {
		if got, err := parseTime(text, now); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"yesterday", "-2h", "2026-13-01"} {
		if got, err := parseTime(wrong, now); err == nil {
			t.Errorf("%q is %q", wrong, got)
		}
	}
	for _, f := range []callFilter{{outcome: "fine"}, {from: "soon"}, {least: -1}} {
		if _, err := f.query(); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
	q, err := (&callFilter{server: "files", text: "a b", least: time.Millisecond}).query()
	if err != nil || q.Encode() != "minTookNs=1000000&q=a+b&server=files" {
		t.Errorf("got %s, %v", q.Encode(), err)
	}
}

func TestInvalidFiltersExit2(t *testing.T) {
	f := newFakeDaemon(t)
	for _, args := range [][]string{{"history", "--limit", "-1"}, {"history", "--limit", "0"}, {"history", "--limit", "501"}, {"history", "--outcome", "bogus"}} {
		if got := f.run(false, args...); got.code != 2 || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	f.notFound("GET /api/v1/tools", `{"code":"not_found","detail":"there is no such server"}`)
	if got := f.run(false, "tools", "nobody"); got.code != 1 || !strings.Contains(got.errOut, `there is no server named "nobody"`) {
		t.Errorf("%+v", got)
	}
}
