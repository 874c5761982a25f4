package wire

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/exactjson"
)

// Decode parses one JSON value for validation against a schema. Integers are exact if they fit
// into 64 bits.
func Decode(raw []byte) (any, error) {
	var v any
	if err := exactjson.Decode(raw, &v); err != nil {
		return nil, err
	}
	return exactNumbers(v), nil
}

// exactNumbers converts numbers to int64 if they are integers that fit, otherwise to float64.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			v[key] = exactNumbers(part)
		}
	case []any:
		for i, part := range v {
			v[i] = exactNumbers(part)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64) // larger values lose their exact size
		if f >= -1<<53 && f <= 1<<53 && f == math.Trunc(f) {
			return int64(f)
		}
		return f
	}
	return v
}

// HasInexactNumber reports whether a decoded schema compares with a number that float64 cannot
// represent, so that a library that uses float64 would decide wrongly.
func HasInexactNumber(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for key, part := range v {
			if isInexactKeyword(key, part) || HasInexactNumber(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, HasInexactNumber)
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
