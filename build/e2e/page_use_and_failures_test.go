//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Every page and every action with the real daemon; also while the configuration is reloaded, a
// server crashes, the daemon restarts and the browser's session expires.
func TestEveryPageSurvivesFailures(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	var found struct {
		Pages    []string
		UsefulMs int64
	}
	browse(t, d, "page-use-and-failures.mjs", object{"token": d.token("life"), "control": control(t, d, nil, nil), "binary": binary}, &found)
	assert.Truef(t, len(found.Pages) >= 19, "only these pages were looked at: %q", found.Pages)
	t.Logf("something useful is seen after %d ms", found.UsefulMs)
	if took := time.Duration(found.UsefulMs) * time.Millisecond; took > 2*limit(time.Second) { // twice, because it runs beside other tests
		t.Errorf("something useful is seen only after %s", took)
	}
}
