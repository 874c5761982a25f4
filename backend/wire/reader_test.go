package wire

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readFrames reads a stream to its end and returns its messages.
func readFrames(t testing.TB, r io.Reader, framing Framing, limit int) (all []string, err error) {
	t.Helper()
	l := newLineReader(r, framing, limit)
	for {
		f, err := l.next()
		if err != nil {
			return all, err
		}
		if f.oversized() {
			id, ok := responseID(f.data, f.tail)
			all = append(all, fmt.Sprintf("oversized %d %v", id, ok))
			continue
		}
		require.Truef(t, len(f.data) <= limit+readBuffer, "%d bytes with a limit of %d", len(f.data), limit)
		all = append(all, string(f.data))
	}
}

// The announced length and the header block are bounded, like a line.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	_, err := readFrames(t, strings.NewReader("Content-Length: 999999999999\r\n\r\n{}"), Auto, 1<<20)
	assert.ErrorIs(t, err, errEndlessLine, "a message of a terabyte")
	block := strings.Repeat("X: "+strings.Repeat("y", 100)+"\r\n", 1000)
	_, err = readFrames(t, strings.NewReader("Content-Length: 2\r\n"+block+"\r\n{}"), Auto, 1<<20)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "header block is too long"), "a block of 100 KB: %v", err)
}

func TestReaderSeparatesMessages(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 300_000)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"lines":               {"{1}\r\n\n \n{2}\n{3}", []string{"{1}", "{2}", "{3}"}},
		"byte order":          {"\xef\xbb\xbf{\"a\":1}\n{2}\n", []string{`{"a":1}`, "{2}"}},
		"headers":             {"Content-Length: 5\r\n\r\n{\"a\"}{4}\ncontent-length:3\nContent-Type: x\n\n{\n}{5}\n", []string{`{"a"}`, "{4}", "{\n}", "{5}"}},
		"large":               {big + "\n{2}\n", []string{big, "{2}"}},
		"oversized":           {`{"id":7,"result":"` + strings.Repeat(big, 4) + "\"}\n{2}\n", []string{"oversized 7 true", "{2}"}},
		"id at the end":       {`{"result":"` + strings.Repeat(big, 4) + "\", \"id\" : 8 }\n{2}\n", []string{"oversized 8 true", "{2}"}},
		"inner id":            {`{"result":"` + strings.Repeat(big, 4) + "\",\"x\":{\"y\":1,\"id\":8}}\n", []string{"oversized 0 false"}},
		"of a request":        {`{"method":"x","params":"` + strings.Repeat(big, 4) + "\",\"id\":8}\n", []string{"oversized 0 false"}},
		"framed, large":       {fmt.Sprintf("Content-Length: %d\r\n\r\n{\"id\":9,\"result\":\"%s\"}{2}\n", 4*len(big)+20, strings.Repeat(big, 4)), []string{"oversized 9 true", "{2}"}},
		"framed, small limit": {"Content-Length: 1000001\r\n\r\n" + strings.Repeat("y", 1_000_001) + "{2}\n", []string{"oversized 0 false", "{2}"}},
		"no header":           {"Content-Length: x\n{1}\n", []string{"Content-Length: x", "{1}"}},
	} {
		for split, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in)), "halves": iotest.HalfReader(strings.NewReader(c.in)),
		} {
			got, err := readFrames(t, r, Auto, 1_000_000)
			assert.Truef(t, err == io.EOF && strings.Join(got, "|") == strings.Join(c.want, "|"), "%s, %s: %.200q, %v", name, split, got, err)
		}
	}
}

func TestOversizedMessageMemoryIsBounded(t *testing.T) {
	const limit = 4 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stream := io.MultiReader(strings.NewReader(`{"id":7,"result":"`), io.LimitReader(endlessReader{}, 12*limit), strings.NewReader("\"}\n"))
	got, _ := readFrames(t, stream, Auto, limit)
	runtime.ReadMemStats(&after)
	used := after.TotalAlloc - before.TotalAlloc
	assert.Truef(t, used <= 2*limit && strings.Join(got, "|") == "oversized 7 true", "%d bytes for %q", used, got)
}

// endlessReader is an endless stream of x.
type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestNDJSONTreatsHeadersAsJunk(t *testing.T) {
	t.Parallel()
	got, _ := readFrames(t, strings.NewReader("Content-Length: 3\n\n{1}\n"), NDJSON, 1000)
	assert.Equal(t, "Content-Length: 3|{1}", strings.Join(got, "|"))
}

func FuzzReaderSplit(f *testing.F) {
	f.Add([]byte("{1}\r\n\n{2}Content-Length: 3\r\n\r\n{}\n"), uint8(3))
	f.Add([]byte("Content-Length: 3\n\n{1}\xef\xbb\xbf"), uint8(1))
	f.Add(bytes.Repeat([]byte("ab\n"), 100), uint8(7))
	f.Add([]byte("Content-Length: 70\n\n"+strings.Repeat("z", 70)+"{}\n"), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole, err1 := readFrames(t, bytes.NewReader(stream), Auto, 64)
		pieces, err2 := readFrames(t, &chunked{r: bytes.NewReader(stream), n: int(size)%9 + 1}, Auto, 64)
		require.Equal(t, strings.Join(pieces, "\n"), strings.Join(whole, "\n"))
		require.Equal(t, fmt.Sprint(err2), fmt.Sprint(err1))
	})
}

// chunked returns at most n bytes at once.
type chunked struct {
	r io.Reader
	n int
}

func (c *chunked) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }
