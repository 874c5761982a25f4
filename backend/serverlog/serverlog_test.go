package serverlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func opened(t *testing.T, dir string) (*Logs, *clock) {
	t.Helper()
	c := &clock{at: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	l := openWithClock(dir, nil, c.now)
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
	})
	return l, c
}

func texts(lines []Line) (all []string) {
	for _, line := range lines {
		all = append(all, string(line.Level)+" "+line.Text)
	}
	return all
}

func same(t *testing.T, got []Line, want ...string) {
	t.Helper()
	g, w := strings.Join(texts(got), "|"), strings.Join(want, "|")
	assert.Equal(t, w, g)
}

func TestWriterSplitsLinesAcrossWrites(t *testing.T) {
	l, _ := opened(t, "")
	w := l.Writer("a")
	for _, part := range []string{"on", "e\ntwo\r\nth", "ree\n\nlast"} {
		n, err := w.Write([]byte(part))
		require.Truef(t, n == len(part) && err == nil, "%v %v", n, err)
	}
	l.Append("a", Info, "exited")
	same(t, l.Tail("a", 0), "stderr one", "stderr two", "stderr three", "stderr ", "info exited")
	_ = w.Close()
	same(t, l.Tail("a", 2), "info exited", "stderr last")
	same(t, l.Tail("b", 5))
}

func TestLongLineIsCutAndCounted(t *testing.T) {
	l, _ := opened(t, "")
	w := l.Writer("a")
	for range 100 {
		_, _ = w.Write([]byte(strings.Repeat("x", 1000)))
	}
	_, _ = w.Write([]byte("\nshort\n"))
	lines := l.Tail("a", 0)
	if len(lines) != 2 || !strings.HasSuffix(lines[0].Text, fmt.Sprintf("... (%d more bytes)", 100_000-MaxLine)) {
		t.Fatalf("%d lines, the first ends with %q", len(lines), lines[0].Text[len(lines[0].Text)-40:])
	}
	l.Append("a", Error, strings.Repeat("y", MaxLine+7))
	if got := l.Tail("a", 1)[0].Text; !strings.HasSuffix(got, "... (7 more bytes)") {
		t.Errorf("ends with %q", got[len(got)-40:])
	}
}

func TestFloodIsCappedAndCounted(t *testing.T) {
	l, c := opened(t, "")
	w := l.Writer("a")
	for range burst + 300 {
		_, _ = w.Write([]byte("noise\n"))
	}
	l.Append("a", Info, "lifecycle passes")
	assert.Equal(t, "lifecycle passes", l.Tail("a", 1)[0].Text)
	c.move(time.Second)
	_, _ = w.Write([]byte("after\n"))
	same(t, l.Tail("a", 2), "warn lines dropped because the server writes too fast: 300", "stderr after")
	assert.Equal(t, burst+3, len(l.Tail("a", 0)))
}

func TestDroppedLinesAreReportedWhenServerEnds(t *testing.T) {
	l, _ := opened(t, "")
	w := l.Writer("a")
	for range burst + 5 {
		_, _ = w.Write([]byte("noise\n"))
	}
	_ = w.Close()
	same(t, l.Tail("a", 1), "warn lines dropped because the server writes too fast: 5")
}

func TestMemoryKeepsTheLastMegabyte(t *testing.T) {
	l, c := opened(t, "")
	w := l.Writer("a")
	line := strings.Repeat("x", 4000)
	for i := range 2000 {
		c.move(time.Second)
		fmt.Fprintf(w, "%d %s\n", i, line)
	}
	lines := l.Tail("a", 0)
	size := 0
	for _, line := range lines {
		size += len(line.Text)
	}
	if megabyte := 1 << 20; size > megabyte || size < megabyte*9/10 { // not our own constant: the documents name the figure
		t.Errorf("%d bytes", size)
	}
	assert.True(t, strings.HasPrefix(lines[len(lines)-1].Text, "1999 "), "the last line is not there")
}

func TestFilesAreRotatedAndBounded(t *testing.T) {
	dir := t.TempDir()
	l, c := opened(t, dir)
	w := l.Writer("a")
	line := strings.Repeat("x", 4000)
	for i := range 1000 {
		c.move(time.Second)
		fmt.Fprintf(w, "%d %s\n", i, line)
	}
	require.NoError(t, l.Close())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		info, err := file.Info()
		require.NoError(t, err)
		if info.Size() > fileBytes+MaxLine || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
			t.Errorf("%s: %d bytes, mode %v", file.Name(), info.Size(), info.Mode())
		}
	}
	again, _ := opened(t, dir)
	got := again.Tail("a", 1)
	assert.Truef(t, len(got) == 1 && strings.HasPrefix(got[0].Text, "999 "), "after a restart the last of %d lines is gone", len(got))
}

func TestStoredLinesAreRaw(t *testing.T) {
	dir := t.TempDir()
	l, _ := opened(t, dir)
	const evil = "\x1b[2J\x00\x07 {\"level\":\"error\"}\r fake"
	w := l.Writer("a")
	_, _ = w.Write([]byte(evil + "\n"))
	assert.Equal(t, evil, l.Tail("a", 1)[0].Text)
	_ = l.Close()
	text, err := os.ReadFile(filepath.Join(dir, "a.log"))
	require.NoError(t, err)
	var line Line
	err = json.Unmarshal(text, &line)
	assert.Truef(t, err == nil && line.Text == evil, "file: %q, %v", line.Text, err)
	for _, c := range text[:len(text)-1] {
		require.Truef(t, c >= 0x20, "the file holds a bare control character: %q", text)
	}
}

func TestWritesAfterCloseAreHarmless(t *testing.T) {
	l, _ := opened(t, t.TempDir())
	w := l.Writer("a")
	require.NoError(t, l.Close())
	_, err := w.Write([]byte("late\n"))
	assert.NoError(t, err)
	l.Append("b", Info, "late")
	assert.NoError(t, l.Close())
}

func TestBrokenFolderLosesFilesNotLines(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	l, _ := opened(t, filepath.Join(blocked, "logs"))
	l.Append("a", Info, "kept")
	same(t, l.Tail("a", 1), "info kept")
}

func TestRemoveDeletesFilesAndLines(t *testing.T) {
	dir := t.TempDir()
	l, _ := opened(t, dir)
	l.Append("a", Info, "one")
	require.NoError(t, l.Remove("a"))
	_, err := os.Stat(filepath.Join(dir, "a.log"))
	assert.Truef(t, os.IsNotExist(err), "err = %v", err)
	same(t, l.Tail("a", 0))
	l.Append("a", Info, "anew")
	same(t, l.Tail("a", 0), "info anew")
}

func TestServerNameCannotLeaveTheFolder(t *testing.T) {
	for _, name := range []string{"../../etc/passwd", "a/b", `a\b`, "..", "a\x00b"} {
		got := fileName(name, "")
		assert.Falsef(t, strings.ContainsAny(got[:len(got)-4], "./\\\x00"), "%q gives %q", name, got)
	}
}

func TestCleanJSONIsEquivalentWithEscapes(t *testing.T) {
	t.Parallel()
	text := "{\"a\u009b31m\": \"x\u202ey \u007f \U000e0041 \u2028 grün 日本 👍🏽\"}\n"
	clean := CleanJSON([]byte(text))
	want := `{"a\u009b31m": "x\u202ey \u007f \udb40\udc41 \u2028 grün 日本 👍🏽"}` + "\n"
	assert.Equal(t, want, string(clean))
	var was, is map[string]string
	assert.Truef(t, json.Unmarshal([]byte(text), &was) == nil && json.Unmarshal(clean, &is) == nil && maps.Equal(was, is), "%v became %v", was, is)
}

func TestCleanNeutralizesControlSequences(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, grün 日本 👍🏽\t!":          "plain text, grün 日本 👍🏽\t!",
		"\x1b[31mred\x1b[0m":                 "red",
		"\x1b]0;title\x07after":              "after",
		"\x1b]8;;http://x\x1b\\link":         "link",
		"\x1bPdcs\x1b\\after":                "after",
		"\x1b]never ends":                    "",
		"\x1b":                               "",
		"\x1b(Bx":                            "x",
		"\x1bcx":                             "x",
		"\u009b31mred":                       "red",
		"\x9b31m":                            "\uFFFD31m",
		"bell\x07 back\x08 nul\x00 cr\r":     `bell\x07 back\x08 nul\x00 cr\x0d`,
		"\u202eevil\u2066":                   `\u{202e}evil\u{2066}`,
		"zero\u200bwidth\ufeff":              `zero\u{200b}width\u{feff}`,
		"tag\U000e0041":                      `tag\u{e0041}`,
		"line\u2028sep":                      `line\u{2028}sep`,
		"bad\xff":                            "bad\uFFFD",
		"\x1b[31\x1b[0mtwice":                "twice",
		"👨\u200d👩":                           "👨\u200d👩",
		"two\nlines":                         `two\x0alines`,
		"\u0085":                             `\x85`,
		"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13": "",
	} {
		assert.Equalf(t, want, Clean(in), "Clean(%q)", in)
	}
}

func FuzzCleanRemovesControlSequences(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \u202e\x07\u009b1m")
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range Clean(in) {
			if r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || isHidden(r)) {
				t.Fatalf("Clean(%q) = %q", in, Clean(in))
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	l := Open("", nil)
	defer l.Close()
	w := l.Writer("a")
	chunk := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 160))
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		_, _ = w.Write(chunk)
	}
}

func TestLevelFilterSeparatesServerOutputFromEvents(t *testing.T) {
	lines := []Line{{Level: "debug", Text: "d"}, {Level: Info, Text: "i"}, {Level: Stderr, Text: "s"}, {Level: Warn, Text: "w"}, {Level: Error, Text: "e"}}
	for choice, want := range map[string]string{
		"": "diswe", "debug": "diswe", "info": "iswe", "warn": "we", "error": "e", "stderr": "s", "lifecycle": "diwe",
	} {
		wants, ok := Filter(choice)
		require.Truef(t, ok, "%q is no choice", choice)
		var got strings.Builder
		for _, l := range lines {
			if wants(l) {
				got.WriteString(l.Text)
			}
		}
		assert.Equalf(t, want, got.String(), "%q", choice)
	}
	for _, choice := range []string{"nothing", "INFO", "stdout"} {
		_, ok := Filter(choice)
		assert.Falsef(t, ok, "%q is taken for a choice", choice)
	}
}
