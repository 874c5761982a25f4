package clientconf

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

const diffContext = 3

// What is secret by its form, or by the name before it in TOML and YAML.
var (
	// The shapes are those of an import and of the history together.
	secretText = lazyregexp.New(`\b(?:dbr_|gh[pousr]_|github_pat_|sk-|xox[abeprs]-|glpat-|AKIA)[A-Za-z0-9_-]{4,}` +
		`|\b(?:glptt-|sk_live_|sk_test_|rk_live_|whsec_|xapp-|ASIA|AIza|GOCSPX-|npm_|pypi-|hf_|shpat_|shpss_|dop_v1_|ntn_|lin_api_|figd_|AGE-SECRET-KEY-)[A-Za-z0-9_-]{12,}` +
		`|\bsecret_[A-Za-z0-9_-]{32,}|\b(?:ya29|SG)\.[A-Za-z0-9_.-]{12,}|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+|-----BEGIN .*|(?i:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	secretLine = lazyregexp.New(`(?i)^(\s*(?:- )?[\w."'-]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[\w."'-]*\s*[:=]\s*)([^\s\[{].*)$`)
)

// secretMember finds "key": "value" where the key's name says that the value is secret.
var secretMember = lazyregexp.New(`(?i)("[^"]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[^"]*"\s*[:=]\s*)"(?:[^"\\]|\\.)*"`)

// secretInside finds NAME=value, or a header, within a string, and secretNext the argument
// behind a flag, where the name says that the value is secret.
var (
	secretInside = lazyregexp.New(`(?i)("[^"\s\\]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[\w.-]*(?:=|:\s+))((?:[^"\\]|\\.)+)"|('[^'\s]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[\w.-]*(?:=|:\s+))([^']+)'`)
	secretNext   = lazyregexp.New(`(?i)(["']--?[^"'\s=]*(?:token|secret|password|passwd|api[-_]?key|authorization|credential)[^"'\s=]*["']\s*,\s*)("(?:[^"\\]|\\.)*"|'[^']*')`)
)

// flagLine is a line that ends with a flag, and valueLine one that begins with what
// belongs to it: a list is often written with an item on each line.
var (
	flagLine  = lazyregexp.New(`(?:^\s*- |["'])--?([^"'\s=]+)["']?\s*,?\s*$`)
	valueLine = lazyregexp.New(`^\s*(?:- )?(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:[,\]#]|$)|^\s*- ([^\s"'\[\]{}].*)$`)
)

// onlyRef is a value that is a reference, as we write it, and nothing more.
var onlyRef = lazyregexp.New(`^"(?:[A-Za-z]+ )?\$\{(?:secret:)?[A-Za-z0-9._/@-]+\}"$`)

// Diff shows what changes between two texts of a file, with secrets masked.
func Diff(path string, before, after []byte) string { return diff(path, before, after) }

// Masked is a text of a configuration with secrets masked as in a Diff.
func Masked(text []byte) string {
	all := lines(text)
	return strings.Join(masked(all, 0, len(all)), "\n")
}

// masked are the lines from one to another with secrets masked; a value may stand on the
// line after its flag.
func masked(all []string, from, to int) []string {
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		line := strings.TrimRight(all[i], "\r")
		if i > 0 {
			if m := flagLine().FindStringSubmatch(strings.TrimRight(all[i-1], "\r")); m != nil && namesSecret(m[1]) {
				line = maskValue(line)
			}
		}
		out = append(out, mask(line))
	}
	return out
}

// maskValue takes the first value out of a line, unless it is the next flag or a reference.
func maskValue(line string) string {
	m := valueLine().FindStringSubmatchIndex(line)
	if m == nil {
		return line
	}
	for group := 2; group < len(m); group += 2 {
		from, to := m[group], m[group+1]
		if from < 0 || from == to || line[from] == '-' || onlyRef().MatchString(`"`+line[from:to]+`"`) {
			continue
		}
		return line[:from] + "***" + line[to:]
	}
	return line
}

// diff shows what changes between before and after as a unified diff of one hunk,
// with secrets masked. Our changes touch one place, so one hunk is always enough.
func diff(path string, before, after []byte) string {
	a, b := lines(before), lines(after)
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
		for _, line := range masked(all, from, to) {
			out.WriteString(mark + line + "\n")
		}
	}
	write(" ", a, from, head)
	write("-", a, head, len(a)-tail)
	write("+", b, head, len(b)-tail)
	write(" ", a, len(a)-tail, min(len(a), len(a)-tail+diffContext))
	return out.String()
}

// mask takes the secrets out of a line, and leaves the quotes around them.
func mask(line string) string {
	found := false
	// hide masks value, but for a reference: that says where the secret is, and nothing of it.
	hide := func(value string) string {
		found = true
		if onlyRef().MatchString(`"` + value + `"`) {
			return value
		}
		return "***"
	}
	for _, p := range []*regexp.Regexp{secretMember(), secretNext()} {
		line = p.ReplaceAllStringFunc(line, func(member string) string {
			before := p.FindStringSubmatch(member)[1]
			quoted := member[len(before):]
			return before + quoted[:1] + hide(quoted[1:len(quoted)-1]) + quoted[:1]
		})
	}
	line = secretInside().ReplaceAllStringFunc(line, func(text string) string {
		m := secretInside().FindStringSubmatch(text)
		return m[1] + m[3] + hide(m[2]+m[4]) + text[:1]
	})
	if !found {
		line = secretLine().ReplaceAllString(line, `$1***`)
	}
	return maskWords(secretText().ReplaceAllString(line, "***"))
}

func lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
