package cli

import (
	"strings"
	"testing"
)

func TestTableFitsTerminalWidth(t *testing.T) {
	one := table{title: "Clients", head: []string{"ID", "Client", "State", "File"}}
	one.add("windsurf", "Windsurf (Cascade, before the rename)", "not connected", "/home/ana/.codeium/windsurf/mcp_config.json")
	one.add("x", "X", "connected", "/x")
	widths := []int{8, 37, 13, 43}
	one.shrinkToFit(widths, 80)
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if text := strings.Join(one.rows[0], " "); total != 80 || !strings.Contains(text, "windsurf") || !strings.Contains(text, "not connected") || !strings.Contains(text, "/home/a") {
		t.Errorf("%d columns: %s", total, text)
	}
	untouched := []int{8, 37, 13, 43}
	one.shrinkToFit(untouched, 0)
	if untouched[3] != 43 {
		t.Error("a table that is piped was shortened")
	}
}
