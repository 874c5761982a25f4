package supervisor

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/exitreason"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// maxNpmLines is the number of stderr lines that are searched for npm's error. npm prints many
// lines after it, the path of its log last.
const maxNpmLines = 60

var (
	missingProgram = lazyregexp.New(`^sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$`) // the package is present but its program is missing
	npxCacheFolder = lazyregexp.New(`(?:[A-Za-z]:)?[/\\][^'"\n]*?[/\\]_npx[/\\][0-9a-f]{8,}`)
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
		if missingProgram().MatchString(line) {
			return "the folder _npx inside the npm cache (`npm config get cache` prints its path)"
		}
	}
	return ""
}

// npxCacheHint returns the hint for a corrupt copy in the npx cache, or "".
func npxCacheHint(lines []string) string {
	folder := corruptNpxCache(lines)
	if folder == "" {
		return ""
	}
	return fmt.Sprintf("The package in the npx cache may be corrupt, for example after an interrupted download: delete %s, then start the server again.", folder)
}

// npmFailedLimit is after how many progress checks in a row with an npm error the start is
// aborted. npm usually exits by itself, unless a child process hangs.
const npmFailedLimit = 5

// endWhenNpmFailed aborts a start if npm has printed its error but does not exit.
func (r *runner) endWhenNpmFailed() {
	npmError := ""
	if r.s.o.Fetching(r.id) == "npx" {
		npmError = exitreason.Npm(r.s.o.LastLines(r.id, maxNpmLines, r.startedAt))
	}
	if npmError == "" {
		r.npmFailedChecks = 0
		return
	}
	if r.npmFailedChecks++; r.npmFailedChecks >= npmFailedLimit {
		r.abortStartWith(&core.Error{Code: core.CodeUnavailable, Message: npmError, Retriable: true})
	}
}
