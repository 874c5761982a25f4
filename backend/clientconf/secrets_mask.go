package clientconf

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// maskValues masks every value of a line that an import would store as a secret, by the name
// before it or by its own form. The line may be JSON, TOML or YAML. Text other than quoted
// values and plain YAML values is not changed.
func maskValues(line string) string {
	if m := plainValue().FindStringSubmatchIndex(line); m != nil {
		key, value := "", line[m[4]:m[5]]
		if m[2] >= 0 {
			key = line[m[2]:m[3]]
		}
		return line[:m[4]] + maskSecret(key, value)
	}
	var out strings.Builder
	key, end := "", 0 // name of the next value; offset behind the text written so far
	for _, m := range quotedString().FindAllStringIndex(line, -1) {
		between, word := line[end:m[0]], line[m[0]+1:m[1]-1]
		out.WriteString(between)
		end = m[1]
		if bare := unquotedKey().FindStringSubmatch(between); bare != nil {
			key = bare[1]
		}
		switch flag := optionPattern().FindStringSubmatch(word); {
		case isKey(line[end:]):
			key = word
			out.WriteString(line[m[0]:m[1]])
			continue
		case flag != nil && flag[2] == "":
			key = flag[1]
			out.WriteString(line[m[0]:m[1]])
			continue
		}
		out.WriteString(line[m[0]:m[0]+1] + maskSecret(key, word) + line[m[1]-1:m[1]])
		key = ""
	}
	return out.String() + line[end:]
}

var (
	quotedString = lazyregexp.New(`"(?:[^"\\]|\\.)*"|'[^']*'`)
	// unquotedKey matches an unquoted name before a value, in TOML and YAML.
	unquotedKey = lazyregexp.New(`([A-Za-z0-9_.-]+)\s*[=:]\s*$`)
	// plainValue matches a line of YAML with an unquoted value: "key: value", "- value".
	plainValue = lazyregexp.New(`^\s*(?:- )?(?:([A-Za-z0-9_.-]+):\s+)?([^\s"'\[\]{}#&*!|>,:=][^"']*)$`)
)

// isKey reports whether the text after a quoted word makes that word a key.
func isKey(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")
}

// maskSecret returns the value of key with its secret parts replaced by ***. A reference
// reveals nothing about the secret and stays.
func maskSecret(key, value string) string {
	if strings.Contains(value, "${") && !strings.Contains(value, "://") {
		return value
	}
	h := &secretExtractor{maskOnly: true}
	if flag, rest, ok := strings.Cut(value, "="); ok && strings.HasPrefix(flag, "-") {
		return flag + "=" + maskSecret(strings.TrimLeft(flag, "-"), rest)
	}
	if strings.Contains(value, "://") && !secretName().MatchString(key) {
		return h.extractURL(value) // only the password and secret parameters are masked
	}
	masked := h.extractValue(key, strings.ReplaceAll(value, `\"`, `"`))
	switch {
	case h.replaced == 0:
		return value // in its original spelling
	case strings.Contains(value, `\"`):
		return strings.ReplaceAll(masked, `"`, `\"`)
	}
	return masked
}

// namesSecret reports whether the values of a flag or variable with this name are secret.
func namesSecret(name string) bool { return isSecret(name, "a value of no known form") }
