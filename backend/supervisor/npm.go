package supervisor

import (
	"fmt"
	"strings"

	"drawbridge/backend/hub"
	"drawbridge/backend/pattern"
)

// npmLines is how much of stderr is read for what npm said of its failure: it says a lot
// after it, and where its own log is at last.
const npmLines = 60

var (
	npmError = pattern.Lazily(`^npm (?:error|ERR!)(?: |$)`)
	npmCode  = pattern.Lazily(`^code (E?[A-Z0-9_]+)$`)
	// npmFact is a line that a person cannot use: the error as a table.
	npmFact        = pattern.Lazily(`^(?:syscall|errno|path|dest|code|signal|process terminated|gyp|command|cwd|stack|at|\d{3}|A complete log|Log files|    )(?: |$)`)
	missingProgram = pattern.Lazily(`^sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$`) // the package is there and its program is not
	npmCopy        = pattern.Lazily(`(?:[A-Za-z]:)?[/\\][^'"\n]*?[/\\]_npx[/\\][0-9a-f]{8,}`)
)

// npmSaid is why npm failed, out of the last lines of stderr: its code and the first
// sentence after it. "" means that it has not failed.
func npmSaid(lines []string) string {
	code, said := "", ""
	for _, line := range lines {
		head := npmError().FindString(line)
		if head == "" {
			continue
		}
		text := strings.TrimSpace(line[len(head):])
		if c := npmCode().FindStringSubmatch(text); c != nil {
			code, said = c[1], ""
			continue
		}
		if status, rest, ok := strings.Cut(text, " "); ok && len(status) == 3 && strings.Trim(status, "0123456789") == "" {
			text = strings.TrimSpace(rest) // 404 Not Found - GET ...
		}
		if said == "" && text != "" && !npmFact().MatchString(text) {
			said = text
		}
	}
	switch {
	case code == "" && said == "":
		return ""
	case code == "":
		return "npm error: " + said
	case said == "":
		return "npm error code " + code
	}
	return fmt.Sprintf("npm error code %s: %s", code, said)
}

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

// noteNpm tells of npm's failure in its own words, and what to do against a broken copy.
func (r *runner) noteNpm() {
	lines := r.s.o.LastLines(r.id, npmLines, r.began)
	if said := npmSaid(lines); said != "" {
		r.detail = said
	}
	if hint := brokenHint(lines); hint != "" {
		r.hint = hint
	}
}

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
		said = npmSaid(r.s.o.LastLines(r.id, npmLines, r.began))
	}
	if said == "" {
		r.failedFor = 0
		return
	}
	if r.failedFor++; r.failedFor >= npmDone {
		r.giveUp(&hub.Error{Code: hub.CodeUnavailable, Message: said, Retriable: true})
	}
}
