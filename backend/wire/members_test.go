package wire

import (
	"testing"
)

func TestEqualJSONIgnoresOnlySpaceBetweenTokens(t *testing.T) {
	for _, c := range []struct {
		text, value string
		want        bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{" {\n\t\"a\" : [1, 2]\r\n} ", `{"a":[1,2]}`, true},
		{`{"a":[1,2]}`, ` { "a" : [ 1 , 2 ] } `, true},
		{`{"a":"x y"}`, `{"a":"xy"}`, false},
		{`{"a":"x\" y"}`, `{"a":"x\"y"}`, false},
		{`{"a":"\\" ,"b":1}`, `{"a":"\\","b":1}`, true},
		{`{"a":"\`, `{"a":"\`, false},
		{`{"a":1}x`, `{"a":1}`, false},
		{`{"a":1`, `{"a":1}`, false},
		{``, ``, true},
	} {
		if got := EqualJSON(c.text, []byte(c.value)); got != c.want {
			t.Errorf("EqualJSON(%q, %q) = %v", c.text, c.value, got)
		}
	}
}
