package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Limits of the search for known values.
const (
	minSecretBytes     = 6    // minimum length in bytes; shorter values occur in ordinary text
	maxSecretBytes     = 4096 // maximum length in bytes; longer values are searched for in parts
	maxSecretEncodings = 4096 // maximum number of encodings of all values
)

// Values finds known secret values in their common encodings. It uses the Wu-Manber
// algorithm with blocks of two bytes: it examines few bytes, because it skips up to the length of
// the shortest value where no value can end. It is immutable. A nil *Values finds nothing.
type Values struct {
	minLen      int // length of the shortest value in bytes, at most 255
	skip        [skipTableSize]uint8
	byLastBlock map[uint16][]string // values by the last block of their first least bytes; longest first
	missed      int                 // number of values that are not searched for completely, because there are too many
}

const skipTableSize = 1 << 12

func blockHash(a, b byte) uint16 { return (uint16(a)<<5 ^ uint16(b)) & (skipTableSize - 1) }

// NewValues returns a search for the values in their common encodings (JSON, URL, base64). Values
// of less than 6 bytes are ignored. It returns nil if there are no values to search for.
func NewValues(list []string) *Values {
	all, missed := allEncodings(list)
	if len(all) == 0 {
		return nil
	}
	k := &Values{missed: missed, minLen: maxSecretBytes, byLastBlock: make(map[uint16][]string)}
	for _, v := range all {
		k.minLen = min(k.minLen, len(v))
	}
	k.minLen = min(k.minLen, 255)
	for i := range k.skip {
		k.skip[i] = uint8(k.minLen - 1)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, v := range all {
		for i := 1; i < k.minLen; i++ {
			b := blockHash(v[i-1], v[i])
			k.skip[b] = min(k.skip[b], uint8(k.minLen-1-i))
		}
		last := blockHash(v[k.minLen-2], v[k.minLen-1])
		k.byLastBlock[last] = append(k.byLastBlock[last], v)
	}
	return k
}

// Missed returns the number of values that are not searched for, because there are too many.
func (k *Values) Missed() int {
	if k == nil {
		return 0
	}
	return k.missed
}

// allEncodings returns at most maxSecretEncodings encodings of the values, and the number of
// values of which not even the plain text fits. The plain text of all values has precedence over
// other encodings.
func allEncodings(list []string) (all []string, missed int) {
	seen := make(map[string]bool)
	var waiting [][]string // encodings of each part
	for _, v := range list {
		v = strings.TrimSpace(v)
		if len(v) < minSecretBytes || seen[v] {
			continue
		}
		fits := true
		for _, part := range append(splitLong(v), keyLines(v)...) {
			if !seen[part] && len(all) == maxSecretEncodings {
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
	for round := 1; len(all) < maxSecretEncodings; round++ {
		more := false
		for _, of := range waiting {
			if round >= len(of) || len(all) == maxSecretEncodings {
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

// splitLong splits a long value into parts that are searched for separately. It splits between
// characters, and at multiples of 3 bytes where possible, because base64 encodes groups of 3
// bytes.
func splitLong(v string) (list []string) {
	for len(v) > maxSecretBytes {
		n := maxSecretBytes
		if len(v) < 2*maxSecretBytes {
			n = len(v)/2 + 1 // avoids a short last part, which could be an ordinary word
		}
		n -= n % 3
		for back := 1; back < utf8.UTFMax && !utf8.RuneStart(v[n]); back++ {
			n--
		}
		list, v = append(list, v[:n]), v[n:]
	}
	return append(list, v)
}

// encodings returns a value as plain text and as it is encoded in JSON, URLs and base64.
func encodings(v string) []string {
	escaped, _ := json.Marshal(v)
	inJSON := trimQuotes(escaped)
	all := []string{
		v, inJSON, trimQuotes([]byte(core.QuoteJSON(v))), strings.ReplaceAll(inJSON, "/", `\/`),
		url.QueryEscape(v), url.PathEscape(v),
	}
	for range jsonDepth { // JSON in a string of JSON
		escaped, _ = json.Marshal(inJSON)
		if trimQuotes(escaped) == inJSON {
			break
		}
		inJSON = trimQuotes(escaped)
		all = append(all, inJSON)
	}
	if whole := len(v) / 3 * 3; whole >= 9 { // the encoding of an incomplete group depends on the bytes after the value
		all = append(all, base64.RawStdEncoding.EncodeToString([]byte(v[:whole])), base64.RawURLEncoding.EncodeToString([]byte(v[:whole])))
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecretBytes })
}

// keyLines returns the lines of a value with several lines, such as a key, that tell it from other
// values: a log has each on its own.
func keyLines(v string) (lines []string) {
	if !strings.Contains(v, "\n") {
		return nil
	}
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); len(line) >= minKeyLine && !strings.HasPrefix(line, "-----") {
			lines = append(lines, line)
		}
	}
	return lines
}

// jsonDepth is how many times the JSON of a value may be quoted in other JSON.
const jsonDepth = 3

const minKeyLine = 16 // minimum length in bytes of a line of a value that is searched for alone

// trimQuotes returns the content of an encoded JSON string, without its quotes.
func trimQuotes(text []byte) string { return string(text[1 : len(text)-1]) }

// find returns the range of the first secret that starts at or after from, or 0, 0. A secret that
// is truncated by the end of the text is found if at least as many bytes of it remain as the
// shortest value has.
func (k *Values) find(text []byte, from int) (start, end int) {
	for at := from + k.minLen - 1; at < len(text); {
		b := blockHash(text[at-1], text[at])
		if skip := int(k.skip[b]); skip > 0 {
			at += skip
			continue
		}
		start := at - k.minLen + 1
		for _, v := range k.byLastBlock[b] {
			n := min(len(v), len(text)-start)
			if string(text[start:start+n]) == v[:n] {
				return start + escapeLen(text, start), start + n
			}
		}
		at++
	}
	return 0, 0
}

// escapeLen returns the number of bytes at i that belong to an escape sequence that begins
// before i, such as the n of \n. Replacing them would make a JSON string invalid.
func escapeLen(text []byte, i int) int {
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

// Redact replaces the secrets in text[start:] in place and returns the result.
func (k *Values) Redact(text []byte, start int) []byte {
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
		text = append(text, Mark...)
		next, end := k.find(rest, to)
		if end == 0 {
			return append(text, rest[to:]...)
		}
		text = append(text, rest[to:next]...)
		to = end
	}
}

// Mask returns a replacer of known values in logs and documents by "[masked]", in every encoding,
// also as part of a longer text that was encoded in base64, and of each line of a value. Its other
// replacements are pairs of old and new text.
func Mask(values []string, others ...string) *strings.Replacer {
	var forms []string
	for _, v := range values {
		if len(v) < minSecretBytes {
			continue
		}
		forms = append(append(forms, encodings(v)...), base64Parts(v)...)
		forms = append(forms, keyLines(v)...)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) // one may contain another
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, masked)
	}
	return strings.NewReplacer(append(pairs, others...)...)
}

// base64Parts returns the forms of v within a base64 text, such as that of "user:password": one for
// each alignment, without the characters that depend on the neighbouring bytes.
func base64Parts(v string) []string {
	if len(v) < 9 {
		return nil // the unaffected part would be too short to search for
	}
	var forms []string
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("xx"[:before] + v + "xxx"))
		from := (before*8 + 5) / 6
		forms = append(forms, text[from:(before+len(v))*8/6])
	}
	return forms
}

var (
	ordinaryWord   = osutil.LazyRegexp(`^([A-Z]?[a-z]{1,11}|[A-Z]{1,12})$`)
	ordinaryNames  = osutil.LazyRegexp(`^[a-z]{1,16}([-_.:/@ ][a-z]{1,16})*[-_.:/]?\d{0,5}$`)
	ordinaryNumber = osutil.LazyRegexp(`^[-+]?(\d[.:-]?){0,7}\d$`)
)

// absolutePath reports whether value is the absolute path of any system: a container or a file from
// elsewhere has others than ours.
func absolutePath(value string) bool {
	return filepath.IsAbs(value) || strings.HasPrefix(value, "/") || len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
}

// Ordinary reports whether a value whose name denotes no secret is so common that removing it everywhere
// would hide what matters: a path, a word, a short name of lower-case words, a number, a date, an address,
// or a URL of these. docs/security.md states this rule.
func Ordinary(value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < minSecretBytes || absolutePath(value) || strings.HasPrefix(value, "~/") || ordinaryWord().MatchString(value) || ordinaryNumber().MatchString(value) {
		return true
	}
	if len(value) <= 24 && ordinaryNames().MatchString(value) {
		return true
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return true
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(u.Path, "/"), "/") {
		if part != "" && !Ordinary(part) {
			return false
		}
	}
	return true
}
