package upstream

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

func TestLauncherIsKnownByItsName(t *testing.T) {
	for command, want := range map[string]string{"/usr/bin/npx": "npx", "/home/u/.local/bin/uvx": "uvx", "bunx": "bunx", "/usr/bin/docker": "docker", "/usr/bin/node": ""} {
		if got := launcherName(command); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestImagePullIsShownUntilImageIsPresent(t *testing.T) {
	said := func(texts ...string) (lines []serverlog.Line) {
		for _, text := range texts {
			lines = append(lines, serverlog.Line{Level: serverlog.Stderr, Text: text})
		}
		return lines
	}
	for _, c := range []struct {
		lines []serverlog.Line
		want  bool
	}{
		{nil, false},
		{said("Unable to find image 'mcp/time:latest' locally", "latest: Pulling from mcp/time"), true},
		{said("Unable to find image 'mcp/time:latest' locally", "Status: Downloaded newer image for mcp/time:latest"), false},
		{append(said("Unable to find image 'mcp/time:latest' locally"), serverlog.Line{Level: serverlog.Info, Text: "starting: start 2 of 5"}), false},
	} {
		if got := isPullingImage(c.lines); got != c.want {
			t.Errorf("%v: %v", c.lines, got)
		}
	}
}
