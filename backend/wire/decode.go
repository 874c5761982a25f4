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

// HasRoundedConstant reports whether const or enum of a decoded schema hold a whole number
// that a float64 cannot, so that a library that reads them as float64 compares wrongly.
func HasRoundedConstant(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for key, part := range v {
			if (key == "const" || key == "enum") && hasRounded(part) || HasRoundedConstant(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, HasRoundedConstant)
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
