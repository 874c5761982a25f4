package exactjson

import "testing"

func TestNumbersAndTextStayAsWritten(t *testing.T) {
	const text = `{"a":123456789012345678901234567890,"b":1.0,"c":"<b> & \"q\""}`
	var v any
	if err := Decode([]byte(" "+text+"\n"), &v); err != nil {
		t.Fatal(err)
	}
	if got, err := Encode(v); err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
	if got := String("<\n>"); got != `"<\n>"` {
		t.Errorf("a string is %s", got)
	}
}

func TestOnlyOneValueIsAccepted(t *testing.T) {
	for _, text := range []string{"", "{", "1 2", "{}}", "[]]", "{} x"} {
		var v any
		if Decode([]byte(text), &v) == nil {
			t.Errorf("%q is decoded to %v", text, v)
		}
	}
}
