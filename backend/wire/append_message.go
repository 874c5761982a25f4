package wire

import "strconv"

// AppendNotification appends a notification. params is raw and may be empty.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendMethod(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends a response with a result. id and result are raw.
func AppendResult(dst, id, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends a response with an error. id and data are raw; empty ones are omitted.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	return AppendErrorObject(dst, id, ErrorObject(code, message, data))
}

// AppendErrorObject appends a response whose error object is given raw. If the id of the request is
// unknown (empty or null), the response has no id: MCP does not allow null, unlike JSON-RPC.
func AppendErrorObject(dst, id, object []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if len(id) > 0 && string(id) != "null" {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = append(dst, `"error":`...)
	dst = append(dst, object...)
	return append(dst, '}')
}

// ErrorObject makes a JSON-RPC error object. data is raw and may be empty.
func ErrorObject(code int, message string, data []byte) []byte {
	dst := append([]byte(nil), `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, message)
	if len(data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, '}')
}
