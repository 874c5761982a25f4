package config

import _ "embed"

//go:embed default.jsonc
var starter []byte

//go:embed schema.json
var schema []byte

// Starter is the commented file that a new installation begins with.
func Starter() []byte { return append([]byte(nil), starter...) }

// Schema is the JSON Schema (draft 2020-12) of the format, for editors.
func Schema() []byte { return append([]byte(nil), schema...) }
