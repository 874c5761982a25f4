//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Profiles on the page of the real daemon, and what a client sees then.
func TestProfilesAreCreatedAndAssignedOnPage(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	entries, err := json.Marshal(object{"demo": demo(), "files": npmServer(t, "server-filesystem", t.TempDir())})
	require.NoError(t, err)
	put(t, filepath.Join(d.data, "config.jsonc"), "{\n  // kept\n  \"mcpServers\": "+string(entries)+"\n}\n")
	d.launch()
	d.running("demo", "files")
	browse(t, d, "page-profiles.mjs", object{"token": d.token("life")}, nil)
}
