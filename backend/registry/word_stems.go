package registry

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// stemWords returns the stems of the words of text, without common words.
func stemWords(text string) []string {
	var list []string
	for _, w := range splitWords(text) {
		if !stopWords[w] {
			list = append(list, stemWord(w))
		}
	}
	return list
}

// splitWords splits text into lower-case words at separators and at changes of case: createIssue,
// create_issue and create-issue all give the same two words. Scripts without spaces between words
// are split into overlapping pairs of characters, so that substrings match.
func splitWords(text string) []string {
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
			i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]): // such as getURLParts
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// stemWord removes English inflectional suffixes.
func stemWord(w string) string {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w // not an English word
		}
	}
	return english.Stem(w, true)
}

// stopWords holds stop words, which say nothing about a tool. They still count in phrases.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about an and any are as at be been but by can could d did do does don for from get gets got has have he her his how i
		if in into is isn it its just let like ll m may me might my need no not of off on or our out over please re s she should so some t that the their
		them then there these they this those to too up us use used uses using ve very via want was we were what when where which who whom why will with
		would you your`) {
		m[w] = true
	}
	return m
}()
