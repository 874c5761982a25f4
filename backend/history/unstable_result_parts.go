package history

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// stableValue describes the results of several equal calls: what they have in common, and which
// parts differ from result to result, such as times and generated ids. In value, these parts are
// an unstable or a textTemplate.
type stableValue struct{ value any }

// unstable stands for a value that differs from result to result.
type unstable struct {
	first    any
	optional bool // missing in some of the results
}

// textTemplate stands for a string of which parts differ from result to result.
type textTemplate struct {
	first string
	parts []string // the stable parts
	lines []bool   // between parts[i] and parts[i+1]: whether the unstable part may contain line breaks
}

// jsonText stands for a string that contains a JSON object or list, of which parts differ from
// result to result.
type jsonText struct {
	first string
	inner any
}

// decodeContainer decodes a string that contains a JSON object or list.
func decodeContainer(text string) (any, bool) {
	if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	return decode([]byte(text))
}

// newStableValue returns the description of one result. A text that is not JSON is one string.
func newStableValue(text []byte) stableValue { return stableValue{decodeOrText(text)} }

func decodeOrText(text []byte) any {
	if v, ok := decode(text); ok {
		return v
	}
	return string(text)
}

// add includes a further result of an equal call.
func (s *stableValue) add(text []byte) { s.value = merge(s.value, decodeOrText(text)) }

// compare returns the differences of a result from what all results of s have in common.
func (s *stableValue) compare(text []byte) []Change {
	d := differ{insideText: true}
	d.compare("", s.value, decodeOrText(text))
	return d.changes
}

// paths returns the JSON Pointers of the parts that are not stable.
func (s *stableValue) paths() (list []string) {
	collectUnstable("", s.value, &list)
	return list
}

// comparable reports whether a part of the value is stable, apart from the types of its content, or
// none is unstable.
func (s *stableValue) comparable() bool { return len(s.paths()) == 0 || hasStable("", s.value) }

func hasStable(key string, v any) bool {
	switch v := v.(type) {
	case unstable:
		return false
	case textTemplate:
		return slices.ContainsFunc(v.parts, func(part string) bool { return strings.ContainsFunc(part, isLetterOrDigit) })
	case jsonText:
		return hasStable("", v.inner)
	case map[string]any:
		for name, value := range v {
			if hasStable(name, value) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasStable("", item) })
	}
	return key != "type" && key != "mimeType" && key != "isError" && key != "uri"
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// merge returns what a description and a further value have in common.
func merge(known, next any) any {
	switch k := known.(type) {
	case unstable:
		return k
	case map[string]any:
		if n, ok := next.(map[string]any); ok {
			return mergeObjects(k, n)
		}
	case []any:
		if n, ok := next.([]any); ok && len(k) == len(n) {
			merged := make([]any, len(k))
			for i := range k {
				merged[i] = merge(k[i], n[i])
			}
			return merged
		}
	case textTemplate:
		if n, ok := next.(string); ok {
			return k.merge(n)
		}
	case jsonText:
		if n, ok := next.(string); ok {
			if v, ok := decodeContainer(n); ok {
				return jsonText{k.first, merge(k.inner, v)}
			}
		}
	case string:
		if n, ok := next.(string); ok && n != k {
			before, isJSON := decodeContainer(k)
			if v, ok := decodeContainer(n); ok && isJSON {
				return jsonText{k, merge(before, v)}
			}
			return textTemplate{first: k, parts: []string{k}}.merge(n)
		}
	}
	if encode(original(known)) == encode(next) {
		return known
	}
	return unstable{first: original(known)}
}

func mergeObjects(known, next map[string]any) any {
	merged := make(map[string]any, len(known))
	for key, value := range known {
		if other, ok := next[key]; ok {
			merged[key] = merge(value, other)
		} else {
			merged[key] = unstable{original(value), true}
		}
	}
	for key, value := range next {
		if _, ok := known[key]; !ok {
			merged[key] = unstable{value, true}
		}
	}
	return merged
}

// original returns the first of the values that a description was made from.
func original(v any) any {
	switch v := v.(type) {
	case unstable:
		return v.first
	case textTemplate:
		return v.first
	case jsonText:
		return v.first
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, value := range v {
			if u, ok := value.(unstable); !ok || !u.optional {
				all[key] = original(value)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = original(v[i])
		}
		return all
	}
	return v
}

func collectUnstable(path string, v any, list *[]string) {
	switch v := v.(type) {
	case unstable, textTemplate:
		*list = append(*list, path)
	case jsonText:
		collectUnstable(path, v.inner, list)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collectUnstable(path+"/"+escapePointer(key), v[key], list)
		}
	case []any:
		for i := range v {
			collectUnstable(path+"/"+strconv.Itoa(i), v[i], list)
		}
	}
}

// Limits of the comparison of texts word by word; other texts are compared up to their first and
// from their last difference.
const (
	maxTemplate = 256 << 10 // bytes
	maxWords    = 2000      // words between the first and the last difference
)

// merge returns the template of the texts of t and a further one.
func (t textTemplate) merge(next string) any {
	if t.matches(next) {
		return t
	}
	if len(t.first)+len(next) > maxTemplate {
		return unstable{first: t.first}
	}
	was, now := []word{}, words(next)
	for i, part := range t.parts {
		if i > 0 {
			was = append(was, word{gap: true, lines: t.lines[i-1]})
		}
		was = append(was, words(part)...)
	}
	merged := textTemplate{first: t.first, parts: []string{""}}
	for _, w := range commonWords(was, now) {
		last := len(merged.parts) - 1
		if w.gap {
			merged.parts, merged.lines = append(merged.parts, ""), append(merged.lines, w.lines)
		} else {
			merged.parts[last] += w.text
		}
	}
	if len(strings.TrimSpace(strings.Join(merged.parts, ""))) == 0 {
		return unstable{first: t.first}
	}
	return merged
}

// matches reports whether a text has the stable parts of t.
func (t textTemplate) matches(text string) bool {
	if len(t.lines) == 0 {
		return text == t.first
	}
	var b strings.Builder
	b.WriteString(`\A`)
	for i, part := range t.parts {
		b.WriteString(regexp.QuoteMeta(part))
		if i < len(t.lines) && t.lines[i] {
			b.WriteString(`(?s:.*)`)
		} else if i < len(t.lines) {
			b.WriteString(`.*`)
		}
	}
	pattern, err := regexp.Compile(b.String() + `\z`)
	return err == nil && pattern.MatchString(text)
}

// word is a word, a single other character, or a gap for an unstable part. Times, decimal numbers,
// versions and UUIDs are one word each.
type word struct {
	text       string
	gap, lines bool
}

var wordPattern = osutil.LazyRegexp(`[\pL\pN]+(?:[.:_+-][\pL\pN]+)*|(?s:.)`)

func words(text string) []word {
	var list []word
	for _, at := range wordPattern().FindAllStringIndex(text, -1) {
		list = append(list, word{text: text[at[0]:at[1]]})
	}
	return list
}

// commonWords returns the longest common subsequence of two lists of words, with one gap in place
// of the words between that only one of them has.
func commonWords(a, b []word) []word {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	merged := slices.Clone(a[:start])
	gap := func(skipped ...word) {
		if len(skipped) == 0 {
			return
		}
		if n := len(merged); n == 0 || !merged[n-1].gap {
			merged = append(merged, word{gap: true})
		}
		for _, w := range skipped {
			last := &merged[len(merged)-1]
			last.lines = last.lines || w.lines || strings.ContainsRune(w.text, '\n')
		}
	}
	x, y := a[start:len(a)-end], b[start:len(b)-end]
	if len(x) > maxWords || len(y) > maxWords {
		gap(slices.Concat(x, y)...)
		return append(merged, a[len(a)-end:]...)
	}
	width := len(y) + 1
	longest := make([]uint16, (len(x)+1)*width) // of x[i:] and y[j:]
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if !x[i].gap && x[i] == y[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		switch {
		case !x[i].gap && x[i] == y[j]:
			merged = append(merged, x[i])
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			gap(x[i])
			i++
		default:
			gap(y[j])
			j++
		}
	}
	gap(x[i:]...)
	gap(y[j:]...)
	for k := len(a) - end; k < len(a); k++ {
		if a[k].gap {
			gap(a[k])
		} else {
			merged = append(merged, a[k])
		}
	}
	return merged
}
