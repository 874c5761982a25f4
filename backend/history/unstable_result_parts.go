package history

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// stableValue describes the results of several equal calls: what they have in common, and which
// parts differ from result to result, such as times and generated ids. In value, these parts are
// an unstable or textWords.
type stableValue struct{ value any }

// unstable stands for a value that differs from result to result.
type unstable struct {
	first    any
	optional bool // missing in some of the results
}

// textWords stands for a string of which words differ from result to result.
type textWords struct {
	first string
	words []any // strings, and unstable ones
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
	case textWords:
		return hasStableWord(v.words)
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
	case textWords:
		if n, ok := next.(string); ok {
			return mergeText(k.first, k.words, n)
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
			return mergeText(k, words(k), n)
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
	case textWords:
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
	case unstable, textWords:
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

// maxComparedText is the number of bytes up to which texts are compared word by word.
const maxComparedText = 256 << 10

// mergeText returns what a text, as words, and a further one have in common: the words at the same
// places, if both have as many.
func mergeText(first string, known []any, next string) any {
	further := words(next)
	if len(further) != len(known) || len(next) > maxComparedText {
		return unstable{first: first}
	}
	merged := slices.Clone(known)
	for i := range known {
		if word, ok := known[i].(string); ok && word != further[i] {
			merged[i] = unstable{first: word}
		}
	}
	if !hasStableWord(merged) {
		return unstable{first: first}
	}
	return textWords{first, merged}
}

func hasStableWord(list []any) bool {
	return slices.ContainsFunc(list, func(w any) bool {
		text, ok := w.(string)
		return ok && strings.ContainsFunc(text, isLetterOrDigit)
	})
}

func (t textWords) matches(text string) bool {
	found := words(text)
	for i, w := range t.words {
		if stable, ok := w.(string); ok && len(found) == len(t.words) && stable != found[i] {
			return false
		}
	}
	return len(found) == len(t.words)
}

// wordPattern matches a word or a single other character. Times, decimal numbers, versions and UUIDs
// are one word each.
var wordPattern = osutil.LazyRegexp(`[\pL\pN]+(?:[.:_+-][\pL\pN]+)*|(?s:.)`)

func words(text string) (list []any) {
	for _, w := range wordPattern().FindAllString(text, -1) {
		list = append(list, w)
	}
	return list
}
