//go:build unix

package dial

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// Data from TryWrite and Write arrives unchanged, and the recorder has each message once.
func TestPipeWriteDoesNotBlock(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	record := &frameRecorder{}
	out := &recordingWriter{WriteCloser: w, nonblocking: nonblockingWriterIfSupported(w), recorder: lineRecorder{recorder: record, sent: true}}
	if out.nonblocking == nil {
		t.Fatal("a pipe is not recognized")
	}
	var want []byte
	line := append(bytes.Repeat([]byte("a"), 3000), '\n')
	n := 0
	for n == 0 || n == len(line) { // until the pipe is full
		line[0] = 'a' + byte(len(want)/len(line)%26)
		if n = out.TryWrite(line); n > 0 {
			want = append(want, line[:n]...)
		} else {
			break
		}
	}
	rest := bytes.Clone(line[n:])
	want = append(want, rest...)
	got := make(chan []byte, 1)
	go func() { b, _ := io.ReadAll(r); got <- b }()
	if _, err := out.Write(rest); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if b := <-got; !bytes.Equal(b, want) {
		t.Errorf("%d bytes came out, %d went in", len(b), len(want))
	}
	if lines := bytes.Count(want, []byte("\n")); record.next != lines {
		t.Errorf("%d messages on the tape, %d were written", record.next, lines)
	}
}
