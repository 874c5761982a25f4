package trust

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestChangeAtTheEndOfALongDescriptionIsShown(t *testing.T) {
	definition := func(end string) []byte {
		return []byte(`{"name":"a","description":"` + strings.Repeat("é", 2500) + end + `"}`)
	}
	for _, line := range core.Diff(Text(definition("safe")), Text(definition("evil"))) {
		if line.Op == "new" && strings.HasSuffix(line.Text, "evil") {
			return
		}
	}
	t.Errorf("%+v", core.Diff(Text(definition("safe")), Text(definition("evil"))))
}
