//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// UI-04: of a result of 10 MB the first 64 KB are recorded. The page shows them immediately,
// draws what is in view, and tells the full size. The whole result, returned to the user who tries the tool, does not
// block the page either.
func TestTenMegabyteResultIsShownImmediately(t *testing.T) {
	d := start(t, object{"mcpServers": object{"large": testServer(t, "giant")}})
	d.running("large")
	var found struct {
		// The longest time that the page was blocked, and the time until the text was readable.
		ShownMs, MoreMs, TriedMs, StillMs, TriedStillMs float64
		Document, First, All                            int
	}
	browse(t, d, "page-large-result.mjs", nil, &found)
	t.Logf("shown after %.0f ms, more of it after %.0f ms, standing still for %.0f ms at most; tried: read after %.0f ms, standing still for %.0f ms",
		found.ShownMs, found.MoreMs, found.StillMs, found.TriedMs, found.TriedStillMs)
	within := float64(limit(200 * time.Millisecond).Milliseconds())
	if found.ShownMs <= 0 || found.ShownMs > within || found.MoreMs <= 0 || found.MoreMs > within {
		t.Errorf("the result is shown after %.0f ms, more of it after %.0f ms", found.ShownMs, found.MoreMs)
	}
	assert.Truef(t, !(found.TriedMs <= 0) && !(found.TriedStillMs > within), "the page stands still for %.0f ms when the tool is tried", found.TriedStillMs)
	if found.Document > 80<<10 || found.First > 6000 || found.All < 65_000 || found.All > 66_000 {
		t.Errorf("the document has %d bytes; %d characters are drawn first, %d in all", found.Document, found.First, found.All)
	}
}
