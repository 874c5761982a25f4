package upstream

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFrameRecorderKeepsStartOfLastFrames(t *testing.T) {
	tape := &frameRecorder{}
	h := lineRecorder{recorder: tape}
	for i := range 7 {
		fmt.Fprint(writerFunc(h.record), i, strings.Repeat("ä", 300), "\r\n")
	}
	h.record([]byte("\n\nbegun, not en"))
	frames := tape.last()
	require.Len(t, frames, maxRecordedFrames)
	for i, f := range frames {
		want := fmt.Sprint(i+2) + strings.Repeat("ä", 255)
		assert.Truef(t, f.Text == want && f.Bytes == 602 && !f.Sent && !f.At.IsZero(), "frame %d: %d bytes, %q", i, f.Bytes, f.Text)
	}
	h.record([]byte("ded\n"))
	f := tape.last()[maxRecordedFrames-1]
	assert.Truef(t, f.Text == "begun, not ended" && f.Bytes == 16, "got %+v", f)
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	for i := range p { // in the smallest possible pieces
		f(p[i : i+1])
	}
	return len(p), nil
}
