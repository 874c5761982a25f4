package upstream

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var (
	corruptCacheProgram = osutil.LazyRegexp(`^sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$`) // the package is present but its program is missing
	npxCacheFolder      = osutil.LazyRegexp(`(?:[A-Za-z]:)?[/\\][^'"\n]*?[/\\]_npx[/\\][0-9a-f]{8,}`)
)

// corruptNpxCache returns the folder of the npx cache that contains a corrupt copy of the
// package, or "". npx does not verify its cache: after an interrupted download every start fails.
func corruptNpxCache(lines []string) string {
	for _, line := range lines {
		for _, sign := range []string{"ENOTEMPTY", "Cannot find module", "Cannot find package", "ERR_MODULE_NOT_FOUND", "EJSONPARSE", "ENOENT", "MODULE_NOT_FOUND", "Unexpected end of JSON"} {
			if !strings.Contains(line, sign) {
				continue
			}
			for _, l := range lines {
				if folder := npxCacheFolder().FindString(l); folder != "" {
					return folder
				}
			}
		}
		if corruptCacheProgram().MatchString(line) {
			return "the folder _npx inside the npm cache (`npm config get cache` prints its path)"
		}
	}
	return ""
}

// CacheHint returns the hint for a corrupt copy in the npx cache, or "". lines are the last lines
// of stderr.
func (p Process) CacheHint(lines []string) (string, core.Remedy) {
	if launcherName(p.Path) != "npx" {
		return "", core.Remedy{}
	}
	folder := corruptNpxCache(lines)
	if folder == "" {
		return "", core.Remedy{}
	}
	return fmt.Sprintf("The package in the npx cache may be corrupt, for example after an interrupted download: delete %s, then start the server again.", folder), core.Remedy{Kind: core.RemedyClearNpxCache, Name: folder}
}
