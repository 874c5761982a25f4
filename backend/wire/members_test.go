package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
		assert.Equalf(t, c.want, EqualJSON(c.text, []byte(c.value)), "EqualJSON(%q, %q)", c.text, c.value)
	}
}
