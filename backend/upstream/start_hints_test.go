package upstream

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissingProgramShowsBlanksAndArguments(t *testing.T) {
	for command, want := range map[string][2]string{
		" /usr/bin/python3 ": {`executable not found: " /usr/bin/python3 "`, "Remove the blanks"},
		"npx -y pkg | tee":   {`executable not found: "npx -y pkg | tee"`, "put the rest into args"},
		"/opt/nosuch --flag": {`executable not found: "/opt/nosuch --flag"`, "put the rest into args"},
		"acme-mcp-nosuch":    {`executable not found: "acme-mcp-nosuch"`, "full path"},
		"/opt/nosuch":        {`executable not found: /opt/nosuch`, "Correct"},
	} {
		message, hint := core.Describe(startError(command, fmt.Errorf("%w: %s", process.ErrNotFound, command)))
		require.Equalf(t, want[0], message, "%q", command)
		require.Containsf(t, hint, want[1], "%q", command)
	}
}

func TestDockerRunThatEndsAtOnceIsToldThatInputIsMissing(t *testing.T) {
	exited := func(code int) func() (Exit, bool) { return func() (Exit, bool) { return Exit{Code: code}, true } }
	for _, c := range []struct {
		p    Process
		args string
		want bool
	}{
		{Process{Path: "/usr/bin/docker", Exit: exited(0)}, "run --rm img", true},
		{Process{Path: "/usr/bin/docker", Exit: exited(0)}, "run -i --rm img", false},
		{Process{Path: "/usr/bin/docker", Exit: exited(125)}, "run --rm img", false},
		{Process{Path: "/usr/bin/docker", Exit: func() (Exit, bool) { return Exit{}, false }}, "run img", false},
		{Process{Path: "/usr/bin/docker"}, "run img", false},
		{Process{Path: "/usr/bin/npx", Exit: exited(0)}, "run img", false},
	} {
		hint, _ := c.p.InputHint(strings.Fields(c.args))
		assert.Equalf(t, c.want, strings.Contains(hint, "-i is missing"), "%s %s", c.p.Path, c.args)
	}
}

func TestProgramThatEchoesIsExplained(t *testing.T) {
	t.Parallel()
	s := server("echo", func(s *config.Server) { s.Command, s.Env = os.Args[0], map[string]string{echoes: "1"} })
	_, err := newDialer(t).Connect(t.Context(), Request{Server: &s, Changed: func(core.Kind) {}})
	assert.ErrorContains(t, err, "the program sends back what it receives, so it is not an MCP server")
}
