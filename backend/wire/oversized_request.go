package wire

import "bytes"

// RequestID returns the raw id of a request that is too large to be read, from its beginning and,
// if the id is not in it, from its end: SDKs write it either before or after the params. It returns
// nil if the id is not found, or if the message is not a request.
func RequestID(head, tail []byte) []byte {
	id, isRequest, cut := requestHead(head)
	if id == nil && isRequest && cut {
		id = tailRawID(tail)
	}
	if !isRequest || len(id) == 0 || !isRequestID(id) {
		return nil
	}
	return bytes.Clone(id)
}

// AppendTail appends part to tail and returns as many of the last bytes as RequestID needs.
func AppendTail(tail, part []byte) []byte {
	tail = append(tail, part[max(0, len(part)-keepTail):]...)
	return append(tail[:0], tail[max(0, len(tail)-keepTail):]...)
}

// requestHead reads the members of an object one by one until one of them is cut.
func requestHead(head []byte) (id []byte, isRequest, cut bool) {
	s := scanner{b: head}
	i := s.space(0)
	if i >= len(head) || head[i] != '{' {
		return nil, false, false
	}
	for i = s.space(i + 1); ; {
		key, from, err := s.key(i)
		if err != nil {
			return id, isRequest, true
		}
		name := string(head[key.Start:key.End])
		switch name {
		case `"result"`, `"error"`:
			return nil, false, false
		case `"method"`, `"params"`:
			isRequest = true
		}
		if i, err = s.value(from, 1); err != nil || i == len(head) {
			return id, isRequest, true
		}
		if name == `"id"` {
			id = head[from:i]
		}
		var done bool
		if i, done, err = s.memberEnd(i); err != nil || done {
			return id, isRequest, err != nil
		}
	}
}

// isRequestID reports whether raw is a string or a number.
func isRequestID(raw []byte) bool {
	return raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9'
}

// tailRawID returns the raw id of an object that ends with it, as some SDKs write it: ...,"id":12}
func tailRawID(tail []byte) []byte {
	rest, ok := bytes.CutSuffix(bytes.TrimRight(tail, " \t\r\n"), []byte("}"))
	if !ok {
		return nil
	}
	rest = bytes.TrimRight(rest, " \t")
	from := len(rest)
	if text, isString := bytes.CutSuffix(rest, []byte{'"'}); isString {
		if from = bytes.LastIndexByte(text, '"'); from < 0 || bytes.IndexByte(text[from:], '\\') >= 0 {
			return nil // cut, or with escapes, which ids do not need
		}
	} else {
		for from > 0 && '0' <= rest[from-1] && rest[from-1] <= '9' {
			from--
		}
	}
	id := rest[from:]
	rest = bytes.TrimRight(rest[:from], " \t")
	if rest, ok = bytes.CutSuffix(rest, []byte(":")); !ok || len(id) == 0 {
		return nil
	}
	if rest, ok = bytes.CutSuffix(bytes.TrimRight(rest, " \t"), []byte(`"id"`)); !ok {
		return nil
	}
	rest = bytes.TrimRight(rest, " \t")
	if len(rest) == 0 || rest[len(rest)-1] != ',' {
		return nil
	}
	return id
}
