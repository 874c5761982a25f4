package supervisor

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// A notice that a command changed from itself to itself would say nothing.
func TestCommandChangeNamesWhatDiffers(t *testing.T) {
	old := config.Server{Command: "npx", Args: []string{"files"}, Cwd: "/a", Env: map[string]string{"KEY": "old secret", "GONE": ""}}
	for want, change := range map[string]func(c *config.Server){
		"npx files is now npx notes":                            func(c *config.Server) { c.Args = []string{"notes"} },
		"cwd /a is now /b":                                      func(c *config.Server) { c.Cwd = "/b" },
		"cwd /a is now unset; variable GONE is gone":            func(c *config.Server) { c.Cwd, c.Env = "", map[string]string{"KEY": "old secret"} },
		"variable KEY is new or has another value":              func(c *config.Server) { c.Env = map[string]string{"KEY": "new secret", "GONE": ""} },
		"its inherited variables, accounts or container differ": func(c *config.Server) { c.InheritEnv = []string{"A"} },
	} {
		c := old
		if change(&c); commandChange(&old, &c) != want {
			t.Errorf("got %q, want %q", commandChange(&old, &c), want)
		}
	}
}
