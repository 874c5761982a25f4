package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTooLargeRulesAreRefused(t *testing.T) {
	f := newFakeDaemon(t)
	path := filepath.Join(t.TempDir(), "rules.jsonc")
	must(t, os.WriteFile(path, []byte("[]"+strings.Repeat(" ", maxRules)), 0o600))
	if got := f.run(true, "policy", "try", path); got.code != 1 || !strings.Contains(got.errOut, "larger than 1 MiB") {
		t.Errorf("%+v", got)
	}
}
