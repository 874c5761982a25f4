package upstream

import (
	"strings"
	"testing"
)

func TestBrokenPackageCopyIsReported(t *testing.T) {
	for printed, want := range map[string]string{
		"npm error ENOTEMPTY: directory not empty, rename '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/zod' -> '/x'":       "/root/.npm/_npx/3f84b1f5a1b2c3d4",
		"Error: Cannot find module 'zod'\nRequire stack:\n- /home/a b/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/x/dist/cli.js": "/home/a b/.npm/_npx/3f84b1f5a1b2c3d4",
		"sh: 1: mcp-server-memory: not found":                       "_npx",
		"Error: Cannot find module '/home/me/server.js'":            "",
		"started from /root/.npm/_npx/3f84b1f5a1b2c3d4 and is well": "",
	} {
		got, _ := Process{Path: "/usr/bin/npx"}.CacheHint(strings.Split(printed, "\n"))
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", printed, got)
		}
	}
}
