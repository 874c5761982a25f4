package history

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
)

// argumentLine returns JSON arguments, which may be truncated, as one line of at most
// store.PreviewBytes bytes.
func argumentLine(raw []byte) string {
	if string(raw) == "null" {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return truncateLine(fulltext.AppendText(nil, raw))
	}
	var line []byte
	for len(line) <= store.PreviewBytes && d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		if len(line) > 0 {
			line = append(line, ", "...)
		}
		line = fmt.Appendf(line, "%s: ", name)
		start := d.InputOffset()
		var value json.RawMessage
		if d.Decode(&value) != nil { // truncated
			rest := bytes.TrimPrefix(bytes.TrimLeft(raw[start:], ": \t\r\n"), []byte(`"`))
			line = fulltext.AppendText(line, rest)
			break
		}
		var text *string // nil for null
		if json.Unmarshal(value, &text) == nil && text != nil {
			value = json.RawMessage(*text)
		}
		line = append(line, value...)
	}
	return truncateLine(line)
}

func truncateLine(text []byte) string {
	const end = "…"
	line := string(bytes.Join(bytes.Fields(bytes.ToValidUTF8(text, nil)), []byte(" ")))
	if len(line) <= store.PreviewBytes {
		return line
	}
	return core.CutBytes(line, store.PreviewBytes-len(end)) + end
}
