package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
)

// Decode reads one JSON value for a check against a schema. Whole numbers stay exact where
// 64 bits hold them.
func Decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return exactNumbers(v), nil
}

// exactNumbers turns numbers into an int64 where they are whole and fit, else into a float64.
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
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64) // of what is beyond, no more is known
		if f >= -1<<53 && f <= 1<<53 && f == math.Trunc(f) {
			return int64(f)
		}
		return f
	}
	return v
}

// HasInexactNumber reports whether a decoded schema compares with a number that a float64
// does not hold, so that a library that reads numbers as float64 decides wrongly.
func HasInexactNumber(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for key, part := range v {
			if inexact(key, part) || HasInexactNumber(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, HasInexactNumber)
	}
	return false
}

func inexact(keyword string, value any) bool {
	switch keyword {
	case "const", "enum":
		return hasRounded(value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		n, whole := value.(int64)
		// The largest becomes the number after it: no int64 is between them.
		return whole && n != math.MaxInt64 && (float64(n) == 1<<63 || int64(float64(n)) != n)
	case "multipleOf": // of 0.1, a division does not find 0.3 to be a multiple; of 0.5 it finds all
		f, fraction := value.(float64)
		return fraction && f*(1<<20) != math.Trunc(f*(1<<20)) || hasRounded(value)
	}
	return false
}

func hasRounded(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > 1<<53 || v < -1<<53
	case []any:
		return slices.ContainsFunc(v, hasRounded)
	case map[string]any:
		for _, part := range v {
			if hasRounded(part) {
				return true
			}
		}
	}
	return false
}
