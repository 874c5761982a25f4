// Package exactjson reads and writes JSON without changing what it contains: numbers keep their
// spelling and <, > and & are not escaped.
package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode parses text, which must be exactly one JSON value, into the value v points to. Numbers in
// interfaces are json.Number, because large ones would lose digits as float64.
func Decode(text []byte, v any) error {
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

// Encode is json.Marshal without escapes for HTML.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// String returns a string as JSON, without escapes for HTML.
func String(s string) string {
	text, _ := Encode(s) // a string can always be encoded
	return string(text)
}
