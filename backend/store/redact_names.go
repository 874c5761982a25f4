package store

import "strings"

const (
	notSecret = iota
	oneWord
	wholeLine // a header, whose value may contain spaces
)

// secretKind returns whether a name denotes a secret, and the extent of its value.
func secretKind(name []byte) int {
	if len(name) < 3 || len(name) > 64 {
		return notSecret
	}
	if !mayBeSecret(name) {
		return notSecret
	}
	var buf [64]byte
	folded := buf[:0]
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			folded = append(folded, c+'a'-'A')
		case c == '_' || c == '-' || c == '.':
		default:
			folded = append(folded, c)
		}
	}
	s := string(folded) // does not escape, so it is not allocated
	switch {
	case strings.HasSuffix(s, "authorization"), strings.HasSuffix(s, "cookie"), s == "xapikey":
		return wholeLine
	case strings.HasSuffix(s, "token"):
		for _, harmless := range []string{"progresstoken", "pagetoken", "continuationtoken", "nexttoken", "synctoken", "starttoken", "bostoken", "eostoken", "padtoken"} {
			if strings.HasSuffix(s, harmless) {
				return notSecret
			}
		}
		return oneWord
	}
	for _, part := range []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "credential", "signingkey", "encryptionkey", "xamzsignature", "connectionstring"} {
		if strings.Contains(s, part) {
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
	return false
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
