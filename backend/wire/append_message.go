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

// AppendError appends a response with an error. id and data are raw; an empty id
// becomes null, empty data is omitted.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	return AppendErrorObject(dst, id, ErrorObject(code, message, data))
}

// AppendErrorObject appends a response whose error object is given raw.
func AppendErrorObject(dst, id, object []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"error":`...)
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
