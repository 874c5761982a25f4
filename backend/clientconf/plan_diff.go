package clientconf

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

const diffContext = 3

// Patterns of secrets, recognized by their form or, in TOML and YAML, by the name before
// them.
var (
	// The union of the patterns of imports and of the call history.
	secretText = lazyregexp.New(`\b(?:dbr_|gh[pousr]_|github_pat_|sk-|xox[abeprs]-|glpat-|AKIA)[A-Za-z0-9_-]{4,}` +
		`|\b(?:glptt-|sk_live_|sk_test_|rk_live_|whsec_|xapp-|ASIA|AIza|GOCSPX-|npm_|pypi-|hf_|shpat_|shpss_|dop_v1_|ntn_|lin_api_|figd_|AGE-SECRET-KEY-)[A-Za-z0-9_-]{12,}` +
		`|\bsecret_[A-Za-z0-9_-]{32,}|\b(?:ya29|SG)\.[A-Za-z0-9_.-]{12,}|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+|-----BEGIN .*|(?i:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	secretLine = lazyregexp.New(`(?i)^(\s*(?:- )?[\w."'-]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[\w."'-]*\s*[:=]\s*)([^\s\[{].*)$`)
)

// secretMember matches "key": "value" if the name of the key indicates a secret.
var secretMember = lazyregexp.New(`(?i)("[^"]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[^"]*"\s*[:=]\s*)"(?:[^"\\]|\\.)*"`)

// secretAssignment matches NAME=value or a header within a string, and secretFlag the argument
// after a flag, if the name indicates a secret.
var (
	secretAssignment = lazyregexp.New(`(?i)("[^"\s\\]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[\w.-]*(?:=|:\s+))((?:[^"\\]|\\.)+)"|('[^'\s]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[\w.-]*(?:=|:\s+))([^']+)'`)
	secretFlag       = lazyregexp.New(`(?i)(["']--?[^"'\s=]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[^"'\s=]*["']\s*,\s*)("(?:[^"\\]|\\.)*"|'[^']*')`)
)

// flagLine matches a line that ends with a flag, and valueLine one that begins with the value
// of a flag: lists are often written with one item per line.
var (
	flagLine  = lazyregexp.New(`(?:^\s*- |["'])--?([^"'\s=]+)["']?\s*,?\s*$`)
	valueLine = lazyregexp.New(`^\s*(?:- )?(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:[,\]#]|$)|^\s*- ([^\s"'\[\]{}].*)$`)
)

// referenceOnly matches a value that consists of nothing but a reference in our syntax.
var referenceOnly = lazyregexp.New(`^"(?:[A-Za-z]+ )?\$\{(?:secret:)?[A-Za-z0-9._/@-]+\}"$`)

// Diff returns a unified diff of two versions of a file, with secrets masked.
func Diff(path string, before, after []byte) string { return diff(path, before, after) }

// MaskSecrets returns the text of a configuration with secrets masked as in Diff.
func MaskSecrets(text []byte) string {
	all := splitLines(text)
	return strings.Join(maskLines(all, 0, len(all)), "\n")
}

// maskLines returns the lines all[from:to] with secrets masked. A value may be on the line after
// its flag.
func maskLines(all []string, from, to int) []string {
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		line := strings.TrimRight(all[i], "\r")
		if i > 0 {
			if m := flagLine().FindStringSubmatch(strings.TrimRight(all[i-1], "\r")); m != nil && namesSecret(m[1]) {
				line = maskFirstValue(line)
			}
		}
		out = append(out, maskLine(line))
	}
	return out
}

// maskFirstValue masks the first value of a line, unless it is another flag or a reference.
func maskFirstValue(line string) string {
	m := valueLine().FindStringSubmatchIndex(line)
	if m == nil {
		return line
	}
	for group := 2; group < len(m); group += 2 {
		from, to := m[group], m[group+1]
		if from < 0 || from == to || line[from] == '-' || referenceOnly().MatchString(`"`+line[from:to]+`"`) {
			continue
		}
		return line[:from] + "***" + line[to:]
	}
	return line
}

// diff returns the difference between before and after as a unified diff with one hunk and
// secrets masked. Our changes are in one place, so one hunk is always enough.
func diff(path string, before, after []byte) string {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return ""
	}
	from := max(0, head-diffContext)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", path, path,
		from+1, min(len(a), len(a)-tail+diffContext)-from, from+1, min(len(b), len(b)-tail+diffContext)-from)
	write := func(mark string, all []string, from, to int) {
		for _, line := range maskLines(all, from, to) {
			out.WriteString(mark + line + "\n")
		}
	}
	write(" ", a, from, head)
	write("-", a, head, len(a)-tail)
	write("+", b, head, len(b)-tail)
	write(" ", a, len(a)-tail, min(len(a), len(a)-tail+diffContext))
	return out.String()
}

// maskLine masks the secrets of a line and keeps the quotes around them.
func maskLine(line string) string {
	found := false
	// hide masks value unless it is a reference, which reveals nothing about the secret.
	hide := func(value string) string {
		found = true
		if referenceOnly().MatchString(`"` + value + `"`) {
			return value
		}
		return "***"
	}
	for _, p := range []*regexp.Regexp{secretMember(), secretFlag()} {
		line = p.ReplaceAllStringFunc(line, func(member string) string {
			before := p.FindStringSubmatch(member)[1]
			quoted := member[len(before):]
			return before + quoted[:1] + hide(quoted[1:len(quoted)-1]) + quoted[:1]
		})
	}
	line = secretAssignment().ReplaceAllStringFunc(line, func(text string) string {
		m := secretAssignment().FindStringSubmatch(text)
		return m[1] + m[3] + hide(m[2]+m[4]) + text[:1]
	})
	if !found {
		line = secretLine().ReplaceAllString(line, `$1***`)
	}
	return maskValues(secretText().ReplaceAllString(line, "***"))
}

func splitLines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
