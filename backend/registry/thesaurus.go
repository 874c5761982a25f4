package registry

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed thesaurus.txt
var thesaurusText string

// relatedTerm is a related term and the weight of the relation.
type relatedTerm struct {
	term   string
	weight float64
}

// synonyms maps stemmed words and phrases, with their words separated by spaces, to related
// terms.
type synonyms struct {
	near, hints    map[string][]relatedTerm
	maxPhraseWords int // number of words of the longest phrase
}

const (
	weightSame        = 0.95
	weightSynonym     = 0.6  // near-synonyms
	weightFirst       = 0.75 // first related term; later ones weigh less
	weightStep        = 0.06
	weightMin         = 0.4
	weightPhraseBonus = 0.15 // added for a phrase, which is less ambiguous than a word
	weightHint        = 0.3  // weight of a hint
)

// thesaurus is parsed on the first query.
var thesaurus = sync.OnceValue(func() *synonyms { return parseThesaurus(thesaurusText) })

func parseThesaurus(text string) *synonyms {
	m := &synonyms{near: map[string][]relatedTerm{}, hints: map[string][]relatedTerm{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line, hint := strings.CutPrefix(line, "? ")
		line, same := strings.CutPrefix(line, "= ")
		said, meant, oneWay := strings.Cut(line, ">")
		from, to := stemPhrases(said), stemPhrases(meant)
		if !oneWay {
			to = from
		}
		for _, f := range from {
			m.maxPhraseWords = max(m.maxPhraseWords, strings.Count(f, " ")+1)
			for i, t := range to {
				weight := weightSynonym
				if oneWay {
					weight = max(weightMin, weightFirst-weightStep*float64(i))
					if strings.Contains(f, " ") {
						weight += weightPhraseBonus
					}
				}
				if same {
					weight = weightSame
				}
				into := m.near
				if hint {
					into = m.hints
				}
				if t != f && !strings.Contains(t, " ") {
					into[f] = addTerm(into[f], relatedTerm{t, weight})
				}
			}
		}
	}
	return m
}

// stemPhrases returns the stemmed phrases of a comma-separated list. It keeps common words, because
// they are significant in phrases.
func stemPhrases(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, ",") {
		stems := splitWords(p)
		for i := range stems {
			stems[i] = stemWord(stems[i])
		}
		if len(stems) > 0 {
			out = append(out, strings.Join(stems, " "))
		}
	}
	return out
}

// addTerm adds n to list, or raises the weight of the term if the list has it.
func addTerm(list []relatedTerm, n relatedTerm) []relatedTerm {
	if i := slices.IndexFunc(list, func(o relatedTerm) bool { return o.term == n.term }); i >= 0 {
		list[i].weight = max(list[i].weight, n.weight)
		return list
	}
	return append(list, n)
}
