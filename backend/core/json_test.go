package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNumbersAndTextStayAsWritten(t *testing.T) {
	const text = `{"a":123456789012345678901234567890,"b":1.0,"c":"<b> & \"q\""}`
	var v any
	require.NoError(t, DecodeJSON([]byte(" "+text+"\n"), &v))
	got, err := EncodeJSON(v)
	assert.Truef(t, err == nil && string(got) == text, "%s, %v", got, err)
	assert.Equal(t, `"<\n>"`, QuoteJSON("<\n>"), "a string")
}

func TestOnlyOneValueIsAccepted(t *testing.T) {
	for _, text := range []string{"", "{", "1 2", "{}}", "[]]", "{} x"} {
		var v any
		assert.Error(t, DecodeJSON([]byte(text), &v))
	}
}
