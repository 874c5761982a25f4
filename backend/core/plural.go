package core

import "strconv"

// Plural returns a number and its noun: "1 tool", "2 tools". It is for nouns whose plural ends in
// -s.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
