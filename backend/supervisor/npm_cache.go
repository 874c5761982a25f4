package supervisor

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/exitreason"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// npmLines is how much of stderr is read for what npm said of its failure: it says a lot
// after it, and where its own log is at last.
const npmLines = 60

var (
	missingProgram = lazyregexp.New(`^sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$`) // the package is there and its program is not
	npmCopy        = lazyregexp.New(`(?:[A-Za-z]:)?[/\\][^'"\n]*?[/\\]_npx[/\\][0-9a-f]{8,}`)
)

// brokenCopy is the folder in which npx keeps a package that cannot be run as it lies
// there, or "". npx trusts what it finds: where a download was cut off, each start fails.
func brokenCopy(lines []string) string {
	for _, line := range lines {
		for _, sign := range []string{"ENOTEMPTY", "Cannot find module", "Cannot find package", "ERR_MODULE_NOT_FOUND", "EJSONPARSE", "ENOENT", "MODULE_NOT_FOUND", "Unexpected end of JSON"} {
			if !strings.Contains(line, sign) {
				continue
			}
			for _, l := range lines {
				if folder := npmCopy().FindString(l); folder != "" {
					return folder
				}
			}
		}
		if missingProgram().MatchString(line) {
			return "the folder _npx in what `npm config get cache` prints"
		}
	}
	return ""
}

// brokenHint says what to do against a broken copy, or "".
func brokenHint(lines []string) string {
	folder := brokenCopy(lines)
	if folder == "" {
		return ""
	}
	return fmt.Sprintf("The copy of the package that npx keeps may be broken, as after a download that was cut off: remove %s, then start the server again.", folder)
}

// npmDone is how often npm is seen to have failed before its start is ended. It ends by
// itself nearly always; what keeps it is something that it started and that hangs.
const npmDone = 5

// endWhenNpmFailed ends a start whose launcher has told why it failed and does not end.
func (r *runner) endWhenNpmFailed() {
	said := ""
	if r.s.o.Fetching(r.id) == "npx" {
		said = exitreason.Npm(r.s.o.LastLines(r.id, npmLines, r.began))
	}
	if said == "" {
		r.failedFor = 0
		return
	}
	if r.failedFor++; r.failedFor >= npmDone {
		r.giveUp(&core.Error{Code: core.CodeUnavailable, Message: said, Retriable: true})
	}
}
