package window

import (
	"slices"
	"testing"
	"time"
)

func TestCrashingPageIsReloadedFiveTimesPerMinute(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	var past rendererCrashes
	for i := range maxCrashes {
		if !past.record(now.Add(time.Duration(i) * time.Second)) {
			t.Fatalf("given up at death %d", i+1)
		}
	}
	if past = parseRendererCrashes(past.String()); past.record(now.Add(10 * time.Second)) {
		t.Error("tried a sixth time within a minute, after beginning anew")
	}
	if !past.record(now.Add(crashInterval)) {
		t.Error("a minute after the first death it is not tried")
	}
	if past.record(now.Add(crashInterval)) {
		t.Error("only the first death is a minute old")
	}
	if !past.record(now.Add(-time.Hour)) {
		t.Error("a clock that was put back counts deaths that are to come")
	}
	for _, nonsense := range []string{"", "x", ",,", "1e9"} {
		if got := parseRendererCrashes(nonsense); len(got) != 0 {
			t.Errorf("%q: %v", nonsense, got)
		}
	}
}

func TestRestartedWindowFindsItsDaemon(t *testing.T) {
	past := rendererCrashes{time.UnixMilli(5)}
	before := []string{"HOME=/h", urlVariable + "=http://127.0.0.1:1/#code=used", crashesVariable + "=1", readyVariable + "=1"}
	got := restartEnvironment(before, "http://127.0.0.1:1", "/d", past, false)
	want := []string{"HOME=/h", urlVariable + "=http://127.0.0.1:1", dataVariable + "=/d", crashesVariable + "=5"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := restartEnvironment(before, "", "", past, true); !slices.Contains(got, readyVariable+"=1") {
		t.Errorf("nobody is told that it is there: %q", got)
	}
}
