package registry

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed thesaurus.txt
var thesaurusText string

// near is a related term and the weight of the relation.
type near struct {
	term   string
	weight float64
}

// meanings maps stemmed words and phrases, with their words separated by spaces, to related
// terms.
type meanings struct {
	near, hints map[string][]near
	longest     int // number of words of the longest phrase
}

const (
	nearSame   = 0.95
	nearAlike  = 0.6  // near-synonyms
	nearFirst  = 0.75 // first related term; later ones weigh less
	nearStep   = 0.06
	nearLast   = 0.4
	nearPhrase = 0.15 // added for a phrase, which is less ambiguous than a word
	nearHint   = 0.3  // weight of a hint
)

// thesaurus is parsed on the first query.
var thesaurus = sync.OnceValue(func() *meanings { return parseThesaurus(thesaurusText) })

func parseThesaurus(text string) *meanings {
	m := &meanings{near: map[string][]near{}, hints: map[string][]near{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line, hint := strings.CutPrefix(line, "? ")
		line, same := strings.CutPrefix(line, "= ")
		said, meant, oneWay := strings.Cut(line, ">")
		from, to := phrases(said), phrases(meant)
		if !oneWay {
			to = from
		}
		for _, f := range from {
			m.longest = max(m.longest, strings.Count(f, " ")+1)
			for i, t := range to {
				weight := nearAlike
				if oneWay {
					weight = max(nearLast, nearFirst-nearStep*float64(i))
					if strings.Contains(f, " ") {
						weight += nearPhrase
					}
				}
				if same {
					weight = nearSame
				}
				into := m.near
				if hint {
					into = m.hints
				}
				if t != f && !strings.Contains(t, " ") {
					into[f] = keep(into[f], near{t, weight})
				}
			}
		}
	}
	return m
}

// phrases returns the stemmed phrases of a comma-separated list. It keeps common words, because
// they are significant in phrases.
func phrases(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, ",") {
		stems := split(p)
		for i := range stems {
			stems[i] = stem(stems[i])
		}
		if len(stems) > 0 {
			out = append(out, strings.Join(stems, " "))
		}
	}
	return out
}

// keep adds n to list, or raises the weight of the term if the list has it.
func keep(list []near, n near) []near {
	if i := slices.IndexFunc(list, func(o near) bool { return o.term == n.term }); i >= 0 {
		list[i].weight = max(list[i].weight, n.weight)
		return list
	}
	return append(list, n)
}
