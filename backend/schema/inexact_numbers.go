package schema

import (
	"math"
	"slices"
)

// hasInexactNumber reports whether a decoded schema compares with a number that float64 cannot
// represent, so that a library that uses float64 would decide wrongly.
func hasInexactNumber(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for key, part := range v {
			if isInexactKeyword(key, part) || hasInexactNumber(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasInexactNumber)
	}
	return false
}

func isInexactKeyword(keyword string, value any) bool {
	switch keyword {
	case "const", "enum":
		return containsRounded(value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		n, whole := value.(int64)
		// MaxInt64 becomes the next float64: no int64 is between them.
		return whole && n != math.MaxInt64 && (float64(n) == 1<<63 || int64(float64(n)) != n)
	case "multipleOf": // by division, 0.3 is not a multiple of 0.1; multiples of 0.5 are found
		f, fraction := value.(float64)
		return fraction && f*(1<<20) != math.Trunc(f*(1<<20)) || containsRounded(value)
	}
	return false
}

func containsRounded(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > 1<<53 || v < -1<<53
	case []any:
		return slices.ContainsFunc(v, containsRounded)
	case map[string]any:
		for _, part := range v {
			if containsRounded(part) {
				return true
			}
		}
	}
	return false
}
