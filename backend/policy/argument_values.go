package policy

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Limits of one value. A value beyond them counts as one that cannot be read.
const (
	maxTestedText = 256 << 10 // bytes of a text
	maxReadings   = 1000      // values that one pointer with * refers to
)

// evaluation evaluates the conditions of all rules for one call. It reads each argument once.
type evaluation struct {
	server *server
	call   *core.Call
	// arguments and members are read once: members are those of the outermost object.
	arguments []byte
	members   []argument
	invalid   error // of members
	found     []pointedValues
	texts     map[string]possiblePaths
	files     map[string]resolvedPath
	infos     map[string]fs.FileInfo
	// lookups counts those in the file system.
	lookups int
	// bases is set once a relative path is evaluated.
	bases      []pathBase
	basesKnown bool
	entries    int // of folders that were compared with wildcards
}

type resolvedPath struct {
	path string
	err  error
}

type argument struct {
	name  string
	value []byte
}

type pointedValues struct {
	pointer []string
	values  []reading
}

type reading struct {
	raw  []byte // nil if absent; null counts as absent
	text string // of a string
	kind readingKind
}

type readingKind uint8

const (
	readAbsent readingKind = iota
	readText
	readNumber
	readOther      // true, false, an object or a list
	readUnreadable // not JSON, or with duplicate keys, or not the container that the pointer expects
)

func (e *evaluation) condition(c *condition) truth {
	switch {
	case c.test != nil:
		return e.test(c)
	case c.not != nil:
		return e.condition(c.not).not()
	case c.any != nil:
		b := no
		for i := 0; i < len(c.any) && b != yes; i++ {
			b = b.or(e.condition(&c.any[i]))
		}
		return b
	}
	b := yes
	for i := 0; i < len(c.all) && b != no; i++ {
		b = b.and(e.condition(&c.all[i]))
	}
	return b
}

// test is possible if it is possible for one reading, and certain if it is certain for all.
func (e *evaluation) test(c *condition) truth {
	b := truth{false, true}
	for _, v := range e.readings(c.pointer) {
		if b = b.all(e.testReading(c.test, v)); b == unknown { // which it stays
			break
		}
	}
	return b
}

func (e *evaluation) readings(pointer []string) []reading {
	for _, f := range e.found {
		if slices.Equal(f.pointer, pointer) {
			return f.values
		}
	}
	r := reader{evaluation: e}
	if e.readMembers(); e.arguments != nil {
		r.read(e.arguments, pointer)
	} else {
		r.found = []reading{{kind: readUnreadable}}
	}
	if len(r.found) == 0 {
		r.found = absent
	} else if r.folded {
		r.found = append(r.found, reading{})
	}
	if len(r.found) > maxReadings {
		r.found = append(r.found[:maxReadings], reading{kind: readUnreadable})
	}
	e.found = append(e.found, pointedValues{pointer, r.found})
	return r.found
}

var absent = []reading{{}}

// readMembers reads the arguments, unless it has done so. e.arguments is nil if they are not JSON.
func (e *evaluation) readMembers() {
	if e.found != nil {
		return
	}
	e.found = make([]pointedValues, 0, 8)
	if raw := argumentsOf(e.call); json.Valid(raw) { // explain passes arguments that nothing has checked
		e.arguments = bytes.TrimSpace(raw)
		e.members, e.invalid = membersOf(e.arguments)
	}
}

func membersOf(object []byte) (list []argument, err error) {
	err = wire.Members(object, func(m wire.Member) error {
		list = append(list, argument{string(m.Name), object[m.Value.Start:m.Value.End]})
		return nil
	})
	return list, err
}

// reader collects the values that a JSON pointer refers to.
type reader struct {
	evaluation *evaluation
	found      []reading
	// folded means that a key was found only when case was ignored, as some servers do: for the
	// others, the value is absent.
	folded bool
}

func (r *reader) read(raw []byte, tokens []string) {
	if len(r.found) > maxReadings {
		return
	}
	raw = bytes.TrimSpace(raw)
	if len(tokens) == 0 {
		v := readValue(raw)
		r.found = append(append(r.found, v), r.listIn(v.text)...)
		return
	}
	token, rest := tokens[0], tokens[1:]
	var err error
	switch {
	case string(raw) == "null":
		return
	case len(raw) == 0:
		r.found = append(r.found, reading{kind: readUnreadable})
	case raw[0] == '{':
		var exact, folded []byte
		members := r.evaluation.members
		if err = r.evaluation.invalid; &raw[0] != &r.evaluation.arguments[0] {
			members, err = membersOf(raw)
		}
		for _, m := range members {
			switch {
			case token == "*":
				r.read(m.value, rest)
			case m.name == token:
				exact = m.value
			case strings.EqualFold(m.name, token):
				folded = m.value
			}
		}
		switch {
		case err != nil:
		case exact != nil:
			r.read(exact, rest)
		case folded != nil:
			r.folded = true
			r.read(folded, rest)
		}
	case raw[0] == '[' && (token == "*" || token != "" && strings.Trim(token, "0123456789") == ""):
		n, isIndex := strconv.Atoi(token)
		at := 0
		err = wire.Elements(raw, func(span core.Span) error {
			if token == "*" || isIndex == nil && at == n {
				r.read(raw[span.Start:span.End], rest)
			}
			at++
			return nil
		})
	default:
		r.found = append(r.found, reading{raw: raw, kind: readUnreadable})
	}
	if err != nil {
		r.found = append(r.found, reading{raw: raw, kind: readUnreadable})
	}
}

// listIn returns the elements if text is a JSON list of texts: some servers decode it, such as
// those for whose parameter a single text and a list are both valid.
func (r *reader) listIn(text string) []reading {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") || !json.Valid([]byte(text)) {
		return nil
	}
	list := reader{evaluation: r.evaluation}
	list.read([]byte(text), []string{"*"})
	if slices.ContainsFunc(list.found, func(v reading) bool { return v.kind != readText }) {
		return nil
	}
	return list.found
}

func readValue(raw []byte) reading {
	switch {
	case string(raw) == "null":
		return reading{}
	case len(raw) == 0:
		return reading{kind: readUnreadable}
	case raw[0] == '"':
		if text, ok := wire.Unquote(raw); ok {
			return reading{raw, text, readText}
		}
		return reading{raw: raw, kind: readUnreadable}
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return reading{raw: raw, kind: readNumber}
	case raw[0] == '{' || raw[0] == '[' || string(raw) == "true" || string(raw) == "false":
		return reading{raw: raw, kind: readOther}
	}
	return reading{raw: raw, kind: readUnreadable}
}

// testReading reports whether all that t requires is true of v. A value of another kind than a test
// is about makes that test unknown.
func (e *evaluation) testReading(t *argumentTest, v reading) truth {
	b := yes
	if t.Present != nil {
		b = testPresent(v, *t.Present)
	}
	if t.MinBytes != nil || t.MaxBytes != nil {
		b = b.and(testBytes(v, t.MinBytes, t.MaxBytes))
	}
	if t.min != nil || t.max != nil {
		b = b.and(testNumber(v, t.min, t.max))
	}
	if t.Glob != nil {
		b = b.and(testText(v, t.globs, func(s string) bool {
			return slices.ContainsFunc(t.Glob, func(p string) bool { return config.Match(p, s) })
		}))
	}
	if t.matches != nil {
		b = b.and(testText(v, t.Matches, t.matches.MatchString))
	}
	if t.Host != nil {
		b = b.and(testHost(v, t.Host))
	}
	if t.Under != nil && b != no {
		b = b.and(e.testUnder(v, t.Under))
	}
	if t.NotUnder != nil && b != no {
		b = b.and(e.testUnder(v, t.NotUnder).not())
	}
	return b
}

func testPresent(v reading, want bool) truth {
	if v.kind == readUnreadable {
		return unknown
	}
	return exactly((v.kind != readAbsent) == want)
}

func testText(v reading, pattern string, matches func(string) bool) truth {
	switch {
	case v.kind == readAbsent:
		return no
	case v.kind != readText || len(v.text) > maxTestedText:
		return unknown
	case matches(v.text):
		return yes
	case composedDifferently(pattern, v.text):
		return unknown
	}
	return no
}

// composedDifferently reports whether two texts may contain the same characters in different
// Unicode normal forms, such as é as one code point and as e with a combining accent.
func composedDifferently(a, b string) bool {
	return !isASCII(a) && !isASCII(b) && (strings.ContainsFunc(a, isCombining) || strings.ContainsFunc(b, isCombining))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isCombining reports whether c is a part into which normalization splits letters: an accent, a
// voiced sound mark or a Hangul jamo.
func isCombining(c rune) bool {
	return c >= 0x300 && c <= 0x36f || c == 0x3099 || c == 0x309a || c >= 0x1100 && c <= 0x11ff
}

func testBytes(v reading, least, most *int64) truth {
	size := int64(len(v.raw))
	switch v.kind {
	case readAbsent:
		return no
	case readUnreadable:
		return unknown
	case readText:
		size = int64(len(v.text))
	}
	return exactly((least == nil || size >= *least) && (most == nil || size <= *most))
}

// testNumber compares the decimal numbers, and the numbers as servers round them.
func testNumber(v reading, least, most *numberBound) truth {
	switch {
	case v.kind == readAbsent:
		return no
	case v.kind != readNumber || len(v.raw) > 1000:
		return unknown
	}
	n, double, err := parseNumber(string(v.raw))
	if err != nil {
		return unknown
	}
	exact := (least == nil || n.Cmp(least.exact) >= 0) && (most == nil || n.Cmp(most.exact) <= 0)
	rounded := (least == nil || double.Cmp(least.rounded) >= 0) && (most == nil || double.Cmp(most.rounded) <= 0)
	return truth{exact || rounded, exact && rounded}
}

// parseNumber reads a number of JSON exactly, and as most servers do: beyond 2^53 not exactly.
func parseNumber(text string) (exact, rounded *big.Float, err error) {
	if exact, _, err = big.ParseFloat(text, 10, 1024, big.ToNearestEven); err != nil {
		return nil, nil, err
	}
	double, _ := exact.Float64()
	return exact, big.NewFloat(double), nil
}
