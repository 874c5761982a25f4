package redact

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

var (
	quotedString = osutil.LazyRegexp(`"(?:[^"\\]|\\.)*"|'[^']*'`)
	// bareKey matches an unquoted name before a value, in TOML and YAML.
	bareKey = osutil.LazyRegexp(`([A-Za-z0-9_.-]+)\s*[=:]\s*$`)
	// plainValue matches a line with an unquoted value: key: value, "key": 1, key = 1, - value.
	plainValue = osutil.LazyRegexp(`^\s*(?:- )?(?:"([^"]+)"\s*:\s*|([A-Za-z0-9_.-]+)(?::\s+|\s*=\s*))?([^\s"'\[\]{}#&*!|>,:=][^"']*)$`)
	// flagLine matches a line that ends with a flag, and valueLine one that begins with the value
	// of a flag: lists are often written with one item per line.
	flagLine  = osutil.LazyRegexp(`(?:^\s*- |["'])--?([^"'\s=]+)["']?\s*,?\s*$`)
	valueLine = osutil.LazyRegexp(`^\s*(?:- )?(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:[,\]#]|$)|^\s*- ([^\s"'\[\]{}].*)$`)
	// credentials matches an authentication scheme with its credentials.
	credentials = osutil.LazyRegexp(`(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	// onlyReference matches a value that consists of nothing but a reference in our syntax.
	onlyReference = osutil.LazyRegexp(`^(?:[A-Za-z]+ )?\$\{(?:secret:)?[A-Za-z0-9._/@-]+\}$`)
)

// isReference reports whether a value is only a reference, which reveals nothing about a secret.
func isReference(value string) bool { return onlyReference().MatchString(value) }

// Lines returns lines[from:to] of a configuration file in JSON, TOML or YAML with secrets replaced
// by "***". The lines before them matter: they may contain the flag of a value, or the start of a
// private key.
func Lines(lines []string, from, to int) []string {
	out := make([]string, 0, to-from)
	inKey := false // within a private key
	for i, line := range lines[:to] {
		line = strings.TrimRight(line, "\r")
		ends := strings.Contains(line, "-----END ")
		if i >= from {
			out = append(out, maskLineAfter(lines[max(0, i-1)], i > 0, line, inKey))
		}
		if at := strings.LastIndex(line, pemPrefix); at >= 0 {
			inKey = strings.Contains(line[at:], "PRIVATE KEY") && !ends
		} else if ends {
			inKey = false
		}
	}
	return out
}

func maskLineAfter(previous string, hasPrevious bool, line string, inKey bool) string {
	if inKey {
		return line[:len(line)-len(strings.TrimLeft(line, " \t"))] + "***"
	}
	if hasPrevious {
		if m := flagLine().FindStringSubmatch(strings.TrimRight(previous, "\r")); m != nil && namesConfigSecret(m[1]) {
			line = maskFirstValue(line)
		}
	}
	return maskLine(line)
}

// maskFirstValue masks the first value of a line, unless it is another flag or a reference.
func maskFirstValue(line string) string {
	m := valueLine().FindStringSubmatchIndex(line)
	if m == nil {
		return line
	}
	for group := 2; group < len(m); group += 2 {
		from, to := m[group], m[group+1]
		if from < 0 || from == to || line[from] == '-' || isReference(line[from:to]) {
			continue
		}
		return line[:from] + "***" + line[to:]
	}
	return line
}

// maskLine masks the secrets of a line and keeps the quotes around them.
func maskLine(line string) string {
	return credentials().ReplaceAllString(replaceTokens(maskValues(line), true, func(string) string { return "***" }), "***")
}

// maskValues masks each value of a line that is secret by the name before it or by its own form.
// Text other than quoted values and plain YAML values is not changed.
func maskValues(line string) string {
	if m := plainValue().FindStringSubmatchIndex(line); m != nil {
		key := ""
		for _, group := range []int{2, 4} {
			if m[group] >= 0 {
				key = line[m[group]:m[group+1]]
			}
		}
		return line[:m[6]] + maskValue(key, line[m[6]:m[7]])
	}
	var out strings.Builder
	key, end := "", 0 // name of the next value; offset behind the text written so far
	for _, m := range quotedString().FindAllStringIndex(line, -1) {
		between, word := line[end:m[0]], line[m[0]+1:m[1]-1]
		out.WriteString(between)
		end = m[1]
		if bare := bareKey().FindStringSubmatch(between); bare != nil {
			key = bare[1]
		}
		switch flag := option().FindStringSubmatch(word); {
		case startsWithKeySeparator(line[end:]):
			key = word
			out.WriteString(line[m[0]:m[1]])
			continue
		case flag != nil && flag[2] == "":
			key = flag[1]
			out.WriteString(line[m[0]:m[1]])
			continue
		}
		out.WriteString(line[m[0]:m[0]+1] + maskValue(key, word) + line[m[1]-1:m[1]])
		key = ""
	}
	return out.String() + line[end:]
}

// startsWithKeySeparator reports whether the text after a quoted word makes that word a key.
func startsWithKeySeparator(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")
}

// maskValue returns the value of key with its secret parts replaced.
func maskValue(key, value string) string {
	switch {
	case isReference(value):
		return value
	case strings.HasPrefix(value, "-") && strings.Contains(value, "="):
		flag, rest, _ := strings.Cut(value, "=")
		return flag + "=" + maskValue(strings.TrimLeft(flag, "-"), rest)
	case mayNameSecret(key):
		return "***"
	}
	r := &Replacer{mask: true}
	if strings.Contains(value, "://") {
		return r.URL(value) // only the password and secret parameters are masked
	}
	plain := r.Value(key, strings.ReplaceAll(value, `\"`, `"`))
	switch {
	case r.replaced == 0:
		return value // in its original spelling
	case strings.Contains(value, `\"`):
		return strings.ReplaceAll(plain, `"`, `\"`)
	}
	return plain
}
