package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is looked for by its value.
const (
	leastSecret = 6    // bytes; shorter words would be found everywhere
	mostSecret  = 4096 // bytes of one; longer values are looked for in parts
	mostKnown   = 4096 // spellings in all
)

// secretValues finds secrets whose values we know, in the spellings in which they travel. A
// search looks at few bytes: where none of the values can end, it skips as many as
// the shortest of them has (the method of Wu and Manber, with blocks of two bytes).
// It is never changed once made; nil finds nothing.
type secretValues struct {
	least  int // bytes of the shortest
	skip   [skips]uint8
	ending map[uint16][]string // by the block at the end of their first least bytes; longest first
	missed int                 // values that are not looked for, or not whole: there are too many
}

const skips = 1 << 12

func block(a, b byte) uint16 { return (uint16(a)<<5 ^ uint16(b)) & (skips - 1) }

// newSecretValues returns nil when there is nothing to look for.
func newSecretValues(list []string) *secretValues {
	all, missed := allEncodings(list)
	if len(all) == 0 {
		return nil
	}
	k := &secretValues{missed: missed, least: mostSecret, ending: make(map[uint16][]string)}
	for _, v := range all {
		k.least = min(k.least, len(v))
	}
	k.least = min(k.least, 255)
	for i := range k.skip {
		k.skip[i] = uint8(k.least - 1)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, v := range all {
		for i := 1; i < k.least; i++ {
			b := block(v[i-1], v[i])
			k.skip[b] = min(k.skip[b], uint8(k.least-1-i))
		}
		last := block(v[k.least-2], v[k.least-1])
		k.ending[last] = append(k.ending[last], v)
	}
	return k
}

// allEncodings returns at most mostKnown spellings of the values, and of how many values
// not even the plain one fits. The plain spelling of each value goes before another's rare ones.
func allEncodings(list []string) (all []string, missed int) {
	seen := make(map[string]bool)
	var waiting [][]string // rarer spellings, by part of a value
	for _, v := range list {
		v = strings.TrimSpace(v)
		if len(v) < leastSecret || seen[v] {
			continue
		}
		fits := true
		for _, part := range cutLong(v) {
			if !seen[part] && len(all) == mostKnown {
				fits = false
				break
			}
			if !seen[part] {
				seen[part], all = true, append(all, part)
			}
			waiting = append(waiting, encodings(part))
		}
		if !fits {
			missed++
		}
	}
	for round := 1; len(all) < mostKnown; round++ {
		more := false
		for _, of := range waiting {
			if round >= len(of) || len(all) == mostKnown {
				continue
			}
			more = true
			if s := of[round]; !seen[s] {
				seen[s], all = true, append(all, s)
			}
		}
		if !more {
			break
		}
	}
	return all, missed
}

// cutLong cuts a long value into parts that are looked for on their own: between letters,
// and where base64 begins a new group if it can.
func cutLong(v string) (list []string) {
	for len(v) > mostSecret {
		n := mostSecret
		if len(v) < 2*mostSecret {
			n = len(v)/2 + 1 // no part so short that it is an ordinary word
		}
		n -= n % 3
		for back := 1; back < utf8.UTFMax && !utf8.RuneStart(v[n]); back++ {
			n--
		}
		list, v = append(list, v[:n]), v[n:]
	}
	return append(list, v)
}

// encodings are a value as it is, and as it stands in JSON, in a URL and in base64.
func encodings(v string) []string {
	escaped, _ := json.Marshal(v)
	inJSON := unquoted(escaped)
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	all := []string{
		v, inJSON, unquoted(bytes.TrimSpace(plain.Bytes())), strings.ReplaceAll(inJSON, "/", `\/`),
		url.QueryEscape(v), url.PathEscape(v),
	}
	if whole := len(v) / 3 * 3; whole >= 9 { // what follows it would change the rest
		all = append(all, base64.RawStdEncoding.EncodeToString([]byte(v[:whole])), base64.RawURLEncoding.EncodeToString([]byte(v[:whole])))
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < leastSecret })
}

// unquoted is what stands between the quotes of a JSON string; one at its end may be its own.
func unquoted(text []byte) string { return string(text[1 : len(text)-1]) }

// find returns the first secret at or after from. One that the end of the text cuts
// off counts from as many bytes on as the shortest secret has.
func (k *secretValues) find(text []byte, from int) (start, end int) {
	for at := from + k.least - 1; at < len(text); {
		b := block(text[at-1], text[at])
		if skip := int(k.skip[b]); skip > 0 {
			at += skip
			continue
		}
		start := at - k.least + 1
		for _, v := range k.ending[b] {
			n := min(len(v), len(text)-start)
			if string(text[start:start+n]) == v[:n] {
				return start + escapeLetter(text, start), start + n
			}
		}
		at++
	}
	return 0, 0
}

// escapeLetter is how many bytes at i belong to an escape that begins before it, such
// as the n of \n: without them a JSON string would not be one any more.
func escapeLetter(text []byte, i int) int {
	slashes := 0
	for slashes < i && text[i-1-slashes] == '\\' {
		slashes++
	}
	switch {
	case slashes%2 == 0:
		return 0
	case text[i] == 'u':
		return 5
	}
	return 1
}

// clean takes the secrets out of text[start:], in place.
func (k *secretValues) clean(text []byte, start int) []byte {
	if k == nil {
		return text
	}
	from, to := k.find(text, start)
	if to == 0 {
		return text
	}
	rest := slices.Clone(text[from:])
	text = text[:from]
	to -= from
	for {
		text = append(text, redacted...)
		next, end := k.find(rest, to)
		if end == 0 {
			return append(text, rest[to:]...)
		}
		text = append(text, rest[to:next]...)
		to = end
	}
}

// matching takes out what any of the patterns matches in text[start:].
func matching(patterns []*regexp.Regexp, text []byte, start int) []byte {
	for _, p := range patterns {
		if p.Match(text[start:]) {
			text = append(text[:start], p.ReplaceAllLiteral(slices.Clone(text[start:]), []byte(redacted))...)
		}
	}
	return text
}

// NamesSecret reports whether what stands under a name, such as that of a variable or a
// header, is taken for a secret.
func NamesSecret(name string) bool { return secretName([]byte(name)) != notSecret }

// SecretsIn returns what of a text is recognised as a secret by its shape, or by the name
// before it.
func SecretsIn(text string) []string {
	var found []string
	r := redaction{src: []byte(text), found: &found}
	r.text(0, len(text))
	return found
}
