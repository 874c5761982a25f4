package redact

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

const (
	notSecret = iota
	oneWord
	wholeLine // a header, whose value may contain spaces
)

const maxName = 64 // bytes; the end of a name tells what it denotes

// NamesSecret reports whether a name, such as that of a variable or header, denotes a secret.
func NamesSecret(name string) bool {
	return secretKind([]byte(name[max(0, len(name)-maxName):])) != notSecret
}

// configName matches further names that denote secrets in a configuration file. Elsewhere, "key"
// is rather the key of a table.
var configName = osutil.LazyRegexp(`(?i)(^|[-_])key([-_]?\d+)?$|^pat$`)

func namesConfigSecret(name string) bool { return NamesSecret(name) || configName().MatchString(name) }

// sharedName matches names that may denote secrets.
var sharedName = osutil.LazyRegexp(`(?i)(token|secret|passw|pwd|api[-_]?key|apikey|auth|credential|cookie|session[-_]?id|private|bearer|dsn|signature)`)

// mayNameSecret reports whether a name may denote a secret, for what other people will read.
func mayNameSecret(name string) bool {
	return sharedName().MatchString(name) || namesConfigSecret(name)
}

// MayNameSecretHeader reports whether the value of a header may be a secret. In a configuration file,
// "session" is a setting; in a header, it is usually the key to a session.
func MayNameSecretHeader(name string) bool {
	lower := strings.ToLower(name)
	return mayNameSecret(name) || strings.Contains(lower, "session") || strings.HasSuffix(lower, "key")
}

// secretParts denote secrets anywhere in a name without separators. secretEnds denote them at the
// end of a name, after a separator.
var (
	secretParts = []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "authkey", "credential", "signingkey", "encryptionkey", "xamzsignature", "connectionstring"}
	secretEnds  = []string{"pwd", "pass", "pat"}
)

// harmlessTokens are the ends of names of tokens that are not secrets.
var harmlessTokens = []string{"progresstoken", "pagetoken", "continuationtoken", "nexttoken", "synctoken", "starttoken", "bostoken", "eostoken", "padtoken"}

// secretKind returns whether a name denotes a secret, and the extent of its value. A number at the
// end of the name, as in TOKEN_2, is ignored.
func secretKind(name []byte) int {
	for n := len(name); n > 0 && ('0' <= name[n-1] && name[n-1] <= '9' || name[n-1] == '_' || name[n-1] == '-'); n-- {
		name = name[:n-1]
	}
	if len(name) < 3 || len(name) > maxName || !mayBeSecret(name) {
		return notSecret
	}
	var buf [maxName]byte
	folded, last := buf[:0], 0 // last is the start of the last word in folded
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			folded = append(folded, c+'a'-'A')
		case c == '_' || c == '-':
			last = len(folded)
		case c == '.':
		default:
			folded = append(folded, c)
		}
	}
	s := string(folded) // does not escape, so it is not allocated
	switch {
	case strings.HasSuffix(s, "authorization"), strings.HasSuffix(s, "cookie"), s == "xapikey":
		return wholeLine
	case strings.HasSuffix(s, "token"):
		for _, harmless := range harmlessTokens {
			if strings.HasSuffix(s, harmless) {
				return notSecret
			}
		}
		return oneWord
	}
	for _, part := range secretParts {
		if strings.Contains(s, part) {
			return oneWord
		}
	}
	for _, end := range secretEnds {
		if last > 0 && s[last:] == end {
			return oneWord
		}
	}
	switch s {
	case "pwd", "pass", "auth", "bearer", "otp":
		return oneWord
	}
	return notSecret
}

// mayBeSecret quickly rejects names that lack the letters of all words that denote secrets.
func mayBeSecret(name []byte) bool {
	var has uint32
	for _, c := range name {
		if c >= 'A' {
			has |= 1 << (c & 31)
		}
	}
	for _, need := range secretNameLetters {
		if has&need == need {
			return true
		}
	}
	end := len(name) - 4
	return end >= 0 && (name[end] == '_' || name[end] == '-') && strings.EqualFold(string(name[end+1:]), "pat")
}

// secretNameLetters contains the set of letters of each word that denotes secrets, as bits.
var secretNameLetters = func() (sets []uint32) {
	for _, word := range []string{"token", "pas", "pwd", "secret", "key", "credential", "signature", "cookie", "auth", "bearer", "otp", "connectionstring"} {
		set := uint32(0)
		for _, c := range []byte(word) {
			set |= 1 << (c & 31)
		}
		sets = append(sets, set)
	}
	return sets
}()
