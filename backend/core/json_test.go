package core

import "testing"

func TestNumbersAndTextStayAsWritten(t *testing.T) {
	const text = `{"a":123456789012345678901234567890,"b":1.0,"c":"<b> & \"q\""}`
	var v any
	if err := DecodeJSON([]byte(" "+text+"\n"), &v); err != nil {
		t.Fatal(err)
	}
	if got, err := EncodeJSON(v); err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
	if got := QuoteJSON("<\n>"); got != `"<\n>"` {
		t.Errorf("a string is %s", got)
	}
}

func TestOnlyOneValueIsAccepted(t *testing.T) {
	for _, text := range []string{"", "{", "1 2", "{}}", "[]]", "{} x"} {
		var v any
		if DecodeJSON([]byte(text), &v) == nil {
			t.Errorf("%q is decoded to %v", text, v)
		}
	}
}
