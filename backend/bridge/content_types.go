package bridge

import (
	"bytes"
	"cmp"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// contentTypes has the first revision whose schema has each type of content. Clients that check
// results against the schema of their revision refuse a whole result because of one unknown type,
// after the tool has run.
var contentTypes = map[string]string{
	"text": "2024-11-05", "image": "2024-11-05", "resource": "2024-11-05",
	"audio": "2025-03-26", "resource_link": "2025-06-18",
	"tool_use": "2025-11-25", "tool_result": "2025-11-25", // of sampling
}

// firstWithContentLists is the first revision in which the content of a sampling message may be a list.
const firstWithContentLists = "2025-11-25"

// newestContentType is the newest revision in contentTypes.
const newestContentType = "2025-11-25"

var typeKey = []byte(`"type"`)

// readableContent returns the result of a method, or the params of a request to the client, in which
// content that the client's revision does not know is replaced by text. Most results are not parsed:
// their types are known.
func readableContent(method, revision string, raw []byte) []byte {
	list := ""
	switch method {
	case "tools/call", "tasks/result":
		list = "content"
	case "prompts/get", "sampling/createMessage":
		list = "messages"
	}
	lists := method == "sampling/createMessage" && revision < firstWithContentLists
	if list == "" || revision == "" || revision >= newestContentType || !lists && !mentionsUnknownType(revision, raw) {
		return raw
	}
	found, err := wire.Pick(raw, list)
	if err != nil || found[0].Empty() {
		return raw
	}
	return wire.Splice(nil, raw, contentEdits(revision, raw, found[0], list == "messages")...)
}

// mentionsUnknownType reports whether raw may contain content of a type that the revision does not
// know. It looks at every member "type", wherever it is.
func mentionsUnknownType(revision string, raw []byte) bool {
	for {
		at := bytes.Index(raw, typeKey)
		if at < 0 {
			return false
		}
		raw = bytes.TrimLeft(raw[at+len(typeKey):], " \t\r\n:")
		if end := bytes.IndexByte(raw[min(1, len(raw)):], '"'); end >= 0 && raw[0] == '"' && (!knowsType(revision, raw[1:1+end]) || bytes.IndexByte(raw[:1+end], '\\') >= 0) {
			return true
		}
	}
}

// knowsType reports whether the revision has a type of content. Types that no revision has are left
// to the client: they may belong to an extension.
func knowsType(revision string, name []byte) bool { return contentTypes[string(name)] <= revision }

// contentEdits returns the edits of src that replace content of unknown types in the list at a span:
// of blocks, or of messages, whose content is a block or, in sampling, a list of blocks. A message
// with a list becomes a message for each block if the revision knows no lists.
func contentEdits(revision string, src []byte, list core.Span, messages bool) (edits []wire.Edit) {
	_ = wire.Elements(wire.Bytes(src, list), func(at core.Span) error {
		block, message := offset(at, list), core.Span{}
		if messages {
			message = block
			found, err := wire.Pick(wire.Bytes(src, message), "content")
			if err != nil || found[0].Empty() {
				return nil
			}
			block = offset(found[0], message)
		}
		if src[block.Start] != '[' || !messages {
			if text := textInsteadOf(revision, wire.Bytes(src, block)); text != nil {
				edits = append(edits, wire.Edit{Span: block, With: text})
			}
			return nil
		}
		if revision >= firstWithContentLists {
			edits = append(edits, contentEdits(revision, src, block, false)...)
			return nil
		}
		var split []byte
		_ = wire.Elements(wire.Bytes(src, block), func(at core.Span) error {
			part := wire.Bytes(src, offset(at, block))
			if text := textInsteadOf(revision, part); text != nil {
				part = text
			}
			split = append(append(append(append(split, ','), src[message.Start:block.Start]...), part...), src[block.End:message.End]...)
			return nil
		})
		if len(split) > 0 {
			edits = append(edits, wire.Edit{Span: message, With: split[1:]})
		}
		return nil
	})
	return edits
}

// offset returns a span of the text that is at outer as a span of the whole text.
func offset(inner, outer core.Span) core.Span {
	return core.Span{Start: outer.Start + inner.Start, End: outer.Start + inner.End}
}

// textInsteadOf returns a text block that says what a block of content is and where to find it, or
// nil if the revision knows its type.
func textInsteadOf(revision string, block []byte) []byte {
	found, err := wire.Pick(block, "type", "title", "name", "uri", "url", "mimeType", "description", "annotations")
	if err != nil {
		return nil
	}
	member := func(i int) string {
		text, _ := wire.Unquote(wire.Bytes(block, found[i]))
		return text
	}
	kind := member(0)
	if kind == "" || knowsType(revision, []byte(kind)) {
		return nil
	}
	text := "[" + core.ShortenBytes(kind, maxShownType) + " not supported by this client's protocol revision"
	separator := ": "
	for _, detail := range []string{cmp.Or(member(1), member(2)), cmp.Or(member(3), member(4)), member(5), member(6)} {
		if detail != "" {
			text, separator = text+separator+detail, ", "
		}
	}
	out := append(wire.AppendString([]byte(`{"type":"text","text":`), text+"]"), '}')
	if annotations := wire.Bytes(block, found[7]); len(annotations) > 0 && annotations[0] == '{' {
		out = append(append(append(out[:len(out)-1], `,"annotations":`...), annotations...), '}')
	}
	return out
}

// maxShownType limits the name of an unknown type, in bytes.
const maxShownType = 64
