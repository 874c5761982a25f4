package api

import "net/http"

// onceHead makes sure that the header of a response is written once. When a reader disconnects during
// a response, as a page does on navigation, huma writes a second header, which net/http logs as an
// error.
type onceHead struct {
	http.ResponseWriter
	written bool
}

func (o *onceHead) WriteHeader(status int) {
	if o.written {
		return
	}
	o.written = status >= 200
	o.ResponseWriter.WriteHeader(status)
}

func (o *onceHead) Write(b []byte) (int, error) {
	o.written = true
	return o.ResponseWriter.Write(b)
}

// Unwrap lets an http.ResponseController reach the connection.
func (o *onceHead) Unwrap() http.ResponseWriter { return o.ResponseWriter }
