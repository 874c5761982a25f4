package config

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPositionsAreCorrectFromAnyOffset compares positions with a count from the start of the
// text.
func TestPositionsAreCorrectFromAnyOffset(t *testing.T) {
	t.Parallel()
	src := "{\n\"ä\": \"日本\",\r\n\n  \"b\": [1, 2]}\n"
	l := lines{file: "f", src: []byte(src)}
	at, seed := 0, rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		at = max(0, at+r.IntN(12)-4) % (len(src) + 3)
		for at < len(src) && !utf8.RuneStart(src[at]) {
			at++
		}
		before := src[:min(at, len(src))]
		line := before[strings.LastIndexByte(before, '\n')+1:]
		want := Position{File: "f", Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(line)}
		require.Equalf(t, want, l.at(at), "%v %v", at, seed)
	}
}

// BenchmarkParse parses the same servers on one line and on many lines: the cost must be similar.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{100, 5000} {
		entries := make([]string, n)
		for i := range entries {
			entries[i] = fmt.Sprintf(`"s%d": {"command": "c", "args": ["a", "b"]}`, i)
		}
		for name, between := range map[string]string{"one line": ", ", "lines": ",\n"} {
			text := []byte(`{"mcpServers": {` + strings.Join(entries, between) + `}}`)
			b.Run(fmt.Sprintf("%d servers, %s", n, name), func(b *testing.B) {
				for b.Loop() {
					if _, problems := Parse("f", text); HasErrors(problems) {
						b.Fatal(problems)
					}
				}
			})
		}
	}
}

// Parsing it would overflow the stack and end the process.
func TestDeepJSONOfOtherProgramsIsRefused(t *testing.T) {
	for _, src := range []string{strings.Repeat("[", 5_000_000), `{"a":` + strings.Repeat(`{"a":[`, 2_000_000)} {
		_, err := ParseJSON([]byte(src))
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "nested deeper than 10000 levels"), "%.10s…: %v", src, err)
	}
}
