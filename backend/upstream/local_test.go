package upstream

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"

	"github.com/stretchr/testify/assert"
)

func TestLauncherIsKnownByItsName(t *testing.T) {
	for command, want := range map[string]string{"/usr/bin/npx": "npx", "/home/u/.local/bin/uvx": "uvx", "bunx": "bunx", "/usr/bin/docker": "docker", "/usr/bin/node": ""} {
		assert.Equal(t, want, launcherName(command), command)
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
		assert.Equal(t, c.want, isPullingImage(c.lines), c.lines)
	}
}

func TestBrokenPackageCopyIsReported(t *testing.T) {
	for printed, want := range map[string]string{
		"npm error ENOTEMPTY: directory not empty, rename '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/zod' -> '/x'":       "/root/.npm/_npx/3f84b1f5a1b2c3d4",
		"Error: Cannot find module 'zod'\nRequire stack:\n- /home/a b/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/x/dist/cli.js": "/home/a b/.npm/_npx/3f84b1f5a1b2c3d4",
		"sh: 1: mcp-server-memory: not found":                       "_npx",
		"Error: Cannot find module '/home/me/server.js'":            "",
		"started from /root/.npm/_npx/3f84b1f5a1b2c3d4 and is well": "",
	} {
		got, _ := Process{Path: "/usr/bin/npx"}.CacheHint(strings.Split(printed, "\n"))
		assert.Equalf(t, want == "", got == "", "%q", printed)
		assert.Containsf(t, got, want, "%q", printed)
	}
}
