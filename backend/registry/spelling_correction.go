package registry

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// spelling finds words by parts of them: for typing errors, other forms, and languages
// whose endings we do not know.
type spelling struct {
	terms []string
	parts map[string][]int32 // by three characters
	count []int32            // of parts of each term
}

const (
	alikeLetters = 4    // shorter words are not guessed
	alikeLeast   = 0.35 // of their parts are the same, or they are not compared
	alikeMost    = 3    // words that one may stand for
	alikeWeight  = 0.7
)

func (x *index) alike(w string) []near {
	if utf8.RuneCountInString(w) < alikeLetters || strings.ContainsAny(w, "0123456789") {
		return nil
	}
	x.spelling.Do(func() { x.spelled = newSpelling(x.terms) })
	return x.spelled.alike(w)
}

func newSpelling(terms map[string][]posting) *spelling {
	s := &spelling{parts: map[string][]int32{}}
	for w := range terms {
		if utf8.RuneCountInString(w) >= alikeLetters && !strings.ContainsAny(w, "0123456789") {
			s.terms = append(s.terms, w)
		}
	}
	slices.Sort(s.terms) // the same order every time
	for i, w := range s.terms {
		list := parts(w)
		for _, p := range list {
			s.parts[p] = append(s.parts[p], int32(i))
		}
		s.count = append(s.count, int32(len(list)))
	}
	return s
}

// alike are the terms that begin as w does, or that a slip of the fingers makes of it.
func (s *spelling) alike(w string) []near {
	mine := parts(w)
	shared := map[int32]int{}
	for _, p := range mine {
		for _, i := range s.parts[p] {
			shared[i]++
		}
	}
	var list []near
	for i, n := range shared {
		term := s.terms[i]
		like := 2 * float64(n) / float64(len(mine)+int(s.count[i]))
		short, long := min(len(w), len(term)), max(len(w), len(term))
		switch {
		case strings.HasPrefix(term, w) || strings.HasPrefix(w, term):
			like = max(like, float64(short)/float64(long))
		case like < alikeLeast || !slipOf([]rune(w), []rune(term), max(1, short/4)):
			continue
		}
		list = append(list, near{term, alikeWeight * like})
	}
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	return list[:min(alikeMost, len(list))]
}

// slipOf reports whether w is term with a few slips. An ending that was not taken off
// because of a slip does not count: calcualte is calculate, whose stem is calcul.
func slipOf(w, term []rune, most int) bool {
	return slips(w, term) <= most || len(term) > 5 && len(w) > len(term) && slips(w[:len(term)], term) <= 1
}

// slips is how many letters have to be put in, taken out, changed or swapped with their
// neighbour to make b of a.
func slips(a, b []rune) int {
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

// parts are the runs of three characters of a word with a blank before and after it.
func parts(w string) []string {
	runes := []rune(" " + w + " ")
	var list []string
	for i := 0; i+3 <= len(runes); i++ {
		if p := string(runes[i : i+3]); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}
