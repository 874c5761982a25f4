package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestRepeatedTextAndWhiteSpaceAreMeasured(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		result          string
		repeated, blank int64
	}{
		{`{"content":[]}`, 0, 0},
		{`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`, 11, 0},
		{`{"structuredContent":{"a":"é \""},"content":[{"type":"text","text":"{\n  \"a\": \"é \\\"\"\n}"}]}`, 28, 2},
		{`{"content":[{"type":"text","text":"{\"a\":2}"}],"structuredContent":{"a":1}}`, 0, 0},
		{`{"content":[{"type":"text","text":"one"},{"type":"text","text":"{}"}],"structuredContent":{}}`, 4, 0},
		{`{"content":[{"type":"text","text":"structuredContent"}]}`, 0, 0},
		{"{ \"content\" : [\n{\"type\":\"text\",\"text\":\"a\\n\\n    b c\\\\n\"}]}", 0, 4 + 2 + 4},
		{`{"content":[{"type":"text","text":"cut`, 0, 0},
		{`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"},3,"x"]}`, 11, 0},
		{`{"structuredContent":{"a":1},"content":7}`, 0, 0},
		{"\\", 0, 0}, {"", 0, 0},
	} {
		if got := sizeOf([]byte(q.result), len(q.result)); got != (resultSize{int64(len(q.result)), q.repeated, q.blank}) {
			t.Errorf("%s: %+v", q.result, got)
		}
	}
}

// TestWhiteSpaceIsCountedAtEveryOffset: long strings are read in steps of eight bytes.
func TestWhiteSpaceIsCountedAtEveryOffset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		strings.Repeat(" ", 40): 39, strings.Repeat("a  ", 40): 40, strings.Repeat("a b", 40): 0,
		strings.Repeat(`a \n\n  `, 40): 40 * 6, strings.Repeat(`  \" `, 40): 40 + 39, strings.Repeat(`a \\ `, 40): 0,
		strings.Repeat("é  ", 20) + `"  ` + "\n": 20 + 3,
	} {
		for offset := range 9 {
			if got := blankBytes([]byte(`"` + strings.Repeat("x", offset) + "y" + text)); got != want {
				t.Errorf("%d characters before %q: %d, not %d", offset, text, got, want)
			}
		}
	}
}

func BenchmarkBlankBytes(b *testing.B) {
	text := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(`A line of a text, as tools return it.\n`, 250) + `"}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		blankBytes(text)
	}
}

// The sums follow calls that are recorded and erased.
func TestUsageSumsSizesOfResults(t *testing.T) {
	t.Parallel()
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), later)
	defer b.stop()
	reply := core.Reply{Result: []byte(`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a": 1}}`)}
	for i := range 4 {
		c := aCall(i)
		c.BytesOut = len(reply.Result)
		b.Recorder().Record(c, reply)
	}
	flushed(t, b)
	sums := func() resultSize {
		t.Helper()
		u, err := b.Usage(t.Context(), UsageQuery{From: aCall(0).At.Add(-time.Hour), To: aCall(0).At.Add(time.Hour)})
		if err != nil || len(u.ByTool) != 1 || u.ByTool[0].ResultBytes != u.Total.ResultBytes {
			t.Fatalf("%+v, %v", u, err)
		}
		return resultSize{u.Total.ResultBytes, u.Total.RepeatedBytes, u.Total.BlankBytes}
	}
	size := int64(len(reply.Result))
	if got := sums(); got != (resultSize{4 * size, 44, 4}) {
		t.Errorf("four calls: %+v", got)
	}
	if _, err := b.Erase(t.Context(), Selection{IDs: []int64{aCall(1).ID, aCall(2).ID}}); err != nil {
		t.Fatal(err)
	}
	if got := sums(); got != (resultSize{2 * size, 22, 2}) {
		t.Errorf("two of them erased: %+v", got)
	}
}
