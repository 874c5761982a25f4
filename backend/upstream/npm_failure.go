package upstream

import (
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var (
	npmErrorPrefix = osutil.LazyRegexp(`^npm (?:error|ERR!)(?: |$)`)
	npmCode        = osutil.LazyRegexp(`^code (E?[A-Z0-9_]+)$`)
	// npmFact matches lines with details that do not help the user.
	npmFact = osutil.LazyRegexp(`^(?:syscall|errno|path|dest|code|signal|process terminated|gyp|command|cwd|stack|at|\d{3}|A complete log|Log files|    )(?: |$)`)
)

// NpmFailure returns why npm failed according to the last lines of stderr: its error code and the
// first sentence after it. It returns "" if npm has not failed.
func NpmFailure(lines []string) string {
	text, _ := npmFailure(lines)
	return text
}

func npmFailure(lines []string) (text, code string) {
	said := ""
	for _, line := range lines {
		head := npmErrorPrefix().FindString(line)
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
		return "", ""
	case code == "":
		return "npm error: " + said, ""
	case said == "":
		return "npm error code " + code, code
	}
	return fmt.Sprintf("npm error code %s: %s", code, said), code
}
