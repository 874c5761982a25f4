package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// DecodeJSON parses text, which must be exactly one JSON value, into the value v points to. Numbers in
// interfaces are json.Number, because large ones would lose digits as float64.
func DecodeJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// EncodeJSON is json.Marshal without escapes for HTML.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// QuoteJSON returns a string as JSON, without escapes for HTML.
func QuoteJSON(s string) string {
	text, _ := EncodeJSON(s) // a string can always be encoded
	return string(text)
}
