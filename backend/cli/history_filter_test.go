package cli

import (
	"testing"
	"time"
)

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
