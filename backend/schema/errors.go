package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// validationErrors finds the fields of a value that do not match a schema and describes them
// without quoting the value. The validation library stops at the first error and its messages are
// meant for programmers. Keywords that validationErrors does not support count as satisfied, so
// that it never reports a valid field.
type validationErrors struct {
	doc           any  // root of the schema, for references
	legacyDialect bool // see Schema
	errors        []Violation
	limit         int // maximum length of errors
}

// Violation is a part of a value that does not match a schema, or that is missing.
type Violation struct {
	Path  []string // the names and indexes that lead to it
	Error string
}

// Field returns the path as text. The names come from the caller, so long ones are shortened.
func (v Violation) Field() string { return path(v.Path) }

const (
	maxFields = 20  // invalid fields that Check returns
	maxName   = 200 // bytes of a field's name in an error
)

func (m *validationErrors) add(at []string, format string, about ...any) {
	if len(m.errors) >= m.limit {
		return
	}
	f := Violation{Path: at, Error: fmt.Sprintf(format, about...)}
	same := func(o Violation) bool { return o.Error == f.Error && slices.Equal(o.Path, f.Path) }
	if !slices.ContainsFunc(m.errors, same) {
		m.errors = append(m.errors, f)
	}
}

func path(parts []string) string {
	short := make([]string, len(parts))
	for i, part := range parts {
		short[i] = core.ShortenBytes(part, maxName)
	}
	return strings.Join(short, ".")
}

// validate validates value, whose path is at, against a subschema. It terminates because the schema
// is bounded.
func (m *validationErrors) validate(schema, value any, at []string) {
	if len(m.errors) >= m.limit {
		return
	}
	if schema == false {
		m.add(at, "is not allowed")
		return
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if ref, is := s["$ref"]; is {
		if to, ok := resolveRef(m.doc, ref); ok {
			m.validate(to, value, at)
		}
		if m.legacyDialect {
			return
		}
	}
	if !m.validateType(s, value, at) {
		return
	}
	if all, ok := s["allOf"].([]any); ok {
		for _, one := range all {
			m.validate(one, value, at)
		}
	}
	m.validateAlternatives(s, "anyOf", value, at)
	m.validateAlternatives(s, "oneOf", value, at)
	switch v := value.(type) {
	case string:
		m.validateString(s, v, at)
	case int64:
		m.validateNumber(s, float64(v), at)
	case float64:
		m.validateNumber(s, v, at)
	case []any:
		m.validateArray(s, v, at)
	case map[string]any:
		m.validateObject(s, v, at)
	}
}

// validateType checks type, enum and const. It returns false for a wrong type, which makes further
// checks pointless.
func (m *validationErrors) validateType(s map[string]any, value any, at []string) bool {
	var want []string
	switch t := s["type"].(type) {
	case string:
		want = []string{t}
	case []any:
		for _, one := range t {
			name, _ := one.(string)
			want = append(want, name)
		}
	}
	got := typeOf(value)
	if len(want) > 0 && !slices.Contains(want, got) && !(slices.Contains(want, "integer") && isInteger(value)) {
		m.add(at, "must be %.100s, not %s", strings.Join(want, " or "), got)
		return false
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(one any) bool { return reflect.DeepEqual(one, value) }) {
		if text, err := json.Marshal(list); err == nil && len(text) <= 300 {
			m.add(at, "must be one of %s", text)
		} else {
			m.add(at, "is not one of the allowed values")
		}
	}
	if one, is := s["const"]; is && !reflect.DeepEqual(one, value) {
		if text, err := json.Marshal(one); err == nil && len(text) <= 300 {
			m.add(at, "must be %s", text)
		} else {
			m.add(at, "is not the allowed value")
		}
	}
	return true
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// isInteger reports whether value is a number without a fraction.
func isInteger(value any) bool {
	f, fraction := value.(float64)
	_, is := value.(int64)
	return is || fraction && f == math.Trunc(f)
}

// validateAlternatives adds a single error if no alternative matches. The errors of every
// alternative would be confusing.
func (m *validationErrors) validateAlternatives(s map[string]any, key string, value any, at []string) {
	list, ok := s[key].([]any)
	if !ok || len(list) == 0 {
		return
	}
	for _, one := range list {
		try := validationErrors{doc: m.doc, legacyDialect: m.legacyDialect, limit: 1}
		if try.validate(one, value, at); len(try.errors) == 0 {
			return
		}
	}
	m.add(at, "matches none of the allowed schemas")
}

func numericKeyword(s map[string]any, key string) (float64, bool) {
	switch n := s[key].(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// boundWords are the messages for numeric limits. The limit follows.
var boundWords = map[string]string{
	"minimum": "must be at least", "exclusiveMinimum": "must be greater than",
	"maximum": "must be at most", "exclusiveMaximum": "must be less than",
}

func (m *validationErrors) validateNumber(s map[string]any, v float64, at []string) {
	for key, wrong := range map[string]func(limit float64) bool{
		"minimum": func(l float64) bool { return v < l }, "exclusiveMinimum": func(l float64) bool { return v < l },
		"maximum": func(l float64) bool { return v > l }, "exclusiveMaximum": func(l float64) bool { return v > l },
	} {
		l, ok := numericKeyword(s, key)
		// An exclusive limit is violated by the limit itself. An int64 beyond 2^53 is not reported,
		// because it may only equal the limit after rounding.
		if !ok || !wrong(l) && !(strings.HasPrefix(key, "exclusive") && v == l && v > -1<<53 && v < 1<<53) {
			continue
		}
		m.add(at, "%s %v", boundWords[key], s[key])
	}
}

// sizeUnits are the units of the length keywords.
var sizeUnits = map[string]string{"Length": "characters", "Items": "items", "Properties": "properties"}

// validateLength checks the minimum and maximum keywords of a length n.
func (m *validationErrors) validateLength(s map[string]any, of string, n int, at []string) {
	unit := sizeUnits[of]
	if l, ok := numericKeyword(s, "min"+of); ok && float64(n) < l {
		m.add(at, "contains %d %s; the minimum is %v", n, unit, s["min"+of])
	}
	if l, ok := numericKeyword(s, "max"+of); ok && float64(n) > l {
		m.add(at, "contains %d %s; the maximum is %v", n, unit, s["max"+of])
	}
}

func (m *validationErrors) validateString(s map[string]any, v string, at []string) {
	m.validateLength(s, "Length", utf8.RuneCountInString(v), at)
	if pattern, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(v) {
			m.add(at, "does not match the pattern %.100s", pattern)
		}
	}
	if name, ok := s["format"].(string); ok && m.legacyDialect {
		if fits := formats[name]; fits != nil && !fits(v) {
			m.add(at, "is not a valid %s", name)
		}
	}
}

// formats are the formats that the older dialects enforce. In newer dialects format is an
// annotation.
var formats = map[string]func(string) bool{
	"date-time": func(v string) bool { _, err := time.Parse(time.RFC3339, strings.ToUpper(v)); return err == nil },
	"date":      func(v string) bool { _, err := time.Parse(time.DateOnly, v); return err == nil },
	"email":     func(v string) bool { a, err := mail.ParseAddress(v); return err == nil && a.Address == v },
	"ipv4":      func(v string) bool { a, err := netip.ParseAddr(v); return err == nil && a.Is4() },
	"ipv6":      func(v string) bool { a, err := netip.ParseAddr(v); return err == nil && a.Is6() && a.Zone() == "" },
	"uri":       func(v string) bool { u, err := url.Parse(v); return err == nil && u.IsAbs() },
	"uuid":      isUUID,
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (v[i] == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(v[i])) {
			return false
		}
	}
	return true
}

func (m *validationErrors) validateArray(s map[string]any, v []any, at []string) {
	m.validateLength(s, "Items", len(v), at)
	first, _ := s["prefixItems"].([]any)
	rest := s["items"]
	if list, ok := rest.([]any); ok { // tuple syntax of the older dialects
		first, rest = list, s["additionalItems"]
		if !m.legacyDialect {
			return
		}
	} else if m.legacyDialect {
		first = nil
	}
	for i, one := range v {
		at := append(slices.Clone(at), fmt.Sprint(i))
		if i < len(first) {
			m.validate(first[i], one, at)
		} else {
			m.validate(rest, one, at)
		}
	}
}

func (m *validationErrors) validateObject(s map[string]any, v map[string]any, at []string) {
	m.validateLength(s, "Properties", len(v), at)
	required, _ := s["required"].([]any)
	for _, one := range required {
		if name, ok := one.(string); ok {
			if _, there := v[name]; !there {
				m.add(append(slices.Clone(at), name), "is required")
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	others, bound := s["additionalProperties"]
	for _, name := range slices.Sorted(maps.Keys(v)) {
		at := append(slices.Clone(at), name)
		part, known := properties[name]
		if known {
			m.validate(part, v[name], at)
		}
		for pattern, part := range patterns {
			re, err := regexp.Compile(pattern)
			if err != nil || re.MatchString(name) {
				known = true
			}
			if err == nil && re.MatchString(name) {
				m.validate(part, v[name], at)
			}
		}
		switch {
		case known || !bound:
		case others == false:
			m.add(at, "is not a known property")
		default:
			m.validate(others, v[name], at)
		}
	}
}
