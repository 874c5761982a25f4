package core

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLimitIsShownInItsLargestUnit(t *testing.T) {
	for bytes, want := range map[int64]string{4 << 20: "4 MiB", 256 << 10: "256 KiB", 1000: "1000 bytes", 0: "0 bytes"} {
		assert.Equalf(t, want, FormatLimit(bytes), "%d", bytes)
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 tools", 1: "1 tool", 2: "2 tools"} {
		assert.Equalf(t, want, Plural(n, "tool"), "%d", n)
	}
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		name string
		got  string
		want string
	}{
		{"bytes", CutBytes("abc", 2), "ab"},
		{"bytes of a short text", CutBytes("abc", 3), "abc"},
		{"bytes before a character", CutBytes("aé€", 3), "aé"},
		{"bytes within a character", CutBytes("aé€", 5), "aé"},
		{"no bytes", CutBytes("€", 2), ""},
		{"characters", CutChars("é€abc", 3), "é€a"},
		{"characters of a text with more bytes", CutChars("é€", 2), "é€"},
		{"no characters", CutChars("ab", 0), ""},
		{"shortened", Shorten("é€abc", 3), "é€a…"},
		{"not shortened", Shorten("é€a", 3), "é€a"},
		{"shortened again", Shorten(Shorten("é€abc", 3), 3), "é€a…"},
		{"shortened bytes", ShortenBytes("aé€", 3), "aé…"},
		{"not shortened bytes", ShortenBytes("aé€", 6), "aé€"},
		{"line", OneLine(" a\nb\t c ", 5), "a b c"},
		{"shortened line", OneLine("a b\nc d", 5), "a b…"},
	} {
		assert.Equal(t, c.want, c.got, c.name)
	}
}
