package supervisor

import (
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

// maxNpmLines is the number of stderr lines that are searched for npm's error. npm prints many
// lines after it, the path of its log last.
const maxNpmLines = 60

// npmFailedLimit is after how many progress checks in a row with an npm error the start is
// aborted. npm usually exits by itself, unless a child process hangs.
const npmFailedLimit = 5

// endWhenNpmFailed aborts a start if npm has printed its error but does not exit.
func (r *runner) endWhenNpmFailed() {
	npmError := ""
	if r.s.o.DownloadingLauncher(r.id) == "npx" {
		npmError = upstream.NpmFailure(r.s.o.LastLines(r.id, maxNpmLines, r.startedAt))
	}
	if npmError == "" {
		r.npmFailedChecks = 0
		return
	}
	if r.npmFailedChecks++; r.npmFailedChecks >= npmFailedLimit {
		r.abortStartWith(&core.Error{Code: core.CodeUnavailable, Message: npmError, Retriable: true})
	}
}
