package registry

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// spellingIndex finds similar terms by trigrams: for typing errors, inflected forms, and languages
// without stemming.
type spellingIndex struct {
	terms         []string
	byTrigram     map[string][]int32 // terms by trigram
	trigramCounts []int32            // number of trigrams of each term
}

const (
	minCorrectedLetters = 4    // minimum length of a word that is corrected
	minSimilarity       = 0.35 // minimum similarity for an edit distance to be computed
	maxSuggestions      = 3    // maximum number of suggestions for a word
	suggestionWeight    = 0.7
)

func (x *index) similarTerms(w string) []relatedTerm {
	if utf8.RuneCountInString(w) < minCorrectedLetters || strings.ContainsAny(w, "0123456789") {
		return nil
	}
	x.spellingOnce.Do(func() { x.spellingIndex = newSpellingIndex(x.terms) })
	return x.spellingIndex.similarTerms(w)
}

func newSpellingIndex(terms map[string][]posting) *spellingIndex {
	s := &spellingIndex{byTrigram: map[string][]int32{}}
	for w := range terms {
		if utf8.RuneCountInString(w) >= minCorrectedLetters && !strings.ContainsAny(w, "0123456789") {
			s.terms = append(s.terms, w)
		}
	}
	slices.Sort(s.terms) // deterministic order
	for i, w := range s.terms {
		list := trigrams(w)
		for _, p := range list {
			s.byTrigram[p] = append(s.byTrigram[p], int32(i))
		}
		s.trigramCounts = append(s.trigramCounts, int32(len(list)))
	}
	return s
}

// similarTerms returns the terms that begin with w, are a prefix of w, or are within a few typing
// errors of it, the most similar first.
func (s *spellingIndex) similarTerms(w string) []relatedTerm {
	mine := trigrams(w)
	shared := map[int32]int{}
	for _, p := range mine {
		for _, i := range s.byTrigram[p] {
			shared[i]++
		}
	}
	var list []relatedTerm
	for i, n := range shared {
		term := s.terms[i]
		like := 2 * float64(n) / float64(len(mine)+int(s.trigramCounts[i]))
		short, long := min(len(w), len(term)), max(len(w), len(term))
		switch {
		case strings.HasPrefix(term, w) || strings.HasPrefix(w, term):
			like = max(like, float64(short)/float64(long))
		case like < minSimilarity || !isTypo([]rune(w), []rune(term), max(1, short/4)):
			continue
		}
		list = append(list, relatedTerm{term, suggestionWeight * like})
	}
	slices.SortFunc(list, func(a, b relatedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	return list[:min(maxSuggestions, len(list))]
}

// isTypo reports whether w and term differ by at most most edits. A suffix that was not stemmed
// because of a typing error does not count: "calcualte" matches "calcul", the stem of
// "calculate".
func isTypo(w, term []rune, most int) bool {
	return editDistance(w, term) <= most || len(term) > 5 && len(w) > len(term) && editDistance(w[:len(term)], term) <= 1
}

// editDistance returns the optimal string alignment distance: the number of insertions, deletions,
// substitutions and transpositions of adjacent letters between a and b.
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// trigrams returns the distinct trigrams of a word padded with a space on either side.
func trigrams(w string) []string {
	runes := []rune(" " + w + " ")
	var list []string
	for i := 0; i+3 <= len(runes); i++ {
		if p := string(runes[i : i+3]); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}
