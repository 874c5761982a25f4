package api

import "net/http"

// singleHeaderWriter makes sure that the header of a response is written once. When a reader
// disconnects during a response, as a page does on navigation, huma writes a second header, which
// net/http logs as an error.
type singleHeaderWriter struct {
	http.ResponseWriter
	written bool
}

func (o *singleHeaderWriter) WriteHeader(status int) {
	if o.written {
		return
	}
	o.written = status >= 200
	o.ResponseWriter.WriteHeader(status)
}

func (o *singleHeaderWriter) Write(b []byte) (int, error) {
	o.written = true
	return o.ResponseWriter.Write(b)
}

// Unwrap lets an http.ResponseController reach the connection.
func (o *singleHeaderWriter) Unwrap() http.ResponseWriter { return o.ResponseWriter }
