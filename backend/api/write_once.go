package api

import "net/http"

// onceHead lets the head of an answer be written once. When a reader goes away in the
// middle of an answer, which a page does whenever somebody moves on, huma writes a second
// one, and net/http reports that as an error of ours.
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
