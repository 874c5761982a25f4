package config

import (
	"bytes"
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"

	"github.com/goccy/go-yaml"
)

// Masked returns a configuration file as JSON that is safe to share: without comments, and masked
// by redact.MaskConfig, whose other results it returns too. The error for an invalid file does
// not repeat its content.
func Masked(file string, src []byte) (text []byte, values, variables []string, err error) {
	plain := src
	if IsYAML(file) {
		plain, err = yaml.YAMLToJSON(src)
	} else {
		plain, err = StandardJSON(src)
	}
	var document any
	if err == nil {
		err = core.DecodeJSON(plain, &document)
	}
	if err != nil {
		return nil, nil, nil, Problems{{File: file, Message: "it cannot be parsed, so its contents are not shown"}}
	}
	document, values, variables = redact.MaskConfig(document)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return nil, nil, nil, err
	}
	return b.Bytes(), values, variables, nil
}
