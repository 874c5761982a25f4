package upstream

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// MaxLines is the number of last lines of stderr that DecisiveLine examines. A usage text or a stack
// trace may follow the decisive line.
const MaxLines = 200

// maxText is the maximum length of the result of DecisiveLine, in characters.
const maxText = 300

// Scores of lines. The line with the highest score wins; among equal scores the first one. Only
// symptoms are taken from the end, because the program continued after the earlier ones.
const (
	scoreSymptom  = 1 // a line without signs of a failure
	scorePhrase   = 3 // "... is required", "not found"
	scoreError    = 5 // "Error: ...", "[ERROR] ..."
	scoreUncaught = 9 // an exception, panic or error that ended the program
	bonusVariable = 1 // the line names an environment variable
)

var (
	logPrefix    = osutil.LazyRegexp(`^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?\]?(?:\s+[-|])?\s*`)
	loggerName   = osutil.LazyRegexp(`^(?:[\w.$-]+\s+[-|:]\s+)?\[?\b(?i:(error|fatal|critical|severe|warn|warning|info|debug|trace|notice))\b\]?\s*[-|:]?\s+`)
	logfmt       = osutil.LazyRegexp(`\blevel=(\w+)\b.*?\bmsg=("(?:[^"\\]|\\.)*"|\S+)`)
	errorHead    = osutil.LazyRegexp(`^(?:\W*)(?i:error|fatal(?: error)?|panic|failed|failure)\b(?: \[\w+\])?[^:]{0,60}:\s*\S|(?i:: (?:fatal )?error: )|^docker: |^Error response from daemon|^(?:node|python\S*|\S*/python\S*|java|ruby|deno|bun): |^Can't locate |^npm (?:error|ERR!) `)
	exception    = osutil.LazyRegexp(`^(?:Uncaught |Unhandled exception\. |Exception in thread "[^"]*" |error: Uncaught (?:\(in promise\) )?)?(?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Rejection|Failure|Exit|Group)(?: \[\w+\])?(?:: |:?$)`)
	goPanic      = osutil.LazyRegexp(`^(?:panic: |fatal error: |FATAL ERROR: |unexpected fault address|runtime: )`)
	rustPanic    = osutil.LazyRegexp(`^thread '[^']*'(?: \(\d+\))? panicked at (.*)$`)
	phrases      = osutil.LazyRegexp(`(?i)\b(?:is required|are required|required|must be|must provide|missing|not set|not provided|was provided|no such|not found|not defined|please (?:set|provide|specify)|can(?:not|'t|’t)|could not|couldn't|unable to|failed|invalid|unknown (?:options?|flags?|arguments?|commands?|transport)|no solution found|unrecognized|unexpected|denied|refused|already in use|in use|unauthori[sz]ed|expired|not recognized|not a valid|does not exist|not exist|no .{0,20}(?:key|token|credentials)|killed|out of memory|unsupported|not supported|EACCES|ENOENT|EADDRINUSE|ECONNREFUSED|ENOTFOUND|ERR_\w+)\b`)
	usageHead    = osutil.LazyRegexp(`(?i)^(?:usage|options|flags|commands|examples?|arguments|positional arguments|environment variables)\b.{0,12}:`)
	optionLine   = osutil.LazyRegexp(`^\s+-{1,2}[A-Za-z]`)
	noise        = osutil.LazyRegexp(`^\s*at .+|^\s*File ".*", line \d+|^Node\.js v\d|^\(Use .node |^node:\w|^goroutine \d+|^created by |^\[signal |^exit status \d|^\s*\S+\.go:\d+|^\S+\(.*0x[0-9a-f]+|^note: |^stack backtrace|^npm (?:warn|WARN|notice|info|verb|http|timing|sill)\b|A complete log of this run|^Require stack:|^- /|^\s+(?:code|errno|syscall|path|address|port|host|hostname|requireStack|issues|spawnargs|cause)\b?: |^Unable to find image |^Caused by: |^During handling of the above|^The above exception was|^\[notice\]|^Debugger |^Emitted |^\.{3} \d+ more|^BEGIN failed|^\s*<---|^\s*"\w+": `)
	helpPointer  = osutil.LazyRegexp(`(?i)--help\b|\bfor more (?:information|help|details)\b|^see '`)
	warning      = osutil.LazyRegexp(`(?i)^(?:\(node:\d+\) )?(?:\[?\w*warn(?:ing)?\b|\[?deprecat|\S+Warning: )|DeprecationWarning|ExperimentalWarning`)
	sourceAt     = osutil.LazyRegexp(`^(?:node:|file://|/|[A-Za-z]:\\|<anonymous_script>).*:\d+$`)
	caret        = osutil.LazyRegexp(`^\s*[~^]+\s*$`)
	groupMargin  = osutil.LazyRegexp(`^\s*[|+](?:[-+| ]*\| )?[-+ ]*`)
	levelStamp   = osutil.LazyRegexp(`^\[\w+ \d{4}-\d\d-\d\d[T ][\d:.,]+Z?\]\s*`)
	plainError   = osutil.LazyRegexp(`^(?:Uncaught )?Error(?: \[\w+\])?: `)
	stackFrame   = osutil.LazyRegexp(`^\s+at `)
	rejected     = osutil.LazyRegexp(`rejected with the reason "(.*)"\.?$`)
	variableName = osutil.LazyRegexp(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
)

// candidate is a line that may be the reason.
type candidate struct {
	text  string
	score int
}

// DecisiveLine returns the line of a program's stderr (oldest line first) that best explains its exit,
// without time stamp, stack trace, usage text or decoration, and at most 300 characters long. It
// returns "" if no line explains anything.
func DecisiveLine(lines []string) string { return decide(lines).text }

// Explain returns the text of an exit with the decisive line of stderr. A line that is no sign of a
// failure is not presented as the cause, and neither is one that is no error if a signal ended the
// program. isCause reports whether the line is presented as the cause; see Advice.
func Explain(exit string, bySignal bool, lines []string) (reason, line string, isCause bool) {
	c, least := decide(lines), scorePhrase
	if bySignal {
		least = scoreError
	}
	switch isCause = c.score >= least; {
	case c.text == "":
		return exit, "", false
	case isCause:
		return exit + ": " + c.text, c.text, true
	}
	return exit + "; last output: " + c.text, c.text, false
}

// decide returns the decisive line, at most maxText characters long.
func decide(lines []string) candidate {
	lines = lines[max(0, len(lines)-MaxLines):]
	said, code := npmFailure(lines)
	if strings.ContainsFunc(code, unicode.IsLetter) {
		return candidate{core.OneLine(said, maxText), scoreError} // npm failed before it started the program
	}
	r := reader{lines: lines}
	best := r.best()
	if said != "" && best.score < scoreUncaught {
		return candidate{core.OneLine(said, maxText), scoreError}
	}
	return candidate{core.OneLine(best.text, maxText), best.score}
}

// reader iterates over the lines of one failure.
type reader struct {
	lines   []string
	pos     int // the next line
	inUsage bool
}

func (r *reader) best() (best candidate) {
	for r.pos < len(r.lines) {
		c := r.next()
		switch {
		case c.text == "":
		case c.score > best.score, c.score == best.score && c.score <= scoreSymptom+bonusVariable:
			best = c
		}
	}
	return best
}

// next reads one line, or a multi-line block of a known runtime.
func (r *reader) next() candidate {
	raw := r.lines[r.pos]
	r.pos++
	if strings.HasSuffix(raw, "Traceback (most recent call last):") {
		r.inUsage = false
		return r.traceback()
	}
	if m := rustPanic().FindStringSubmatch(raw); m != nil {
		if strings.HasPrefix(m[1], "'") || r.pos == len(r.lines) { // format before Rust 1.73
			return candidate{strings.TrimSpace(m[1]), scoreUncaught}
		}
		r.pos++
		return candidate{strings.TrimSpace(r.lines[r.pos-1]), scoreUncaught}
	}
	if sourceAt().MatchString(raw) && r.skipSource() {
		return candidate{}
	}
	text := stripDecoration(raw)
	switch {
	case text == "":
		return candidate{}
	case usageHead().MatchString(text):
		r.inUsage = true
		return candidate{}
	case r.inUsage && (optionLine().MatchString(raw) || unicode.IsSpace(rune(raw[0]))), noise().MatchString(raw), helpPointer().MatchString(text), warning().MatchString(text):
		return candidate{}
	}
	return r.score(text)
}

func (r *reader) score(text string) candidate {
	text, level := parseLogLine(text)
	c := candidate{text: text, score: scoreSymptom}
	switch {
	case level == "quiet":
		return candidate{text: text, score: 0}
	case rejected().MatchString(text):
		return candidate{"unhandled rejection: " + rejected().FindStringSubmatch(text)[1], scoreUncaught}
	case exception().MatchString(text), goPanic().MatchString(text), plainError().MatchString(text) && r.stackTraceFollows():
		c = candidate{r.withDetails(text), scoreUncaught}
	case level == "error", errorHead().MatchString(text):
		c = candidate{r.withDetails(text), scoreError}
	case phrases().MatchString(text):
		c = candidate{r.withDetails(text), scorePhrase}
	case strings.HasSuffix(strings.TrimRight(text, "[{ "), ":") && strings.Contains(strings.ToLower(text), "error"):
		c = candidate{r.withDetails(text), scoreError}
	}
	if c.score < scoreUncaught && variableName().MatchString(c.text) {
		c.score += bonusVariable
	}
	return c
}

func (r *reader) stackTraceFollows() bool {
	return slices.ContainsFunc(r.lines[r.pos:min(len(r.lines), r.pos+20)], stackFrame().MatchString)
}

// traceback reads a Python traceback: the frames are indented, and the exception follows them. Of
// several chained exceptions the last one ended the program.
func (r *reader) traceback() candidate {
	for ; r.pos < len(r.lines); r.pos++ {
		line := r.lines[r.pos]
		margin := groupMargin().FindString(line)
		if margin != "" {
			line = strings.TrimPrefix(line, strings.TrimRight(margin, " "))
			line = strings.TrimPrefix(line, " ")
		}
		if line == "" || unicode.IsSpace(rune(line[0])) {
			continue
		}
		r.pos++
		if rest := strings.Join(r.lines[r.pos:], "\n"); strings.Contains(rest, "Traceback (most recent call last):") {
			return candidate{} // another exception is chained to it
		}
		return candidate{r.withDetails(strings.TrimSpace(line)), scoreUncaught}
	}
	return candidate{}
}

// skipSource skips the source line that a runtime prints above a caret.
func (r *reader) skipSource() bool {
	for i := r.pos; i < min(r.pos+4, len(r.lines)); i++ {
		if caret().MatchString(r.lines[i]) {
			r.pos = i + 1
			return true
		}
	}
	return false
}

var (
	jsonMessage = osutil.LazyRegexp(`^\s*"?message"?: ["'](.*?)["'],?$`)
	jsonPath    = osutil.LazyRegexp(`^\s*["']([^"']+)["'],?$`)
	pydantic    = osutil.LazyRegexp(`^(?:[\w.]+: )?\d+ validation errors? for `)
	pydanticTag = osutil.LazyRegexp(` \[type=.*$`)
	causeLine   = osutil.LazyRegexp(`^\s*\[cause\]: (?:\w*Error(?: \[\w+\])?: )?(.+?)(?: \{)?$`)
)

// withDetails appends to text the details that only the following lines contain.
func (r *reader) withDetails(text string) string {
	below := r.lines[r.pos:min(len(r.lines), r.pos+30)]
	switch {
	case strings.HasSuffix(text, "[") || strings.HasSuffix(text, "{"):
		path, message := "", ""
		for _, line := range below {
			if m := jsonMessage().FindStringSubmatch(line); m != nil {
				message = m[1]
				break
			}
			if m := jsonPath().FindStringSubmatch(line); m != nil {
				path = m[1] + ": "
			}
		}
		if message != "" {
			return strings.TrimRight(text, "[{ ") + " " + path + message
		}
	case pydantic().MatchString(text) && len(below) > 1:
		return text + ": " + strings.TrimSpace(below[0]) + ": " + pydanticTag().ReplaceAllString(strings.TrimSpace(below[1]), "")
	case strings.HasSuffix(text, ":"):
		for _, line := range below {
			if more := stripDecoration(line); more != "" {
				if noise().MatchString(line) {
					break
				}
				return text + " " + more
			}
		}
	}
	for _, line := range below {
		if m := causeLine().FindStringSubmatch(line); m != nil {
			return text + ": " + m[1]
		}
		if exception().MatchString(line) {
			break
		}
	}
	return text
}

// stripDecoration returns a line without the frame, bullet or symbol around it, or "" if it
// contains no letters.
func stripDecoration(line string) string {
	text := strings.TrimFunc(line, func(c rune) bool {
		return unicode.IsSpace(c) || c == '|' || c == '*' || c == '=' || c == '•' || c == '×' || c == '\ufe0f' || unicode.Is(unicode.So, c) || c >= 0x2500 && c <= 0x259f
	})
	if !strings.ContainsFunc(text, unicode.IsLetter) {
		return ""
	}
	return text
}

// parseLogLine returns the message of a log line, and its level: "error", "quiet" for levels that
// report no failure, or "" if unknown.
func parseLogLine(text string) (message, level string) {
	text = levelStamp().ReplaceAllString(logPrefix().ReplaceAllString(text, ""), "")
	if strings.HasPrefix(text, "{") {
		var record struct {
			Level   any    `json:"level"`
			Msg     string `json:"msg"`
			Message string `json:"message"`
			Error   any    `json:"error"`
		}
		if json.Unmarshal([]byte(text), &record) == nil && record.Msg+record.Message != "" {
			text = record.Msg + record.Message
			if cause, ok := record.Error.(string); ok && cause != "" {
				text += ": " + cause
			}
			switch v := record.Level.(type) {
			case string:
				level = logLevel(v)
			case float64: // numeric levels of pino
				level = map[bool]string{true: "error", false: "quiet"}[v >= 50]
			}
			return text, level
		}
	}
	if m := logfmt().FindStringSubmatch(text); m != nil {
		return strings.Trim(m[2], `"`), logLevel(m[1])
	}
	if goPanic().MatchString(text) {
		return text, ""
	}
	if m := loggerName().FindStringSubmatchIndex(text); m != nil {
		name := text[m[2]:m[3]]
		bare := m[0] == m[2] && !strings.Contains(text[m[3]:m[1]], ":") && !strings.ContainsAny(text[m[3]:m[1]], "-|")
		if bare && name != strings.ToUpper(name) {
			return text, "" // the beginning of a sentence
		}
		if level = logLevel(name); level == "error" && m[0] == m[2] && strings.Contains(text[m[3]:m[1]], ":") {
			return text, level // "ERROR: ..." needs no change
		}
		return strings.TrimSpace(text[m[1]:]), level
	}
	return text, ""
}

func logLevel(level string) string {
	switch strings.ToLower(level) {
	case "error", "fatal", "critical", "severe", "panic", "emerg", "alert":
		return "error"
	}
	return "quiet"
}

// variableNames returns the environment variables that text names, in order of appearance.
func variableNames(text string) (names []string) {
	for _, name := range variableName().FindAllString(text, -1) {
		if !strings.HasPrefix(name, "ERR_") && !strings.HasSuffix(name, "_NOT_FOUND") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func lastGroup(re func() *regexp.Regexp, text string) string {
	if m := re().FindStringSubmatch(text); m != nil {
		return m[len(m)-1]
	}
	return ""
}
