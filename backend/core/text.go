package core

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Jitter returns a number from 0 to 1, by which tries are spread that would happen together. It is drawn
// from the clock and key, not by chance, so that a simulation repeats it.
func Jitter(key string) float64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	return rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), h.Sum64())).Float64()
}

// FormatLimit returns a limit in bytes for display, such as "4 MiB".
func FormatLimit(bytes int64) string {
	switch {
	case bytes > 0 && bytes%(1<<20) == 0:
		return strconv.FormatInt(bytes>>20, 10) + " MiB"
	case bytes > 0 && bytes%(1<<10) == 0:
		return strconv.FormatInt(bytes>>10, 10) + " KiB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// Plural returns a number and its noun: "1 tool", "2 tools". It is for nouns whose plural ends in
// -s.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// CutBytes returns the first n bytes of s, without a part of a character at the end.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// CutChars returns the first n characters of s.
func CutChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for at := range s {
		if n <= 0 {
			return s[:at]
		}
		n--
	}
	return s
}

// Shorten returns the first n characters of s, followed by "…" if there are more. A text
// that was shortened before is unchanged.
func Shorten(s string, n int) string { return withEllipsis(CutChars(s, n), s) }

// ShortenBytes returns the first n bytes of s as CutBytes does, followed by "…" if there are more.
func ShortenBytes(s string, n int) string { return withEllipsis(CutBytes(s, n), s) }

func withEllipsis(beginning, s string) string {
	if beginning == s {
		return s
	}
	return beginning + "…"
}

// OneLine joins the words of s with single spaces and shortens the result to n characters,
// including "…".
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if CutChars(s, n) == s {
		return s
	}
	return strings.TrimSpace(CutChars(s, n-1)) + "…"
}
