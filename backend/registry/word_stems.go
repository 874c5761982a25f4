package registry

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// words are the stems of a text, without what every sentence has.
func words(text string) []string {
	var list []string
	for _, w := range split(text) {
		if !common[w] {
			list = append(list, stem(w))
		}
	}
	return list
}

// split cuts a text into lower-case words, where case and kind change: createIssue,
// create_issue and create-issue are the same two. What is written without spaces is cut
// into pairs of characters, so that parts of it are found.
func split(text string) []string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	var list []string
	word := []rune{}
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			if i+1 < len(runes) && unicode.IsLetter(runes[i+1]) {
				list = append(list, string(runes[i:i+2]))
			} else if i == 0 || !unicode.IsLetter(runes[i-1]) {
				list = append(list, string(r))
			}
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end()
			continue
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]),
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsDigit(runes[i-1]) && unicode.IsLower(runes[i+1]),
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]): // getURLParts
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// stem takes off the endings that do not change what a word is about.
func stem(w string) string {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w // no English word
		}
	}
	return english.Stem(w, true)
}

// common words say nothing about a tool. In a phrase they count all the same.
var common = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about an and any are as at be been but by can could d did do does don for from get gets got has have he her his how i
		if in into is isn it its just let like ll m may me might my need no not of off on or our out over please re s she should so some t that the their
		them then there these they this those to too up us use used uses using ve very via want was we were what when where which who whom why will with
		would you your`) {
		m[w] = true
	}
	return m
}()
