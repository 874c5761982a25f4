package store

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// resultSize is the size of results, and the parts of it that tell a model nothing new.
type resultSize struct {
	bytes    int64
	repeated int64 // text that repeats structuredContent
	blank    int64 // white space between tokens of JSON, and in text after other white space
}

func (s *resultSize) add(o resultSize, n int64) {
	s.bytes, s.repeated, s.blank = max(s.bytes+n*o.bytes, 0), max(s.repeated+n*o.repeated, 0), max(s.blank+n*o.blank, 0)
}

// sizeOf measures a recorded reply to a call with a result of n bytes. The recorded part may be
// truncated; a truncated result repeats nothing.
func sizeOf(reply []byte, n int) resultSize {
	return resultSize{int64(n), min(repeatedBytes(reply), int64(n)), min(blankBytes(reply), int64(n))}
}

// blankBytes counts white space outside of strings, and in strings each white-space character that
// follows another one, in the bytes that it takes. It reads strings in steps of eight bytes, because
// it runs for every result.
func blankBytes(text []byte) (n int64) {
	inString, after := false, false
	for i := 0; i < len(text); i++ {
		if inString && i+8 <= len(text) {
			word := binary.LittleEndian.Uint64(text[i:])
			plain := bits.TrailingZeros64(equalBytes(word, '"')|equalBytes(word, '\\')) &^ 7 // bits before the first of them
			blanks := equalBytes(word, ' ') & (1<<plain - 1)
			previous := blanks << 8
			if after {
				previous |= 0x80
			}
			n += int64(bits.OnesCount64(blanks & previous))
			if plain > 0 {
				after = blanks>>(plain-1) == 1
				i += plain/8 - 1
				continue
			}
		}
		c, size := text[i], int64(1)
		switch {
		case !inString:
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				n++
			}
			inString, after = c == '"', false
			continue
		case c == '"':
			inString = false
			continue
		case c == '\\' && i+1 < len(text):
			i++
			c, size = text[i], 2
			if c == 'n' || c == 't' || c == 'r' {
				c = ' '
			} else {
				c = 'x'
			}
		}
		blank := c == ' '
		if blank && after {
			n += size
		}
		after = blank
	}
	return n
}

// equalBytes returns a word with the highest bit set of each byte that equals c.
func equalBytes(word uint64, c byte) uint64 {
	const low, low7 = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	x := word ^ low*uint64(c)
	return ^((x&low7 + low7) | x | low7)
}

// repeatedBytes returns the size of the text blocks of a tool result that equal its
// structuredContent, apart from white space between tokens.
func repeatedBytes(result []byte) (n int64) {
	if !bytes.Contains(result, []byte(`"structuredContent"`)) {
		return 0
	}
	var structured, content []byte
	err := wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case "structuredContent":
			structured = wire.Bytes(result, m.Value)
		case "content":
			content = wire.Bytes(result, m.Value)
		}
		return nil
	})
	if err != nil || len(structured) == 0 || len(content) == 0 || content[0] != '[' {
		return 0
	}
	_ = wire.Elements(content, func(at core.Span) error {
		block := wire.Bytes(content, at)
		if block[0] != '{' {
			return nil
		}
		return wire.Members(block, func(m wire.Member) error {
			if raw := wire.Bytes(block, m.Value); string(m.Name) == "text" && raw[0] == '"' {
				if text, ok := wire.Unquote(raw); ok && wire.EqualJSON(text, structured) {
					n += int64(len(raw))
				}
			}
			return nil
		})
	})
	return n
}
