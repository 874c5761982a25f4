package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCrashingPageIsReloadedFiveTimesPerMinute(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	var past rendererCrashes
	for i := range maxCrashes {
		require.Truef(t, past.record(now.Add(time.Duration(i)*time.Second)), "given up at death %d", i+1)
	}
	if past = parseRendererCrashes(past.String()); past.record(now.Add(10 * time.Second)) {
		t.Error("tried a sixth time within a minute, after beginning anew")
	}
	assert.True(t, past.record(now.Add(crashInterval)), "a minute after the first death it is not tried")
	assert.False(t, past.record(now.Add(crashInterval)), "only the first death is a minute old")
	assert.True(t, past.record(now.Add(-time.Hour)), "a clock that was put back counts deaths that are to come")
	for _, nonsense := range []string{"", "x", ",,", "1e9"} {
		assert.Emptyf(t, parseRendererCrashes(nonsense), "%q", nonsense)
	}
}

func TestRestartedWindowFindsItsDaemon(t *testing.T) {
	past := rendererCrashes{time.UnixMilli(5)}
	before := []string{"HOME=/h", urlVariable + "=http://127.0.0.1:1/#code=used", crashesVariable + "=1", readyVariable + "=1"}
	got := restartEnvironment(before, "http://127.0.0.1:1", "/d", past, false)
	want := []string{"HOME=/h", urlVariable + "=http://127.0.0.1:1", dataVariable + "=/d", crashesVariable + "=5"}
	assert.Equal(t, want, got)
	assert.Contains(t, restartEnvironment(before, "", "", past, true), readyVariable+"=1", "nobody is told that it is there")
}
