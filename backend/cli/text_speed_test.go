package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
)

// Clients and servers write these texts. Time that grows faster than the text lets one of them block
// a command or a menu.
func TestLongTextsArePrintedInLinearTime(t *testing.T) {
	helpers := map[string]func(string){
		"truncate":      func(s string) { terminal.Truncate(s, 200) },
		"truncate long": func(s string) { terminal.Truncate(s, len(s)-1) },
		"escapeLine":    func(s string) { terminal.EscapeLine(s) },
		"serverlog":     func(s string) { serverlog.CleanJSON([]byte(s)) },
		"core.OneLine":  func(s string) { core.OneLine(s, 100) },
		"core.Shorten":  func(s string) { _ = core.Shorten(s, 100) },
		"core.Visible":  func(s string) { core.Visible(s) },
		"notification":  func(s string) { desktop.LeftToRight(desktop.SingleLine(s, 200)) },
		"wide last cell": func(s string) {
			tb := terminal.Table{Head: []string{"A", "B"}}
			tb.Add("x", s)
			_ = (&terminal.Env{Stdout: new(strings.Builder), Terminal: func() bool { return false }}).PrintTable(&tb)
		},
	}
	for _, part := range []string{"a", "世", "\u0300", " ", "\n", "\x1b", "\x1b]", "\u009d", "\u202e", "\xff", `"`} {
		for name, run := range helpers {
			timeFor := func(size int) time.Duration {
				text := strings.Repeat(part, size/len(part))
				began := time.Now()
				run(text)
				return time.Since(began)
			}
			// 1 MB takes milliseconds. What is quadratic takes hours, and 64 kB of it half a minute.
			if took := timeFor(64 << 10); took > 10*time.Second {
				t.Errorf("%s of 64 kB of %q takes %s", name, part, took)
			} else if took = timeFor(1 << 20); took > 30*time.Second {
				t.Errorf("%s of 1 MB of %q takes %s", name, part, took)
			}
		}
	}
}
