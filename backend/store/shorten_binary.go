package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// minBinary is the length from which the base64 text of binary data is replaced.
const minBinary = 1 << 10

// maxDataPrefix limits what precedes the base64 text in a data URI.
const maxDataPrefix = 256

var (
	dataScheme   = []byte("data:")
	base64Marker = []byte(";base64,")
)

// shortenBinary returns JSON text in which long base64 strings are replaced by their length and
// SHA-256: the members "data" and "blob", in which MCP sends pictures, sounds and files, and data
// URIs. Nobody reads them, and they would displace the text around them. It returns src if there
// are none.
func shortenBinary(src []byte) []byte {
	var edits []wire.Edit
	var key []byte // of the member whose value comes next
	for i := 0; i < len(src); i++ {
		if src[i] != '"' {
			if src[i] == ',' || src[i] == '{' {
				key = nil
			}
			continue
		}
		from := i + 1
		end := stringEnd(src, from)
		if end < 0 {
			break
		}
		text := src[from:end]
		i = end
		if next := nextToken(src, end+1); next < len(src) && src[next] == ':' {
			key = text
			continue
		}
		if len(text) < minBinary {
			continue
		}
		prefix := 0
		if bytes.HasPrefix(text, dataScheme) {
			if at := bytes.Index(text[:maxDataPrefix], base64Marker); at > 0 {
				prefix = at + len(base64Marker)
			}
		}
		if (prefix > 0 || string(key) == "data" || string(key) == "blob") && isBase64(text[prefix:]) {
			edits = append(edits, wire.Edit{Span: core.Span{Start: from + prefix, End: end}, With: describeCut(text[prefix:])})
		}
	}
	if edits == nil {
		return src
	}
	return wire.Splice(nil, src, edits...)
}

// stringEnd returns the index of the quote that ends the string that starts at i, or -1.
func stringEnd(src []byte, i int) int {
	for {
		n := bytes.IndexByte(src[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		slashes := end
		for slashes > i && src[slashes-1] == '\\' {
			slashes--
		}
		if (end-slashes)%2 == 0 {
			return end
		}
		i = end + 1
	}
}

func nextToken(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\t' || src[i] == '\r') {
		i++
	}
	return i
}

// base64Chars marks the characters of both alphabets of base64, of its padding, and the backslash
// with which some encoders escape "/".
var base64Chars = func() (chars [256]bool) {
	for _, c := range []byte(`ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\`) {
		chars[c] = true
	}
	return chars
}()

func isBase64(text []byte) bool {
	for i, c := range text {
		if !base64Chars[c] || c == '\\' && (i+1 == len(text) || text[i+1] != '/') {
			return false
		}
	}
	return true
}

// describeCut describes a base64 string that is not recorded. The web UI recognizes the description.
func describeCut(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`\/`), []byte(`/`))
	hash := sha256.Sum256(text)
	out := append(strconv.AppendInt([]byte("["), int64(len(text)), 10), redact.CutMark...)
	return append(hex.AppendEncode(out, hash[:]), ']')
}
